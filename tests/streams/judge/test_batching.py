"""Many questions at once: packed within an owner, bounded, and patient while nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from msgspec import structs

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.evidence import FirstAnswer, Verdict
from palimpsest.streams.judge.batching import Batcher, BatchSettings
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair
from palimpsest.streams.judge.storage import SPENT
from tests.streams.judge.stand_in import StandIn, pair, side

Result = TypeVar("Result")
QUICK = 0.001
"""Seconds of the first pause: growing ones are short then, too."""


def run(doing: Coroutine[Any, Any, Result]) -> Result:
    async def bounded() -> Result:
        async with asyncio.timeout(30):
            return await doing

    return asyncio.run(bounded())


async def until(holds: Any) -> None:
    while not holds():  # noqa: ASYNC110 - nobody gives word of it
        await asyncio.sleep(0)


def pairs(count: int) -> list[JudgedPair]:
    return [pair("old", f"new {number}") for number in range(count)]


async def all_of(
    batcher: Batcher, judge: StandIn, some: list[JudgedPair], owner: str = "ada"
) -> list[str]:
    asking = (batcher.compare(judge, owner, one) for one in some)
    return [verdict.answer for verdict in await asyncio.gather(*asking)]


def test_a_few_go_alone_and_many_are_packed_into_what_is_free() -> None:
    async def story() -> None:
        judge = StandIn()
        batcher = Batcher(BatchSettings(concurrency=4, size=8))
        assert await all_of(batcher, judge, pairs(3)) == ["different"] * 3
        assert [len(asked) for asked in judge.asked] == [1, 1, 1]
        judge.asked.clear()
        assert await all_of(batcher, judge, pairs(20)) == ["different"] * 20
        assert [len(asked) for asked in judge.asked] == [5, 5, 5, 5]
        judge.asked.clear()
        await all_of(batcher, judge, pairs(100))
        assert max(len(asked) for asked in judge.asked) == 8

    run(story())


def test_every_pair_gets_its_own_answer_whatever_it_was_packed_with() -> None:
    async def story() -> None:
        judge = StandIn(lambda one: "same" if one.newer.candidate_id in "new 3 new 7" else "update")
        answers = await all_of(Batcher(BatchSettings(concurrency=1, size=4)), judge, pairs(10))
        assert [n for n, answer in enumerate(answers) if answer == "same"] == [3, 7]

    run(story())


def test_texts_of_two_owners_never_go_together() -> None:
    async def story() -> None:
        judge = StandIn()
        batcher = Batcher(BatchSettings(concurrency=1, size=50))
        asking = [
            batcher.compare(judge, f"owner {n % 3}", pair(f"{n % 3}", str(n))) for n in range(30)
        ]
        await asyncio.gather(*asking)
        owners = [{older for older, _ in asked} for asked in judge.asked]
        assert all(len(some) == 1 for some in owners)
        assert len(judge.asked) < 30

    run(story())


def test_no_more_than_may_be_are_under_way() -> None:
    async def story() -> None:
        gate = asyncio.Event()
        judge = StandIn(gate=gate)
        batcher = Batcher(BatchSettings(concurrency=3, size=2))
        asking = asyncio.gather(
            all_of(batcher, judge, pairs(40)), batcher.compose(judge, "ada", ())
        )
        await until(lambda: judge.under_way == 3)
        gate.set()
        with pytest.raises(IndexError):  # nothing to compose of
            await asking
        await until(lambda: judge.under_way == 0)
        assert judge.most_under_way == 3

    run(story())


def test_a_slow_answer_holds_up_none_but_those_packed_with_it() -> None:
    async def story() -> None:
        slow, quick = StandIn(gate=asyncio.Event()), StandIn()
        batcher = Batcher(BatchSettings(concurrency=2, size=4))
        waiting = asyncio.create_task(batcher.compare(slow, "ada", pair("a", "b")))
        await until(lambda: slow.under_way)
        assert len(await all_of(batcher, quick, pairs(50))) == 50
        assert not waiting.done()
        assert slow.gate is not None
        slow.gate.set()
        assert (await waiting).answer == "different"

    run(story())


def test_what_nobody_waits_for_any_more_is_not_asked() -> None:
    async def story() -> None:
        gate = asyncio.Event()
        judge = StandIn(gate=gate)
        batcher = Batcher(BatchSettings(concurrency=1, size=1))
        first, given_up, last = (
            asyncio.create_task(batcher.compare(judge, "ada", one)) for one in pairs(3)
        )
        await until(lambda: judge.under_way)
        given_up.cancel()
        gate.set()
        await asyncio.gather(first, last)
        assert [newer for asked in judge.asked for _, newer in asked] == ["new 0", "new 2"]

    run(story())


def test_an_outage_is_waited_out_with_one_request_at_a_time() -> None:
    async def story() -> None:
        judge = StandIn()
        judge.away = True
        batcher = Batcher(BatchSettings(concurrency=4, size=1, first_pause=QUICK))
        asking = asyncio.create_task(all_of(batcher, judge, pairs(12)))
        await until(lambda: judge.calls >= 8)
        assert batcher.outage
        first, judge.most_under_way = judge.calls, 0
        await until(lambda: judge.calls > first + 2)
        assert judge.most_under_way == 1
        judge.away = False
        assert await asking == ["different"] * 12
        assert not batcher.outage

    run(story())


def test_pauses_grow_to_half_a_minute_and_are_drawn_at_random(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        drawn.append((low, high))
        return 0.75

    monkeypatch.setattr("palimpsest.streams.judge.batching.random.uniform", draw)

    async def story() -> list[float]:
        loop, paused = asyncio.get_running_loop(), []
        call_later = loop.call_later

        def at_once(seconds: float, call: Any, *arguments: Any) -> asyncio.TimerHandle:
            paused.append(seconds)
            return call_later(0, call, *arguments)

        monkeypatch.setattr(loop, "call_later", at_once)
        judge = StandIn()
        judge.away = True
        asking = asyncio.create_task(all_of(Batcher(BatchSettings()), judge, pairs(1)))
        await until(lambda: len(paused) == 8)
        judge.away = False
        assert await asking == ["different"]
        return paused

    assert run(story()) == [0.75, 1.5, 3.0, 6.0, 12.0, 22.5, 22.5, 22.5]
    assert set(drawn) == {(0.5, 1.0)}


@pytest.mark.parametrize("answers_in_the_end", [True, False])
def test_what_was_paid_for_before_an_outage_is_counted_once_and_not_lost(
    answers_in_the_end: bool,
) -> None:
    """One order was answered, or the first of two judges; what follows takes both from a cache."""
    paid: dict[str, Any] = {"calls": 1.0, "input_tokens": 5, "cost_usd": 0.5}
    free: dict[str, Any] = {"calls": 0.0, "input_tokens": 0, "cost_usd": 0.0}

    class Halfway(StandIn):
        async def compare(self, pairs: Any) -> list[Verdict]:
            found = await super().compare(pairs)
            costs = paid if len(self.asked) == 1 else free
            first = FirstAnswer(answer="update", **costs)
            return [structs.replace(one, first=first, **costs) for one in found]

    async def story() -> Verdict:
        judge = Halfway()
        judge.away = True
        batcher = Batcher(BatchSettings(first_pause=QUICK))
        asking = asyncio.create_task(batcher.compare(judge, "ada", pair("a", "b")))
        await until(lambda: judge.calls > 3)
        judge.away, judge.why = not answers_in_the_end, SPENT
        return await asking

    verdict = run(story())
    assert verdict.answer == ("different" if answers_in_the_end else "unavailable")
    assert verdict.first is not None
    for said in (verdict, verdict.first):
        assert {name: getattr(said, name) for name in paid} == paid


def test_a_text_whose_composition_was_paid_for_in_part_carries_all_of_it() -> None:
    class Halfway(StandIn):
        async def compose(self, sources: Any) -> CompositionAnswer:
            made = await super().compose(sources)
            usd = 0.5 if len(self.composed) == 1 else None
            verdict = structs.replace(made.verdict, calls=1.0 if usd else 0.0, cost_usd=usd)
            return replace(made, verdict=verdict)

    async def story() -> CompositionAnswer:
        judge = Halfway()
        judge.away = True
        batcher = Batcher(BatchSettings(first_pause=QUICK))
        asking = asyncio.create_task(batcher.compose(judge, "ada", [side("a"), side("b")]))
        await until(lambda: judge.calls > 2)
        judge.away = False
        return await asking

    made = run(story())
    assert made.text == "text of a + text of b"
    assert (made.verdict.calls, made.verdict.cost_usd) == (1.0, 0.5)


def test_one_that_nobody_ever_answers_does_not_hold_up_the_others() -> None:
    async def story() -> None:
        judge = StandIn(lambda one: "unavailable" if "new 0" in one.newer.candidate_id else "same")
        batcher = Batcher(BatchSettings(concurrency=1, size=1, first_pause=QUICK, patience=1e9))
        stuck, *others = (batcher.compare(judge, "ada", one) for one in pairs(5))
        waiting = asyncio.create_task(stuck)
        assert [verdict.answer for verdict in await asyncio.gather(*others)] == ["same"] * 4
        assert not waiting.done()
        await batcher.close()
        waiting.cancel()

    run(story())


def test_after_patience_the_answer_is_that_nobody_answers() -> None:
    async def story() -> None:
        judge = StandIn()
        judge.away = True
        batcher = Batcher(BatchSettings(patience=0.02, first_pause=QUICK))
        assert await all_of(batcher, judge, pairs(3)) == ["unavailable"] * 3
        assert judge.calls > 3
        judge.asked.clear()
        assert await all_of(batcher, judge, pairs(5)) == ["unavailable"] * 5
        assert judge.calls == 5, "the outage has lasted long enough: each is asked once"
        judge.away = False
        assert await all_of(batcher, judge, pairs(5)) == ["different"] * 5

    run(story())


@pytest.mark.parametrize(("patience", "why"), [(0.0, None), (1e9, SPENT)])
def test_without_patience_or_budget_it_is_given_up_at_once(
    patience: float, why: str | None
) -> None:
    async def story() -> None:
        judge = StandIn()
        judge.away, judge.why = True, why
        batcher = Batcher(BatchSettings(patience=patience))
        assert await all_of(batcher, judge, pairs(4)) == ["unavailable"] * 4
        assert sum(len(asked) for asked in judge.asked) == 4

    run(story())


def test_an_answer_that_was_known_already_says_nothing_of_the_service() -> None:
    class Remembers(StandIn):
        async def compare(self, pairs: Any) -> list[Verdict]:
            found = await super().compare(pairs)
            known = {"answer": "same", "calls": 0}
            return [
                structs.replace(one, **known) if pair.newer.candidate_id == "known" else one
                for pair, one in zip(pairs, found, strict=True)
            ]

        recorded = None

    async def story() -> None:
        judge = Remembers()
        judge.away = True
        batcher = Batcher(BatchSettings(size=1, first_pause=QUICK))
        asking = asyncio.create_task(batcher.compare(judge, "ada", pair("a", "b")))
        await until(lambda: batcher.outage)
        assert (await batcher.compare(judge, "ada", pair("a", "known"))).answer == "same"
        assert batcher.outage
        judge.away = False
        await asking

    run(story())


def test_what_is_wrong_with_the_settings_ends_it() -> None:
    class Refuses(StandIn):
        async def compare(self, pairs: Any) -> list[Verdict]:
            raise UsageError("the service does not know this key")

        recorded = None

    async def story() -> None:
        batcher = Batcher(BatchSettings())
        with pytest.raises(UsageError, match="does not know this key"):
            await batcher.compare(Refuses(), "ada", pair("a", "b"))

    run(story())


def test_closing_gives_up_what_is_under_way() -> None:
    async def story() -> None:
        judge = StandIn(gate=asyncio.Event())
        batcher = Batcher(BatchSettings())
        asking = asyncio.create_task(batcher.compose(judge, "ada", [side("a")]))
        await until(lambda: judge.under_way)
        await batcher.close()
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(story())
