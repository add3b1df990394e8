"""What each event of a timeline answers."""

from __future__ import annotations

from palimpsest.contracts.wire import Recorded
from palimpsest.projections.shown.timeline import Timeline
from tests.streams.core.spec import (
    ASK,
    KEEP,
    Step,
    confirm,
    given,
    judge,
    merge,
    redecide,
    reinstate,
    restore,
    retract,
    say,
    separate,
    unmerge,
)
from tests.tables import each

TEA, CHAI = say("a", "Tea"), say("b", "Chai", {"a": KEEP})
ASKED = say("b", "Chai", {"a": ASK})
MATE = say("c", "Mate")
ASKED_AGAIN = redecide("c", "pending", after="b", asks="a")


@each(
    ("steps", "answered"),
    [
        ([TEA, ASKED, judge("b", a="same")], 1),
        ([TEA, ASKED, judge("b", a="different")], 1),
        ([TEA, CHAI, unmerge("b")], 1),
        ([TEA, CHAI, unmerge("b"), reinstate("b")], 2),
        ([TEA, CHAI, confirm("b")], 1),
        ([TEA, CHAI, MATE, unmerge("b"), redecide("c", "auto_reject", "a", after="b")], 3),
        ([TEA, CHAI, MATE, unmerge("b"), ASKED_AGAIN, judge("c", a="different")], 4),
        ([TEA, CHAI, MATE, unmerge("b"), ASKED_AGAIN, separate("a", "c")], 4),
        ([TEA, ASKED, separate("a", "b")], 1),
        ([TEA, MATE, ASKED, separate("c", "b")], None),
        ([TEA, MATE, retract("c")], 1),
        ([TEA, MATE, retract("c"), restore("c")], 2),
        ([TEA, ASKED, retract("b"), judge("b", a="same")], 1),
        ([TEA, CHAI, unmerge("b"), confirm("b")], 1),
        ([TEA, ASKED, judge("b", a="same"), unmerge("b"), unmerge("b")], 2),
        ([TEA, MATE, merge("a", "c")], None),
        ([TEA, MATE, retract("a"), retract("a")], 0),
    ],
)
def test_an_event_answers_an_earlier_one(steps: list[Step], answered: int | None) -> None:
    history = given(*steps)
    timeline = Timeline()
    noted = [timeline.note(Recorded(at, event)) for at, event in enumerate(history.log, 1)]
    ids = [event.id for event in history.log]
    found = noted[-1].event.get("answers")
    assert found == (None if answered is None else ids[answered])
