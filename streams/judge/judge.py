"""The judge: is a pair the same, and if so, what does one say of both? (design section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from contracts import policy
from contracts.evidence import Verdict
from streams.judge.budget import Budget
from streams.judge.cache import VerdictCache
from streams.judge.pairs import Composed, Pair, Side
from streams.judge.settings import JudgeSettings

__all__ = ["Composed", "Judge", "Pair", "Side"]


class Judge:
    """Asks a service's model, by a policy's rules; an async context manager.

    Failures of the service are answers, never exceptions: `unavailable` (it is down, slow or limits
    us, or the day's budget is spent) and `unusable` (it refused, or answered something else). Only
    a key or a model that the service does not know is a UsageError.
    """

    def __init__(
        self, rules: policy.Judge, settings: JudgeSettings, cache: VerdictCache, budget: Budget
    ) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    async def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """A verdict for each pair, in their order; give pairs of one owner, they share requests.

        What was answered before is not asked again and costs nothing. A verdict's `neighbour_id`
        is the older candidate's. Under `ask: compose` nothing is asked: each is to be composed.
        """
        raise NotImplementedError

    async def compose(self, sources: Sequence[Side]) -> Composed:
        """One text of several, given oldest first; the verdict's `neighbour_id` is the oldest's."""
        raise NotImplementedError

    async def review(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """As `compare`, by the policy's stronger model: each is `same` or `different`."""
        raise NotImplementedError
