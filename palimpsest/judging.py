"""A judge for batch runs and reviews: opened when the first pair is asked about, closed after."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from contracts import policy
from contracts.evidence import Verdict
from streams.judge.judge import Judge
from streams.judge.pairs import Composed, Pair, Side
from streams.judge.settings import JudgeSettings


class Judging(Protocol):
    """What batch runs and reviews need of a judge (`streams.judge.judge.Judge`)."""

    async def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """A verdict for each pair, in their order."""

    async def compose(self, sources: Sequence[Side]) -> Composed:
        """One text of several, given oldest first."""

    async def review(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """As `compare`, by the policy's stronger model."""


class OnDemand:
    """A store's judge; who asks nothing needs neither its packages nor a key."""

    def __init__(self, folder: Path, rules: policy.Judge, settings: JudgeSettings) -> None:
        self._folder, self._rules, self._settings = folder, rules, settings
        self._stack = AsyncExitStack()
        self._judge: Judge | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def _opened(self) -> Judge:
        if self._judge is None:
            beside = Judge.beside(self._folder, self._rules, self._settings, _now)
            self._judge = await self._stack.enter_async_context(beside)
        return self._judge

    async def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """A verdict for each pair, in their order."""
        return await (await self._opened()).compare(pairs)

    async def compose(self, sources: Sequence[Side]) -> Composed:
        """One text of several, given oldest first."""
        return await (await self._opened()).compose(sources)

    async def review(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """As `compare`, by the policy's stronger model."""
        return await (await self._opened()).review(pairs)


def _now() -> datetime:
    return datetime.now(UTC)
