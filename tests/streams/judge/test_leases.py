"""A verifier, a batch run and a review that meet the same pair at once pay for it once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal

import pytest

from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.questions import AskedNeighbour, AskedText, SettleQuestion
from palimpsest.contracts.requests import SettleRequest
from palimpsest.streams.judge import service, storage
from palimpsest.streams.judge.batching import Batcher, BatchSettings
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.pairs import CompositionAnswer
from palimpsest.streams.judge.storage import FILE, Key, VerdictCache
from palimpsest.streams.judge.verifier import Verifier
from tests.streams.judge.asking import Asking, pair, side

PAIRS = [pair("Ada has a big dog.", "ada has a big dog"), pair("Ada is ill.", "Ada is at work.")]
SOURCES = (side("The job runs at night."), side("The job runs on the host.", "newer", 1))


def both(asking: Asking) -> tuple[list[Verdict], list[Verdict]]:
    """Two judges of one store, each with its own files as in a process of its own."""

    async def ask(judge: Judge) -> tuple[list[Verdict], list[Verdict]]:
        async with beside(asking) as other:
            first, second = await asyncio.gather(judge.compare(PAIRS), other.compare(PAIRS[::-1]))
            return first, second[::-1]

    return asking.by(ask)


def beside(asking: Asking) -> Judge:
    return Judge.beside(asking.folder, asking.rules, asking.settings, lambda: asking.now)


async def interrupt(asking: Asking, call: Coroutine[Any, Any, object], *, calls: int = 1) -> None:
    """Cancel a call of the judge once its service was asked so often."""
    task = asyncio.create_task(call)
    await until_asked(asking, calls)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_two_judges_at_once_ask_about_a_pair_once(asking: Asking) -> None:
    asking.server.always = Fault(delay=0.3)
    first, second = both(asking)
    assert [one.answer for one in first] == [one.answer for one in second] == ["same", "different"]
    assert asking.server.calls == 1
    assert [bool(one.calls) for one in (*first, *second)].count(True) == 2


def test_tasks_of_one_judge_ask_about_a_pair_once(asking: Asking) -> None:
    asking.server.always = Fault(delay=0.3)
    asking.by(lambda judge: asyncio.gather(*(judge.compare(PAIRS) for _ in range(5))))
    assert asking.server.calls == 1


def test_two_judges_at_once_compose_once(asking: Asking) -> None:
    asking.server.always = Fault(delay=0.3)

    async def ask(judge: Judge) -> tuple[CompositionAnswer, CompositionAnswer]:
        async with beside(asking) as other:
            return await asyncio.gather(judge.compose(SOURCES), other.compose(SOURCES))

    first, second = asking.by(ask)
    assert first.text == second.text
    assert asking.server.calls == 1


def test_who_waits_asks_where_the_other_got_no_answer(asking: Asking) -> None:
    asking.set(retries=0)
    asking.server.fail(Fault(status=500, delay=0.3))
    first, second = both(asking)
    answered = sorted([first[0].answer, second[0].answer])
    assert answered == ["same", "unavailable"]
    assert asking.server.calls == 2


def test_a_lease_that_its_process_left_ends(asking: Asking, server: JudgeServer) -> None:
    """The process was killed while it asked; nobody waits for it for ever."""
    key = Key(PAIRS[0].older.hash, PAIRS[0].newer.hash, "p", "m")
    cache = VerdictCache(asking.folder / FILE)
    assert cache.lease([key], "killed") == [key]
    assert cache.lease([key], "waiting") == []
    cache._connection.execute("UPDATE asked SET expires = expires - ?", (storage.LEASE_SECONDS,))
    assert cache.lease([key], "waiting") == [key]
    cache.release("killed")
    assert cache.lease([key], "third") == []
    cache.release("waiting")
    assert cache.lease([key], "third") == [key]
    cache.close()


def test_a_lease_is_renewed_while_its_request_takes_long(tmp_path: Path) -> None:
    key = Key("ab", "cd", "p", "m")
    cache = VerdictCache(tmp_path / FILE)
    cache.lease([key], "slow")
    cache._connection.execute("UPDATE asked SET expires = 0")
    cache.renew("slow")
    assert cache.lease([key], "other") == []
    cache.close()


@pytest.mark.parametrize("ask", ["same", "relation"])
def test_an_answer_that_arrives_as_the_process_stops_is_paid_for_once(
    asking: Asking, ask: Literal["same", "relation"]
) -> None:
    """The request that was sent is answered and kept; no other is sent for it."""
    asking.ruled(ask=ask)
    asking.server.always = Fault(delay=0.3)

    async def stop(judge: Judge) -> None:
        await interrupt(asking, judge.compare([CHANGED]))
        assert judge.budget.spent().calls == 1

    asking.by(stop)
    assert asking.server.calls == 1
    [verdict] = asking.by(lambda judge: judge.compare([CHANGED]))
    assert asking.server.calls == len(ORDERS[ask])
    assert (verdict.answer, verdict.calls) == (ORDERS[ask][-1], len(ORDERS[ask]))


def test_an_unusable_answer_that_arrives_as_the_process_stops_is_not_asked_for_again(
    asking: Asking,
) -> None:
    asking.server.always = Fault(delay=0.3, change=lambda message: message | {"content": []})

    async def stop(judge: Judge) -> None:
        await interrupt(asking, judge.compare([CHANGED]))

    asking.by(stop)
    assert asking.server.calls == 1


def test_an_answer_that_arrives_before_a_stopped_verifier_closes_is_recorded_later(
    asking: Asking,
) -> None:
    """Nobody waits for the pair any more, and its batch is not ended yet."""
    asking.server.always = Fault(delay=0.1)

    async def stop(judge: Judge) -> None:
        batcher = Batcher(BatchSettings())
        await interrupt(asking, batcher.compare(judge, "ada", CHANGED))
        while judge.cost.calls < 1:  # noqa: ASYNC110 - nobody gives word of it
            await asyncio.sleep(0.001)
        await batcher.close()

    asking.by(stop)
    [verdict] = asking.by(lambda judge: judge.compare([CHANGED]))
    assert (verdict.calls, asking.server.calls) == (1, 1)


def test_a_composition_that_arrives_as_the_process_stops_is_paid_for_once(asking: Asking) -> None:
    asking.server.always = Fault(delay=0.3)

    async def stop(judge: Judge) -> None:
        await interrupt(asking, judge.compose(SOURCES))

    asking.by(stop)
    made = asking.by(lambda judge: judge.compose(SOURCES))
    assert made.text
    assert (asking.server.calls, made.verdict.calls) == (1, 1)


def test_what_was_paid_in_one_order_before_the_process_stopped_is_recorded_later(
    asking: Asking,
) -> None:
    asking.ruled(ask="relation")
    asking.server.fail(Fault(), Fault(delay=0.3))

    async def stop(judge: Judge) -> None:
        await interrupt(asking, judge.compare([CHANGED]), calls=2)

    asking.by(stop)
    [verdict] = asking.by(lambda judge: judge.compare([CHANGED]))
    assert (verdict.answer, verdict.calls, asking.server.calls) == ("update", 2, 2)


def test_what_earlier_neighbours_of_an_interrupted_question_cost_is_recorded_later(
    asking: Asking,
) -> None:
    texts = ("Ada is ill.", "Ada is at home.")
    neighbours = tuple(AskedNeighbour(side=asked(name, name)) for name in texts)
    newcomer = asked("Ada is at work.", "newer", 1)
    question = SettleQuestion(
        owner_id="ada",
        policy="sha256:0",
        rules=asking.rules,
        decision_id="11111111-1111-5111-8111-111111111111",
        candidate=newcomer,
        asked=neighbours,
    )
    asking.server.fail(Fault(), Fault(delay=0.3))

    async def stop(judge: Judge) -> None:
        batcher = Batcher(BatchSettings())
        await interrupt(asking, Verifier(lambda _: judge, batcher).answer(question), calls=2)
        await batcher.close()

    async def answer(judge: Judge) -> object:
        return await Verifier(lambda _: judge, Batcher(BatchSettings())).answer(question)

    asking.by(stop)
    for costs in ([1.0, 1.0], [0.0, 0.0]):
        request = asking.by(answer)
        assert isinstance(request, SettleRequest)
        assert [verdict.calls for verdict in request.verdicts] == costs
    assert asking.server.calls == 2


def asked(text: str, name: str, after: int = 0) -> AskedText:
    return AskedText(candidate_id=name, text=text, recorded_at=side(text, name, after).moment)


def test_an_answer_that_takes_long_does_not_keep_a_process_from_stopping(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "FINISH_SECONDS", 0.01)
    asking.server.always = Fault(delay=3600)

    async def stop(judge: Judge) -> None:
        await interrupt(asking, judge.compare([CHANGED]))
        assert judge.budget.spent().calls == 1, "the service may have answered it, and bill it"

    asking.by(stop)


def test_a_call_that_was_not_sent_when_the_process_stopped_is_not_counted(asking: Asking) -> None:
    asking.set(calls_per_second=0.001)

    async def stop(judge: Judge) -> None:
        await judge.compare([CHANGED])
        task = asyncio.create_task(judge.compare([pair("Ada is ill.", "Ada is at work.")]))
        while judge.budget.spent().calls < 2:  # noqa: ASYNC110 - nobody gives word of it
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert judge.budget.spent().calls == 1

    asking.by(stop)


CHANGED = pair("The timeout is 30 s.", "The timeout is 60 s now.")
ORDERS = {"same": ["different"], "relation": ["update", "update"]}
"""The answer in each order that is asked about."""


async def until_asked(asking: Asking, calls: int = 1) -> None:
    while asking.server.calls < calls:  # noqa: ASYNC110 - nobody gives word of it
        await asyncio.sleep(0.001)
