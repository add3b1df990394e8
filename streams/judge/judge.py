"""The judge: is a pair the same, and if so, what does one say of both? (design section 6)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from palimpsest.contracts import policy
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.judge.answers import composed
from palimpsest.streams.judge.budget import Budget
from palimpsest.streams.judge.cache import Key, Known, VerdictCache
from palimpsest.streams.judge.cost import NOTHING, Cost
from palimpsest.streams.judge.hearing import Heard, Hearing, agreed, no_answer, remember
from palimpsest.streams.judge.models import model
from palimpsest.streams.judge.notes import FILE
from palimpsest.streams.judge.packing import entries_of, fits
from palimpsest.streams.judge.pairs import Composed, Pair, Side
from palimpsest.streams.judge.payload import sources_payload
from palimpsest.streams.judge.prompts import Name, Prompt, prompt
from palimpsest.streams.judge.settings import JudgeSettings

if TYPE_CHECKING:
    from palimpsest.streams.judge.service import Reply, Service

__all__ = ["Composed", "Judge", "Pair", "Side"]

ONE_SIDED = frozenset({"update", "compose"})
"""Answers that would change a text: they count only if they are given in both orders."""


class Judge:
    """Asks a service's model, by a policy's rules; an async context manager.

    Failures of the service are answers, never exceptions: `unavailable` (it is down, slow or limits
    us, or the day's budget is spent) and `unusable` (it refused, or answered something else). Only
    a key or a model that the service does not know is a UsageError. It belongs to one event loop.
    """

    def __init__(
        self,
        rules: policy.Judge,
        settings: JudgeSettings,
        cache: VerdictCache,
        budget: Budget,
        *,
        recorded: bool = True,
    ) -> None:
        self.rules = rules
        self._recorded = recorded
        self.budget = budget
        self._settings = settings
        self._cache = cache
        self._service: Service | None = None
        self._entered = AsyncExitStack()

    @classmethod
    def beside(
        cls,
        folder: Path,
        rules: policy.Judge,
        settings: JudgeSettings,
        clock: Callable[[], datetime],
        *,
        recorded: bool = True,
    ) -> Judge:
        """A judge whose answers and budget are kept in a store's folder.

        Where nothing of it is `recorded` in the log, as in a dry run, the cost of an answer goes
        to the verdict that is recorded later.
        """
        file = folder / FILE
        cache = VerdictCache(file)
        try:
            budget = Budget(file, settings, clock)
        except BaseException:
            cache.close()
            raise
        return cls(rules, settings, cache, budget, recorded=recorded)

    def by(self, rules: policy.Judge) -> Judge:
        """The same judge by other rules: one rate, one budget, open as long as this one is."""
        other = Judge(rules, self._settings, self._cache, self.budget, recorded=self._recorded)
        other._service = self.service
        return other

    async def __aenter__(self) -> Self:
        self._entered.callback(self.close)
        try:
            self._service = await self._entered.enter_async_context(self._made_service())
        except BaseException:
            await self._entered.aclose()
            raise
        return self

    def _made_service(self) -> Service:
        try:
            from palimpsest.streams.judge.service import Service
        except ModuleNotFoundError:
            raise UsageError(
                "the judge needs more packages: pip install 'palimpsest-memory[judge]'"
            ) from None
        return Service(self._settings, self.budget)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._service = None
        await self._entered.aclose()

    def close(self) -> None:
        """Let the files go; whoever entered it need not."""
        self._cache.close()
        self.budget.close()

    @property
    def service(self) -> Service:
        """What is asked, for questions of other kinds too; only between entering and leaving."""
        if self._service is None:
            raise RuntimeError("a judge is an async context manager: enter it first")
        return self._service

    @property
    def cost(self) -> Cost:
        """What its requests have cost since it was entered, whatever became of the answers."""
        return self.service.cost

    async def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """A verdict for each pair, in their order; give pairs of one owner, they share requests.

        What was answered before is not asked again and costs nothing. A verdict's `neighbour_id`
        is the older candidate's. Under `ask: compose` nothing is asked: each is to be composed.
        """
        match self.rules.ask:
            case "compose":
                return [Verdict(neighbour_id=p.older.candidate_id, answer="compose") for p in pairs]
            case "same":
                return await self._in_one_order("compare-same", self.rules.model, pairs)
            case "relation":
                return await self._in_both_orders(pairs)

    async def review(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """As `compare`, by the policy's stronger model: each is `same` or `different`."""
        return await self._in_one_order("review", self.rules.review_model, pairs)

    async def compose(self, sources: Sequence[Side]) -> Composed:
        """One text of several, given oldest first; the verdict's `neighbour_id` is the oldest's."""
        asked, name = prompt("compose"), self.rules.model
        key = Key(sources[0].hash, _hash(sources[1:]), asked.id, name)
        known = self._cache.get(key)
        if known is not None:
            cost = self._cache.claim(key) if self._recorded else NOTHING
            heard = Heard(
                "unusable" if known.answer == "unusable" else "compose", known.reason, cost
            )
            return _composed(known.text, heard, sources, asked, name)
        payload, entries = sources_payload(sources), entries_of(sources)
        if not fits(asked, payload, entries, model(name)):
            heard = Heard("unusable", "the texts are more than the model reads")
            return _composed(None, heard, sources, asked, name)
        reply = await self.service.ask(asked, name, payload, entries)
        text = _whole_text(reply)
        heard = Heard("compose", None, reply.cost) if text is not None else _no_text(reply)
        if text is not None or (heard.answer == "unusable" and reply.lasting):
            answer = Known(heard.answer, heard.reason, text)
            remember(self._cache, key, answer, reply.cost, self._recorded)
        return _composed(text, heard, sources, asked, name)

    async def _in_one_order(self, asked: Name, name: str, pairs: Sequence[Pair]) -> list[Verdict]:
        hearing = self._hearing(asked, name)
        return _verdicts(pairs, await hearing.of(pairs), hearing)

    async def _in_both_orders(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """What would replace or compose is asked again the other way round."""
        hearing = self._hearing("compare-relation", self.rules.model)
        heard = await hearing.of(pairs)
        again = [place for place, one in enumerate(heard) if one.answer in ONE_SIDED]
        turned = await hearing.of([pairs[place] for place in again], swapped=True)
        for place, other in zip(again, turned, strict=True):
            heard[place] = agreed(heard[place], other)
        return _verdicts(pairs, heard, hearing)

    def _hearing(self, asked: Name, name: str) -> Hearing:
        rules, cache = self.rules, self._cache
        return Hearing(prompt(asked), name, rules, cache, self.service, self._recorded)


def _hash(sources: Sequence[Side]) -> str:
    """The hash of one text is its own, that of several is over theirs."""
    if len(sources) == 1:
        return sources[0].hash
    return hashlib.sha256("".join(source.hash for source in sources).encode()).hexdigest()


def _whole_text(reply: Reply) -> str | None:
    return composed(reply.given) if reply.outcome == "answered" and not reply.cut else None


def _no_text(reply: Reply) -> Heard:
    if reply.outcome == "answered":
        return Heard("unusable", "the model gave no usable text", reply.cost)
    return no_answer(reply, reply.cost)


def _composed(
    text: str | None, heard: Heard, sources: Sequence[Side], asked: Prompt, name: str
) -> Composed:
    return Composed(text, _verdict(sources[0], heard, asked, name))


def _verdicts(pairs: Sequence[Pair], heard: Sequence[Heard], by: Hearing) -> list[Verdict]:
    return [
        _verdict(pair.older, one, by.asked, by.model)
        for pair, one in zip(pairs, heard, strict=True)
    ]


def _verdict(older: Side, heard: Heard, asked: Prompt, name: str) -> Verdict:
    cost = heard.cost
    return Verdict(
        neighbour_id=older.candidate_id,
        answer=heard.answer,
        reasoning=heard.reason,
        model=name,
        prompt=asked.id,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        cost_usd=cost.usd,
        seconds=cost.seconds,
        calls=cost.calls,
    )
