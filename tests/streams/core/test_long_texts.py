"""A text beyond the model's input is joined by cosine only if each window has its counterpart."""

from __future__ import annotations

import pytest
from msgspec import structs

from palimpsest.contracts.commands import Admit, Operation
from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Cue
from palimpsest.contracts.policy import SessionCheck
from tests.streams.core.spec import PLAIN, History, Step, policy, say

SESSION = policy(SessionCheck(check="session", threshold=0.8, guard=False))


def long(said: Step, *, windows: bool = True, covered: float | None = None) -> Step:
    """The same of a text beyond the model's input."""

    def step(history: History) -> Admit | Operation:
        admit = said(history)
        assert isinstance(admit, Admit)
        vector = admit.content.vector
        assert vector is not None
        rest = (vector.data,) if windows else None
        content = structs.replace(
            admit.content, vector=structs.replace(vector, truncated=True, windows=rest)
        )
        seen = tuple(structs.replace(neighbour, covered=covered) for neighbour in admit.neighbours)
        return structs.replace(admit, content=content, neighbours=seen)

    return step


def decided(history: History) -> tuple[str, set[Cue]]:
    event = history.log[-1]
    assert isinstance(event, Decided)
    [neighbour] = event.data.evidence.neighbours
    return event.data.decision, {*neighbour.cues}


@pytest.mark.parametrize(
    ("covered", "decision"),
    [(0.95, "superseded"), (0.9499, "pending"), (0.0, "pending"), (None, "pending")],
)
@pytest.mark.parametrize("which", ["older", "newer"])
def test_each_window_has_to_reach_the_zone(
    which: str, covered: float | None, decision: str
) -> None:
    """Whichever of the two is long: at the threshold of the zone of their cosine, inclusive."""
    older, newer = say("a", "Tea"), say("b", "Chai", {"a": 0.96})
    history = History(PLAIN).do(long(older) if which == "older" else older)
    if which == "newer":
        history = history.do(long(newer, covered=covered))
    else:
        history = history.do(seeing(newer, covered))
    told, cues = decided(history)
    assert told == decision
    assert (Cue.TRUNCATED in cues) == (decision == "pending")


def seeing(said: Step, covered: float | None) -> Step:
    def step(history: History) -> Admit | Operation:
        admit = said(history)
        assert isinstance(admit, Admit)
        seen = tuple(structs.replace(neighbour, covered=covered) for neighbour in admit.neighbours)
        return structs.replace(admit, neighbours=seen)

    return step


def test_without_windows_it_waits() -> None:
    """As texts do that were recorded before there were windows."""
    older = long(say("a", "Tea"), windows=False)
    told, cues = decided(History(PLAIN).do(older, say("b", "Chai", {"a": 0.99})))
    assert (told, cues) == ("pending", {Cue.TRUNCATED})


@pytest.mark.parametrize(("covered", "decision"), [(0.8, "session_reject"), (0.7999, "pending")])
def test_so_does_the_session(covered: float, decision: str) -> None:
    older = say("a", "Tea", session_id="s")
    newer = say("b", "Chai", {"a": 0.9}, session_id="s")
    history = History(SESSION).do(older, long(newer, covered=covered))
    assert decided(history)[0] == decision


def test_short_texts_need_no_windows() -> None:
    assert decided(History(PLAIN).do(say("a", "Tea"), say("b", "Chai", {"a": 0.96})))[0] == (
        "superseded"
    )
