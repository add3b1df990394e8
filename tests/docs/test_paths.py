"""The paths that ARCHITECTURE.md walks are those that calls take, and no longer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

import palimpsest
from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.streams.core.evolve import evolve
from tests.stub_engine import load_stub

PACKAGE = Path(palimpsest.__file__).parents[1]
FACADE = ("Statements.", "Submissions.")
COMPREHENSIONS = ("<listcomp>", "<genexpr>")


def path_to_the_fold(call: Callable[[], object]) -> list[str]:
    """The names of the calls from the facade's method to the first event that is folded."""
    found: list[str] = []

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code is evolve.__code__ and not found:
            found.extend(_names(frame))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    facade = next(number for number, one in enumerate(found) if one.startswith(FACADE))
    return found[facade:]


def _names(frame: FrameType | None) -> list[str]:
    """Ours, the outermost first, without comprehensions."""
    names: list[str] = []
    while frame is not None:
        code = frame.f_code
        if Path(code.co_filename).is_relative_to(PACKAGE) and code.co_name not in COMPREHENSIONS:
            names.insert(0, code.co_qualname)
        frame = frame.f_back
    return names


@pytest.fixture
def memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Palimpsest]:
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Palimpsest.open(tmp_path / "store", by="person") as opened:
        yield opened


def test_a_statement_takes_eight_calls_to_the_fold(memories: Palimpsest) -> None:
    [one] = memories.submit({"owner_id": "ada", "text": "Ada has a boat"})
    assert path_to_the_fold(lambda: memories.confirm(one.decision_id or "")) == [
        "Statements.confirm",
        "EmbeddedWriter.ask",
        "serve",
        "_carry_out",
        "confirm",
        "Writer.run",
        "Writer.apply",
        "execute",
        "evolve",
    ]


def test_a_candidate_takes_nine_calls_to_the_fold(memories: Palimpsest) -> None:
    row = {"owner_id": "ada", "text": "Ada has a boat"}
    assert path_to_the_fold(lambda: memories.submit(row)) == [
        "Submissions.submit",
        "EmbeddedWriter.submit",
        "decide_all",
        "Writer.close_window",
        "Writer.decide",
        "Writer._decide_input",
        "Writer._admit",
        "Writer.apply",
        "execute",
        "evolve",
    ]


def test_an_unmerge_takes_nine_calls_to_the_fold(memories: Palimpsest) -> None:
    rows = [{"owner_id": "ada", "text": text} for text in ("Ada has a boat", "a boat is Ada's")]
    a, b = (str(one.candidate_id) for one in memories.submit(rows))
    joined = memories.merge(a, b)["decision_id"]
    assert path_to_the_fold(lambda: memories.unmerge(decision_id=joined)) == [
        "Statements.unmerge",
        "EmbeddedWriter.ask",
        "serve",
        "_carry_out",
        "unmerge",
        "run_one",
        "Writer.run",
        "Writer.apply",
        "execute",
        "evolve",
    ]
