"""Killed before every single effect, and started again with the same command: as if never killed.

`POINTS` names every effect that each command has on the disk. A child kills itself with SIGKILL at
one of them; what it left is what the next process finds.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.processes import Forge, outcome

SEGMENT = ("segment:written", "segment:synced", "segment:renamed")
TABLES = ("lancedb:candidates", "lancedb:memories")
COMMIT = ("log:append", "log:committed", *SEGMENT, *TABLES, "lancedb:position")
CHANGED = ("lancedb:candidates:changed", "lancedb:memories:changed")
INDEX = ("lancedb:candidates:index", "lancedb:memories:index")
TIDY = ("segment:retired", *INDEX, "lancedb:candidates:tidy", "lancedb:memories:tidy")
SWAP = ("swap:aside", "swap:in", "swap:done")

FEW = ("log:append", "log:committed", "segment:renamed", "lancedb:position")

REQUEST = "9b9d3c7e-3c52-4d0e-8f53-0a2f6f2f7f10"

POINTS: dict[str, tuple[str, ...]] = {
    "ingest": ("views:written", *COMMIT, "lancedb:memories:changed", *TIDY),
    "rebuild": ("views:written", *SEGMENT, *TABLES, "lancedb:position", *SWAP),
    "rebuild of nothing": ("views:written", *SEGMENT, *TABLES, "lancedb:position"),
    "unmerge": ("views:written", *COMMIT, *CHANGED),
    "reverse": FEW,
    "unmerge with consequences": FEW[:2],
    "the same unmerge with consequences": FEW,
}
"""For each command its effects. Compaction (`TIDY`) is part of `ingest`; whether the others come to
it depends on how busy the machine is. Copied stores have their views written anew. `reverse` is
`unmerge` in several commits; a point of each part will do, and so it will for one of more events.
`the same` is the same request, which came through before the kill or did not; else it is asked
anew, as a person would."""


@dataclass(frozen=True)
class Case:
    """A command and the store that it starts from; `request` is the id of what it asks for."""

    command: list[str]
    start: Path | None
    done: int
    request: str | None = None

    @property
    def plan(self) -> dict[str, str]:
        """What a child is told beside the command."""
        return {} if self.request is None else {"request": self.request}

    def prepared(self, folder: Path, *, without: str | None = None) -> Path:
        """A store of its own."""
        store = folder / "store"
        if self.start is not None:
            shutil.copytree(self.start, store)
        if without is not None:
            shutil.rmtree(store / without)
        return store


@pytest.fixture(scope="session")
def case(undisturbed: Path, resting: Path, file: Path) -> Callable[[str], Case]:
    """The case of a name."""
    joined = next(
        event
        for event in outcome(undisturbed)["decided"]
        if event["data"].get("decision") == "token_reject"
    )
    replaced = next(
        event["id"]
        for event in outcome(resting)["decided"]
        if event["data"].get("decision") == "superseded"
    )
    further = ["unmerge", "--decision", replaced, "--with-consequences"]
    cases = {
        "ingest": Case(["ingest", str(file)], None, 1),
        "rebuild": Case(["rebuild"], undisturbed, 0),
        "rebuild of nothing": Case(["status"], undisturbed, 0),
        "unmerge": Case(["unmerge", "--decision", joined["id"]], undisturbed, 0),
        "reverse": Case(["reverse", "--source", "made-up", "--yes"], undisturbed, 0),
        "unmerge with consequences": Case(further, resting, 0),
        "the same unmerge with consequences": Case(further, resting, 0, REQUEST),
    }
    return cases.__getitem__


@dataclass(frozen=True)
class Undisturbed:
    """What a case does when nobody disturbs it: its effects in order, and its outcome."""

    effects: list[str]
    outcome: dict[str, Any]
    answer: str


@pytest.fixture(scope="session")
def run_of(
    forge: Forge, case: Callable[[str], Case], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Undisturbed]:
    """The undisturbed run of each case, once."""
    known: dict[str, Undisturbed] = {}

    def run(name: str) -> Undisturbed:
        if name not in known:
            folder = tmp_path_factory.mktemp("whole")
            store, record = start(case(name), name, folder), folder / "effects"
            commands = case(name).command, ["verify", "--json"]
            child = forge.run(store, *commands, record=record, **case(name).plan)
            assert child.statuses() == [case(name).done, 0], child.printed(0, 2)
            effects = record.read_text().split()
            known[name] = Undisturbed(effects, outcome(store), child.printed(0))
        return known[name]

    return run


def start(case: Case, name: str, folder: Path) -> Path:
    return case.prepared(folder, without="projections" if name == "rebuild of nothing" else None)


@pytest.mark.parametrize("name", [name for name in POINTS if not set(POINTS[name]) <= set(FEW)])
def test_every_effect_is_a_crash_point(name: str, run_of: Callable[[str], Undisturbed]) -> None:
    assert set(run_of(name).effects) - set(TIDY) == set(POINTS[name]) - set(TIDY)


def test_an_unmerge_with_consequences_is_one_commit(
    run_of: Callable[[str], Undisturbed],
) -> None:
    """However many events it has: none of them is ever there without the others."""
    run = run_of("unmerge with consequences")
    assert Counter(run.effects)["log:append"] == 1
    assert len(run.outcome["redecided"]) > 1


IN_MAKE_TEST: dict[str, tuple[str, ...]] = {
    "ingest": POINTS["ingest"],
    "rebuild": ("segment:renamed", "lancedb:position", *SWAP),
    "rebuild of nothing": ("lancedb:position",),
    "unmerge": ("log:committed", *CHANGED),
    "reverse": ("log:committed",),
    "unmerge with consequences": ("log:append",),
    "the same unmerge with consequences": ("log:append", "log:committed"),
}
"""All steps of an ingest; of the others those that it does not have, or that say what was done."""


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        pytest.param(
            *(name, effect),
            marks=() if effect in IN_MAKE_TEST[name] else pytest.mark.long,
        )
        for name, effects in POINTS.items()
        for effect in effects
    ],
)
def test_killed_before_an_effect_and_started_again(
    name: str,
    effect: str,
    forge: Forge,
    case: Callable[[str], Case],
    run_of: Callable[[str], Undisturbed],
    tmp_path: Path,
) -> None:
    whole = run_of(name)
    middle = Counter(whole.effects)[effect] // 2 + 1
    store = start(case(name), name, tmp_path)
    killed = forge.run(store, case(name).command, crash=[effect, middle], **case(name).plan)
    assert killed.wait() == -9, "it was not killed: it did not come to this effect"
    again = forge.run(store, case(name).command, ["verify", "--json"], **case(name).plan)
    assert again.statuses()[0] in (case(name).done, *after(name)), again.printed(0, 2)
    assert again.answer()["differences"] == 0, again.answer()
    assert outcome(store) == whole.outcome
    if case(name).request is not None:
        assert again.printed(0) == whole.answer


def after(name: str) -> tuple[int, ...]:
    """What was un-merged before the kill is refused, or not selected, and nothing else happens."""
    again = {"unmerge": 3, "unmerge with consequences": 3, "reverse": 1}
    return (again[name],) if name in again else ()
