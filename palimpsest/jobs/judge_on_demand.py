"""The judge of batch runs and reviews, opened by the first request and closed after the run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, Self, TypedDict

from palimpsest.contracts import policy
from palimpsest.contracts.evidence import RecordedJudge, Verdict
from palimpsest.streams.judge.judge import Judge, PairJudge
from palimpsest.streams.judge.models import NOTHING
from palimpsest.streams.judge.own import JudgeFunction, OwnJudge
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.two_judges import TwoJudges, open_judge


class ReviewJudge(PairJudge, Protocol):
    """A judge that also reviews with the policy's stronger model, as `Judge` does."""

    async def review(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Like `compare`, with the policy's stronger model."""


class RunCost(TypedDict):
    """The cost of a run's requests to the judge; `usd` is None if the price is unknown."""

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


class JudgeOnDemand:
    """A store's judge, opened by the first request: before that, no packages or key are needed.

    `judge` is the settings of a service, or a function that answers. `recorded` is false in a dry
    run: the run that uses an answer records its cost.
    """

    def __init__(
        self,
        folder: Path,
        rules: policy.Judge,
        judge: JudgeSettings | JudgeFunction,
        *,
        recorded: bool = True,
    ) -> None:
        self._folder, self._rules, self._asked = folder, rules, judge
        self._recorded = recorded
        self._stack = AsyncExitStack()
        self._judge: Judge | TwoJudges | OwnJudge | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _opened(self) -> Judge | TwoJudges | OwnJudge:
        if self._judge is not None:
            return self._judge
        if isinstance(self._asked, JudgeSettings):
            beside: AbstractAsyncContextManager[Judge | TwoJudges] = open_judge(
                self._folder,
                self._rules,
                self._asked,
                lambda: datetime.now(UTC),
                recorded=self._recorded,
            )
            self._judge = judge = await self._stack.enter_async_context(beside)
            return judge
        self._judge = OwnJudge(self._asked, self._rules)
        return self._judge

    @property
    def recorded(self) -> RecordedJudge | None:
        """The judge that answers; None before the first request."""
        return None if self._judge is None else self._judge.recorded

    def cost(self) -> RunCost:
        """The cost of its requests so far; read it inside the context."""
        cost = self._judge.cost if self._judge is not None else NOTHING
        return {
            "calls": round(cost.calls),
            "input_tokens": cost.input_tokens,
            "output_tokens": cost.output_tokens,
            "usd": cost.usd,
        }

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """One verdict per pair, in order."""
        return await (await self._opened()).compare(pairs)

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        """Compose one text from several, given oldest first."""
        return await (await self._opened()).compose(sources)

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        """Add the cost of a verdict that is not recorded to the next one about the pair."""
        assert self._judge is not None, "it gave the verdict"
        self._judge.owe(pair, verdict)

    async def review(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Like `compare`, with the policy's stronger model."""
        return await (await self._opened()).review(pairs)
