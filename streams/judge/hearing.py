"""Pairs put to a model: what is remembered is not asked, the rest is packed, all is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from contracts import policy
from contracts.evidence import Answer
from streams.judge.answers import Said, about_pairs
from streams.judge.cache import Key, Known, VerdictCache
from streams.judge.cost import NOTHING, Cost
from streams.judge.models import model
from streams.judge.packing import pack
from streams.judge.pairs import Pair
from streams.judge.payload import pairs_payload
from streams.judge.prompts import ANSWERS, Prompt

if TYPE_CHECKING:
    from streams.judge.service import Reply, Service

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
class Hearing:
    """A prompt put to one model, by the limits of a policy's rules."""

    asked: Prompt
    model: str
    rules: policy.Judge
    cache: VerdictCache
    service: Service

    async def of(self, pairs: Sequence[Pair], *, swapped: bool = False) -> list[Heard]:
        """What is remembered of each pair, and the model's answers about the others, in order.

        `swapped` shows each pair's newer side first. Pairs of equal texts are asked about once, and
        the first of them has the cost.
        """
        told = self.asked.id + SWAPPED if swapped else self.asked.id
        keys = [Key(pair.older.hash, pair.newer.hash, told, self.model) for pair in pairs]
        heard = {key: _remembered(known) for key in keys if (known := self.cache.get(key))}
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in heard}
        heard |= await self._packed(missing, swapped)
        return _once_paid(keys, heard)

    async def _packed(self, missing: Mapping[Key, Pair], swapped: bool) -> dict[Key, Heard]:
        """Ask about all, in few requests that are under way together."""
        keys, pairs = list(missing), list(missing.values())
        packs = pack(pairs, self.asked, model(self.model), self.rules)
        replies = await together(
            self._once(keys[p.start : p.stop], pairs[p.start : p.stop], swapped) for p in packs
        )
        return dict(zip(keys, (heard for reply in replies for heard in reply), strict=True))

    async def _once(self, keys: Sequence[Key], pairs: Sequence[Pair], swapped: bool) -> list[Heard]:
        """One request; what is answered is remembered at once: a crash does not pay it twice."""
        payload = pairs_payload(pairs, swapped=swapped)
        reply = await self.service.ask(self.asked, self.model, payload, len(pairs))
        costs = reply.cost.parts(len(pairs))
        if reply.outcome != "answered":
            return [no_answer(reply, cost) for cost in costs]
        said = about_pairs(reply.given, ANSWERS[self.asked.name], len(pairs))
        for key, one in zip(keys, said, strict=True):
            if one is not None:
                self.cache.put(key, Known(one.answer, one.reason))
        return [_said(one, cost) for one, cost in zip(said, costs, strict=True)]


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


def _remembered(known: Known) -> Heard:
    return Heard(cast("Answer", known.answer), known.reason)


def _said(said: Said | None, cost: Cost) -> Heard:
    if said is None:
        return Heard("unusable", "the model gave no usable answer about this pair", cost)
    return Heard(cast("Answer", said.answer), said.reason, cost)


def _once_paid(keys: Sequence[Key], heard: Mapping[Key, Heard]) -> list[Heard]:
    paid: set[Key] = set()
    told = []
    for key in keys:
        told.append(replace(heard[key], cost=NOTHING) if key in paid else heard[key])
        paid.add(key)
    return told
