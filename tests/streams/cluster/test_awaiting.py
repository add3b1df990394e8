"""How long whoever asks waits for its answers, and what several of them say together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from palimpsest.contracts.answers import Done, Failed, Refused, SoFar, merged, result
from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.client.client import ANSWER_SECONDS, Client
from palimpsest.streams.cluster.records import Outgoing, answer_record

ANSWER = Done({"retracted": ["a"], "refused": [], "owners": 1})
Word = tuple[int, Outgoing]
"""What a partition says."""


class Answers:
    """A topic where a word comes at each look; the clock goes on by so much with it."""

    def __init__(self, loop: Any, words: Sequence[Word], seconds: float) -> None:
        self._words = iter(words)
        self._seconds = seconds
        self._now = 0.0
        loop.time = lambda: self._now

    async def getmany(self, **_: object) -> dict[str, list[Any]]:
        """The next word, if there is one."""
        self._now += self._seconds
        partition, one = next(self._words, (0, None))
        if one is None:
            return {}
        return {"answers": [SimpleNamespace(key=one.key, value=one.value, partition=partition)]}


def awaited(words: Sequence[Word], seconds: float, partitions: Sequence[int] = (0,)) -> Any:
    """The answers to `mine`, which concerns some partitions."""

    async def ask() -> Any:
        client = Client.__new__(Client)
        consumer = cast("Any", Answers(asyncio.get_running_loop(), words, seconds))
        return await client._answers(consumer, {"mine": partitions})

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(ask())["mine"]


def goes_on(name: str, partition: int = 0) -> Word:
    return partition, answer_record("answers", name, SoFar(1))


def answered(partition: int = 0) -> Word:
    return partition, answer_record("answers", "mine", ANSWER)


@pytest.mark.parametrize("whose", ["mine", "another"])
def test_as_long_as_the_partition_gets_on_an_answer_is_waited_for(whose: str) -> None:
    words = [goes_on(whose)] * 5
    assert awaited([*words, answered()], ANSWER_SECONDS * 0.9) == [ANSWER]


@pytest.mark.parametrize("words", [[], [goes_on("another", partition=1)] * 9])
def test_where_nothing_comes_of_it_it_is_not(words: Sequence[Word]) -> None:
    with pytest.raises(TransientError, match=r"from the partitions \[0\]"):
        awaited(words, ANSWER_SECONDS * 0.9)


def test_a_partition_that_has_answered_is_waited_for_no_more() -> None:
    words = [answered(), *[goes_on("another")] * 9]
    with pytest.raises(TransientError, match=r"from the partitions \[1\]"):
        awaited(words, ANSWER_SECONDS * 0.9, partitions=(0, 1))


def test_a_bug_of_one_partition_is_reported_whatever_others_did() -> None:
    assert merged([ANSWER, Failed("ZeroDivisionError")]) == Failed("ZeroDivisionError")


@pytest.mark.parametrize("elsewhere", ["wrong_partition", "unknown_candidate"])
def test_the_partition_that_knows_whom_it_is_about_says_why_not(elsewhere: str) -> None:
    here, there = (Refused(why, "as it is") for why in ("supported", elsewhere))
    assert merged([there, here, there]) == here
    assert merged([there, there]) == there


def test_what_was_left_out_is_added() -> None:
    cut = Done({"retracted": ["b"], "refused": [], "owners": 2, "left_out": {"retracted": 7}})
    for answers in ([ANSWER, cut, cut], [cut, ANSWER, cut], [cut, cut, ANSWER]):
        done = result(merged(answers))
        assert (len(done["retracted"]), done["owners"]) == (3, 5)
        assert done["left_out"] == {"retracted": 14}
