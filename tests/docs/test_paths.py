"""The paths that ARCHITECTURE.md walks are those that calls take, and no longer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest

import palimpsest
from palimpsest import Palimpsest, Selection
from palimpsest.api import store
from palimpsest.projections.recall.from_ledger import Recollection
from palimpsest.streams.core.evolve import evolve
from tests.stub_engine import load_stub

PACKAGE = Path(palimpsest.__file__).parents[1]
FACADE = ("Statements.", "Submissions.", "Reads.")
COMPREHENSIONS = ("<listcomp>", "<genexpr>")


def path_to(end: CodeType, call: Callable[[], object]) -> list[CodeType]:
    """The calls from the facade's method to the first one of `end`."""
    found: list[CodeType] = []

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code is end and not found:
            found.extend(_ours(frame))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    facade = next(n for n, one in enumerate(found) if one.co_qualname.startswith(FACADE))
    return found[facade:]


def path_to_the_fold(call: Callable[[], object]) -> list[str]:
    """The names of the calls from the facade's method to the first event that is folded."""
    return [one.co_qualname for one in path_to(evolve.__code__, call)]


def _ours(frame: FrameType | None) -> list[CodeType]:
    """Ours, the outermost first, without comprehensions."""
    calls: list[CodeType] = []
    while frame is not None:
        code = frame.f_code
        if Path(code.co_filename).is_relative_to(PACKAGE) and code.co_name not in COMPREHENSIONS:
            calls.insert(0, code)
        frame = frame.f_back
    return calls


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


FLOORS = (
    "palimpsest/api",
    "palimpsest/queries",
    "palimpsest/backends",
    "streams/embedded",
    "streams/write",
    "projections",
    "streams/core",
)
"""The packages of these paths, the highest first; each calls those below it."""
OPENED = 12
WITH = 3
"""Files that a reader opens, too: the request, its answer and its command."""


@pytest.mark.parametrize(
    "operation",
    ["submit", "recall", "confirm", "update", "unmerge", "undo", "reinstate", "forget", "retract"],
)
def test_few_files_are_opened_to_follow_a_call_and_none_calls_back_up(
    memories: Palimpsest, operation: str
) -> None:
    rows = [{"owner_id": "ada", "text": text} for text in ("Ada has a boat", "a boat is Ada's")]
    a, b = (str(one.candidate_id) for one in memories.submit(rows))
    joined = memories.merge(a, b)["decision_id"]
    if operation == "reinstate":
        memories.unmerge(decision_id=joined)
    calls: dict[str, Callable[[], object]] = {
        "submit": lambda: memories.submit({"owner_id": "ada", "text": "fish swim"}),
        "recall": lambda: memories.recall("ada", "boat"),
        "confirm": lambda: memories.confirm(joined),
        "update": lambda: memories.update(a, "Ada sold the boat"),
        "unmerge": lambda: memories.unmerge(memory_id=a),
        "undo": lambda: memories.undo(joined),
        "reinstate": lambda: memories.reinstate(joined),
        "forget": lambda: memories.forget(a),
        "retract": lambda: memories.retract(Selection(owner_id="ada")),
    }
    end = Recollection.recall.__code__ if operation == "recall" else evolve.__code__
    path = path_to(end, calls[operation])
    files = [str(Path(one.co_filename).resolve().relative_to(PACKAGE)) for one in path]
    floors = [next(n for n, one in enumerate(FLOORS) if file.startswith(one)) for file in files]
    assert floors == sorted(floors)
    assert len({*files}) + WITH <= OPENED
