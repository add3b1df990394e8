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
TIDY = ("segment:retired", "lancedb:candidates:tidy", "lancedb:memories:tidy")
SWAP = ("swap:aside", "swap:in", "swap:done")

POINTS: dict[str, tuple[str, ...]] = {
    "ingest": ("views:written", *COMMIT, "lancedb:memories:changed", *TIDY),
    "rebuild": ("views:written", *SEGMENT, *TABLES, "lancedb:position", *SWAP),
    "rebuild of nothing": ("views:written", *SEGMENT, *TABLES, "lancedb:position"),
    "unmerge": ("views:written", *COMMIT, *CHANGED),
    "reverse": ("log:append", "log:committed", "segment:renamed", "lancedb:position"),
}
"""For each command its effects. Compaction (`TIDY`) is part of `ingest`; whether the others come to
it depends on how busy the machine is. Copied stores have their views written anew. `reverse` is
`unmerge` in several commits; a point of each part will do."""


@dataclass(frozen=True)
class Case:
    """A command and the store that it starts from."""

    command: list[str]
    start: Path | None
    done: int

    def prepared(self, folder: Path, *, without: str | None = None) -> Path:
        """A store of its own."""
        store = folder / "store"
        if self.start is not None:
            shutil.copytree(self.start, store)
        if without is not None:
            shutil.rmtree(store / without)
        return store


@pytest.fixture(scope="session")
def case(undisturbed: Path, file: Path) -> Callable[[str], Case]:
    """The case of a name."""
    joined = next(
        event
        for event in outcome(undisturbed)["decided"]
        if event["data"].get("decision") == "token_reject"
    )
    cases = {
        "ingest": Case(["ingest", str(file)], None, 1),
        "rebuild": Case(["rebuild"], undisturbed, 0),
        "rebuild of nothing": Case(["status"], undisturbed, 0),
        "unmerge": Case(["unmerge", "--decision", joined["id"]], undisturbed, 0),
        "reverse": Case(["reverse", "--source", "made-up", "--yes"], undisturbed, 0),
    }
    return cases.__getitem__


@dataclass(frozen=True)
class Undisturbed:
    """What a case does when nobody disturbs it: its effects in order, and its outcome."""

    effects: list[str]
    outcome: dict[str, Any]


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
            child = forge.run(store, case(name).command, ["verify", "--json"], record=record)
            assert child.statuses() == [case(name).done, 0], child.printed(0, 2)
            known[name] = Undisturbed(record.read_text().split(), outcome(store))
        return known[name]

    return run


def start(case: Case, name: str, folder: Path) -> Path:
    return case.prepared(folder, without="projections" if name == "rebuild of nothing" else None)


@pytest.mark.parametrize("name", [name for name in POINTS if name != "reverse"])
def test_every_effect_is_a_crash_point(name: str, run_of: Callable[[str], Undisturbed]) -> None:
    assert set(run_of(name).effects) - set(TIDY) == set(POINTS[name]) - set(TIDY)


@pytest.mark.parametrize(
    ("name", "effect"), [(name, effect) for name, effects in POINTS.items() for effect in effects]
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
    killed = forge.run(store, case(name).command, crash=[effect, middle])
    assert killed.wait() == -9, "it was not killed: it did not come to this effect"
    again = forge.run(store, case(name).command, ["verify", "--json"])
    assert again.statuses()[0] in (case(name).done, *after(name)), again.printed(0, 2)
    assert again.answer()["differences"] == 0, again.answer()
    assert outcome(store) == whole.outcome


def after(name: str) -> tuple[int, ...]:
    """Un-merging again what was un-merged before the kill is refused, and nothing else happens."""
    return (3,) if name == "unmerge" else ()
