"""Pairs put to a model: what is remembered is not asked, the rest is packed, all is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from palimpsest.contracts import policy
from palimpsest.contracts.evidence import Answer
from palimpsest.streams.judge.answers import Said, about_pairs
from palimpsest.streams.judge.cache import Key, Known, VerdictCache
from palimpsest.streams.judge.cost import NOTHING, Cost
from palimpsest.streams.judge.models import model
from palimpsest.streams.judge.packing import pack
from palimpsest.streams.judge.pairs import Pair
from palimpsest.streams.judge.payload import pairs_payload
from palimpsest.streams.judge.prompts import ANSWERS, Prompt

if TYPE_CHECKING:
    from palimpsest.streams.judge.service import Reply, Service

SWAPPED = "~swapped"
"""Behind a prompt's id in the cache: the pair was shown the other way round."""
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer about one pair, or why there is none, and what it cost."""

    answer: Answer
    reason: str | None
    cost: Cost = NOTHING


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pair that is asked about, and what was paid for it already."""

    key: Key
    pair: Pair
    paid: Cost = NOTHING


@dataclass(frozen=True, slots=True)
class Hearing:
    """A prompt put to one model, by the limits of a policy's rules.

    `recorded`: its answers go to the log. A dry run's do not, so what they cost is owed.
    """

    asked: Prompt
    model: str
    rules: policy.Judge
    cache: VerdictCache
    service: Service
    recorded: bool = True

    async def of(self, pairs: Sequence[Pair], *, swapped: bool = False) -> list[Heard]:
        """What is remembered of each pair, and the model's answers about the others, in order.

        `swapped` shows each pair's newer side first. Pairs of equal texts are asked about once, and
        the first of them has the cost.
        """
        told = self.asked.id + SWAPPED if swapped else self.asked.id
        keys = [Key(pair.older.hash, pair.newer.hash, told, self.model) for pair in pairs]
        heard = {key: one for key in dict.fromkeys(keys) if (one := self._remembered(key))}
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in heard}
        heard |= await self._packed(missing, swapped)
        return _once_paid(keys, heard)

    async def _packed(self, missing: Mapping[Key, Pair], swapped: bool) -> dict[Key, Heard]:
        """Ask about all, in few requests that are under way together."""
        asked = [_Asked(key, pair) for key, pair in missing.items()]
        packs = pack(list(missing.values()), self.asked, model(self.model), self.rules)
        replies = await together(self._once(asked[p.start : p.stop], swapped) for p in packs)
        return dict(zip(missing, (heard for reply in replies for heard in reply), strict=True))

    async def _once(self, asked: Sequence[_Asked], swapped: bool) -> list[Heard]:
        """One request; what is answered is remembered at once: a crash does not pay it twice.

        What is unusable may be so for another pair of the request: it is asked about in smaller
        ones, and remembered of a pair that was alone.
        """
        payload = pairs_payload([one.pair for one in asked], swapped=swapped)
        reply = await self.service.ask(self.asked, self.model, payload, len(asked))
        parts = zip(asked, reply.cost.parts(len(asked)), strict=True)
        costs = [one.paid + part for one, part in parts]
        if reply.outcome == "unavailable":
            return [no_answer(reply, cost) for cost in costs]
        said = self._usable(reply, len(asked))
        heard = [_said(one, cost, reply) for one, cost in zip(said, costs, strict=True)]
        alone = len(asked) == 1
        for one, answer in zip(asked, heard, strict=True):
            if answer.answer != "unusable" or (alone and reply.lasting):
                known = Known(answer.answer, answer.reason)
                remember(self.cache, one.key, known, answer.cost, self.recorded)
        lost = [place for place, one in enumerate(said) if one is None]
        if not lost or alone or not reply.lasting:
            return heard
        again = [replace(asked[place], paid=costs[place]) for place in lost]
        answers = await self._smaller(again, len(asked), swapped)
        for place, answer in zip(lost, answers, strict=True):
            heard[place] = answer
        return heard

    async def _smaller(self, asked: Sequence[_Asked], than: int, swapped: bool) -> list[Heard]:
        """The answers about pairs of a request that had none, by requests of fewer pairs."""
        half = len(asked) if len(asked) < than else -(-len(asked) // 2)
        parts = (asked[:half], asked[half:])
        replies = await together(self._once(part, swapped) for part in parts if part)
        return [heard for reply in replies for heard in reply]

    def _usable(self, reply: Reply, count: int) -> list[Said | None]:
        if reply.outcome != "answered":
            return [None] * count
        return about_pairs(reply.given, ANSWERS[self.asked.name], count)

    def _remembered(self, key: Key) -> Heard | None:
        known = self.cache.get(key)
        if known is None:
            return None
        cost = self.cache.claim(key) if self.recorded else NOTHING
        return Heard(cast("Answer", known.answer), known.reason, cost)


def agreed(once: Heard, again: Heard) -> Heard:
    """Of the answers in both orders the one, if it is one: else the two are kept apart."""
    cost = once.cost + again.cost
    if again.answer == once.answer or again.answer in {"unavailable", "unusable"}:
        return replace(again, cost=cost)
    told = f"{once.answer} in one order, {again.answer} in the other"
    return Heard("different", told, cost)


def no_answer(reply: Reply, cost: Cost) -> Heard:
    """A failure of the service, or of what it said, as an answer about a pair."""
    assert reply.outcome != "answered"
    return Heard(reply.outcome, reply.why, cost)


async def together(asked: Iterable[Coroutine[Any, Any, _Result]]) -> list[_Result]:
    """The results of all, in order; if one raises, the others are ended and it is raised."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def remember(cache: VerdictCache, key: Key, known: Known, cost: Cost, recorded: bool) -> None:
    """Remember an answer; what it cost is owed where the verdict is not `recorded`."""
    cache.put(key, known)
    if not recorded:
        cache.owe(key, cost)


def _said(said: Said | None, cost: Cost, reply: Reply) -> Heard:
    if said is None:
        why = reply.why or "the model gave no usable answer about this pair"
        return Heard("unusable", why, cost)
    return Heard(cast("Answer", said.answer), said.reason, cost)


def _once_paid(keys: Sequence[Key], heard: Mapping[Key, Heard]) -> list[Heard]:
    paid: set[Key] = set()
    told = []
    for key in keys:
        told.append(replace(heard[key], cost=NOTHING) if key in paid else heard[key])
        paid.add(key)
    return told
