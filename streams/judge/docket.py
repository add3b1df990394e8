"""What is to be asked, a little at a time: packed, bounded, and patient while nobody answers.

A pair that comes back `unavailable` is asked again, by one request at a time with growing pauses,
until the service answers. It is given up to the policy's fallback once the day's budget is spent,
or once nobody has answered for as long as the operator's patience lasts.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.judge.budget import SPENT
from palimpsest.streams.judge.pairs import Composed, Pair, Side

_log = logging.getLogger(__name__)

PATIENCE_SECONDS = 3600.0
"""An outage of less than an hour costs time only."""
PACKED = 16
"""Pairs of one owner that are asked together, at most: more wait longer for the slowest."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0


class Asked(Protocol):
    """What is needed of a judge (`streams.judge.judge.Judge`)."""

    async def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """A verdict for each pair, in their order."""

    async def compose(self, sources: Sequence[Side]) -> Composed:
        """One text of several, given oldest first."""


@dataclass(slots=True, eq=False)
class _Matter:
    """One thing to ask. `since` is when nobody answered it first, by the event loop's clock."""

    judge: Asked
    owner_id: str
    what: Pair | tuple[Side, ...]
    answer: asyncio.Future[Verdict | Composed]
    since: float | None = None

    def goes_with(self, other: _Matter) -> bool:
        """Whether one request may hold both: nothing is ever sent with another owner's texts."""
        pairs = isinstance(self.what, Pair) and isinstance(other.what, Pair)
        return pairs and self.judge is other.judge and self.owner_id == other.owner_id


@dataclass(frozen=True, slots=True)
class Manner:
    """How a docket asks.

    `at_once` requests are under way at once, of up to `packed` pairs each. `patience` in seconds.
    Pauses are drawn between a half and a whole of what they may be, so that many verifiers do not
    come back together.
    """

    at_once: int = 8
    packed: int = PACKED
    patience: float = PATIENCE_SECONDS
    first_pause: float = FIRST_PAUSE_SECONDS


@dataclass(slots=True)
class Docket:
    """Brings pairs and compositions of many questions before the judge; of one event loop.

    `silent` is whether nobody answers at the moment.
    """

    manner: Manner
    _waiting: deque[_Matter] = field(default_factory=deque)
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _silent_since: float | None = None
    _pauses: int = 0
    _next: asyncio.TimerHandle | None = None

    @property
    def silent(self) -> bool:
        """Whether the last thing that the service said was nothing."""
        return self._silent_since is not None

    async def compare(self, judge: Asked, owner_id: str, pair: Pair) -> Verdict:
        """The verdict on a pair, however long it takes."""
        return cast(Verdict, await self._ask(judge, owner_id, pair))

    async def compose(self, judge: Asked, owner_id: str, sources: Sequence[Side]) -> Composed:
        """One text of several, however long it takes."""
        return cast(Composed, await self._ask(judge, owner_id, tuple(sources)))

    async def _ask(
        self, judge: Asked, owner_id: str, what: Pair | tuple[Side, ...]
    ) -> Verdict | Composed:
        loop = asyncio.get_running_loop()
        matter = _Matter(judge, owner_id, what, loop.create_future())
        self._waiting.append(matter)
        # Not at once: what others bring in this turn of the loop may go with it.
        loop.call_soon(self._hand_out)
        return await matter.answer

    def _hand_out(self) -> None:
        """Ask as much as may be asked now; one thing, after a pause, while nobody answers."""
        at_once = 1 if self.silent else self.manner.at_once
        while self._waiting and self._next is None and len(self._under_way) < at_once:
            some = self._take(1 if self.silent else at_once - len(self._under_way))
            if some:
                task = asyncio.create_task(self._put(some))
                self._under_way.add(task)
                task.add_done_callback(self._is_done)

    def _is_done(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            self._hand_out()

    def _take(self, free: int) -> list[_Matter]:
        """The first in line with others that may go with it; all that is free is used first."""
        most = 1 if self.silent else min(self.manner.packed, -(-len(self._waiting) // free))
        first = self._waiting.popleft()
        if first.answer.done():  # whoever asked was cancelled
            return []
        some = [first]
        for other in list(self._waiting):
            if len(some) == most:
                break
            if other.goes_with(first):
                self._waiting.remove(other)
                some.append(other)
        return some

    async def _put(self, some: Sequence[_Matter]) -> None:
        try:
            answers = await self._answers(some)
        except BaseException as error:
            for matter in some:
                _fail(matter.answer, error)
            if not isinstance(error, Exception):
                raise
            return
        for matter, answer in zip(some, answers, strict=True):
            self._hear(matter, answer)

    async def _answers(self, some: Sequence[_Matter]) -> Sequence[Verdict | Composed]:
        judge, what = some[0].judge, some[0].what
        if not isinstance(what, Pair):
            return [await judge.compose(what)]
        return await judge.compare([cast(Pair, matter.what) for matter in some])

    def _hear(self, matter: _Matter, answer: Verdict | Composed) -> None:
        verdict = answer if isinstance(answer, Verdict) else answer.verdict
        if verdict.answer != "unavailable":
            if verdict.calls:  # else it was known already, which says nothing of the service
                self._speak()
            _tell(matter.answer, answer)
        elif verdict.reasoning == SPENT or self._is_given_up(matter):
            _tell(matter.answer, answer)
        else:
            self._waiting.append(matter)  # last: it may be this one alone that nobody answers
            self._pause()

    def _speak(self) -> None:
        if self.silent:
            _log.warning("the judge's service answers again")
        self._silent_since, self._pauses = None, 0

    def _is_given_up(self, matter: _Matter) -> bool:
        now = asyncio.get_running_loop().time()
        matter.since = now if matter.since is None else matter.since
        if self._silent_since is None:
            self._silent_since = now
            _log.warning("the judge's service does not answer: what waits is asked again")
        return now - min(matter.since, self._silent_since) >= self.manner.patience

    def _pause(self) -> None:
        if self._next is not None:
            return
        longest = min(LONGEST_PAUSE_SECONDS, self.manner.first_pause * 2**self._pauses)
        self._pauses = min(self._pauses + 1, 16)
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(longest * random.uniform(0.5, 1.0), self._go_on)  # noqa: S311

    def _go_on(self) -> None:
        self._next = None
        self._hand_out()

    async def close(self) -> None:
        """Ask nothing more; what is under way is given up."""
        if self._next is not None:
            self._next.cancel()
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _tell(future: asyncio.Future[Verdict | Composed], answer: Verdict | Composed) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: asyncio.Future[Verdict | Composed], error: BaseException) -> None:
    if future.done():
        return
    if isinstance(error, asyncio.CancelledError):
        future.cancel()
    else:
        future.set_exception(error)
