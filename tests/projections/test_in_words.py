"""What an event did, in plain words."""

from __future__ import annotations

from palimpsest.contracts.commands import Confirm
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.in_words import did
from palimpsest.projections.timeline import Timeline
from tests.core.spec import KEEP, History, given, merge, redecide, say, unmerge


def words(history: History) -> list[str]:
    return [did(event) for event in history.new]


def test_a_join_that_is_taken_out_says_why_and_whether_the_two_are_apart() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"b": KEEP}))
    assert words(history.when(unmerge("b"))) == ["the join was taken out"]
    assert words(history.when(unmerge("c", after="b"))) == [
        "the join was taken out as a consequence of another reversal"
    ]
    history.do(*(merge(*pair) for pair in ("ab", "bc", "ac")))
    assert words(history.when(unmerge("c", "b"))) == [
        "the join was taken out; other joins still hold the two together"
    ]


def test_a_review_of_what_was_decided_again_is_about_its_pair() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate"), unmerge("b"))
    history.when(redecide("c", "auto_reject", "a", after="b"))
    joined = history.join("c").id
    history.when(lambda h: Confirm(command_id=h.fresh(), owner_id=h.owner_id, decision_id=joined))
    timeline = Timeline()
    [*_, last] = (timeline.note(Recorded(at, event)) for at, event in enumerate(history.log, 1))
    assert last.about == {history.id("c"), history.id("a")}
