"""What an event did, in plain words."""

from __future__ import annotations

from palimpsest.projections.in_words import did
from tests.core.spec import KEEP, History, given, merge, say, unmerge


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
