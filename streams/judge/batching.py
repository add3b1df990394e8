"""Sends requests to the judge in batches, by owner, with limits, and retries during an outage.

An `unavailable` pair is sent again, one request at a time with growing pauses, until the service
answers. It gets the policy's fallback once the day's budget is spent, or once an outage has lasted
for the operator's patience.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import cast

from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.models import is_paid, with_costs_of
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.judge.storage import SPENT

_log = logging.getLogger(__name__)

PATIENCE_SECONDS = 3600.0
"""The default patience: an outage of less than an hour costs only time."""
BATCH_SIZE = 16
"""Maximum number of pairs in a batch; in a larger one, more pairs would wait for the slowest."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0


@dataclass(slots=True, eq=False)
class _PendingRequest:
    """A pair or a composition that waits for its answer.

    `unavailable_since` is when it first came back unanswered, by the event loop's clock; `paid` has
    what was answered and paid for until then.
    """

    judge: PairJudge
    owner_id: str
    subject: JudgedPair | tuple[Side, ...]
    answer: asyncio.Future[Verdict | CompositionAnswer]
    unavailable_since: float | None = None
    paid: Verdict | None = None

    @property
    def batch_key(self) -> Hashable:
        """Requests with the same key may share a batch; those of two owners never do."""
        if isinstance(self.subject, JudgedPair):
            return id(self.judge), self.owner_id
        return self


@dataclass(slots=True)
class _Queue:
    """Waiting requests, in order and by batch key, so that the next batch is found at once."""

    _in_order: dict[_PendingRequest, None] = field(default_factory=dict)
    _by_key: dict[Hashable, dict[_PendingRequest, None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._in_order)

    def append(self, request: _PendingRequest) -> None:
        self._in_order[request] = None
        self._by_key.setdefault(request.batch_key, {})[request] = None

    def take(self, most: int) -> list[_PendingRequest]:
        """The first request, and up to `most` - 1 that may share its batch."""
        key = next(iter(self._in_order)).batch_key
        alike = self._by_key[key]
        taken = list(islice(alike, most))
        for request in taken:
            del self._in_order[request], alike[request]
        if not alike:
            del self._by_key[key]
        return taken


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """Up to `concurrency` batches at a time, of up to `size` pairs each; `patience` in seconds.

    Pauses are drawn at random between half and all of their length, so that many workers do not
    return at the same moment.
    """

    concurrency: int = 8
    size: int = BATCH_SIZE
    patience: float = PATIENCE_SECONDS
    first_pause: float = FIRST_PAUSE_SECONDS


@dataclass(slots=True)
class Batcher:
    """Sends the requests of many questions to the judge in batches; for one event loop."""

    settings: BatchSettings
    _waiting: _Queue = field(default_factory=_Queue)
    _in_progress: set[asyncio.Task[None]] = field(default_factory=set)
    _outage_since: float | None = None
    _pauses: int = 0
    _next: asyncio.TimerHandle | None = None
    _is_due: bool = False

    @property
    def outage(self) -> bool:
        """Whether the service did not answer the last request."""
        return self._outage_since is not None

    async def compare(self, judge: PairJudge, owner_id: str, pair: JudgedPair) -> Verdict:
        """The verdict on a pair, however long it takes; raises what the judge raises."""
        return cast("Verdict", await self._submit(judge, owner_id, pair))

    async def compose(
        self, judge: PairJudge, owner_id: str, sources: Sequence[Side]
    ) -> CompositionAnswer:
        """One text composed from several, however long it takes; raises what the judge raises."""
        return cast("CompositionAnswer", await self._submit(judge, owner_id, tuple(sources)))

    async def _submit(
        self, judge: PairJudge, owner_id: str, subject: JudgedPair | tuple[Side, ...]
    ) -> Verdict | CompositionAnswer:
        loop = asyncio.get_running_loop()
        request = _PendingRequest(judge, owner_id, subject, loop.create_future())
        self._waiting.append(request)
        if not self._is_due:
            # Not immediately, so that requests in the same turn of the event loop share a batch.
            self._is_due = True
            loop.call_soon(self._send_due)
        return await request.answer

    def _send_due(self) -> None:
        self._is_due = False
        self._send_batches()

    def _send_batches(self) -> None:
        """Send as many batches as the limit allows; during an outage one request, after a pause."""
        limit = 1 if self.outage else self.settings.concurrency
        while self._waiting and self._next is None and len(self._in_progress) < limit:
            free = limit - len(self._in_progress)
            most = 1 if self.outage else min(self.settings.size, -(-len(self._waiting) // free))
            # If a caller was cancelled, its answer is done.
            batch = [one for one in self._waiting.take(most) if not one.answer.done()]
            if batch:
                task = asyncio.create_task(self._send(batch))
                self._in_progress.add(task)
                task.add_done_callback(self._on_done)
                for request in batch:
                    request.answer.add_done_callback(partial(_end_if_abandoned, task, batch))

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._in_progress.discard(task)
        if not task.cancelled():
            self._send_batches()

    async def _send(self, batch: Sequence[_PendingRequest]) -> None:
        try:
            answers = await self._answers(batch)
        except BaseException as error:
            for request in batch:
                _fail(request.answer, error)
            if not isinstance(error, Exception):
                raise
            return
        for request, answer in zip(batch, answers, strict=True):
            verdict = answer if isinstance(answer, Verdict) else answer.verdict
            whole = verdict if request.paid is None else with_costs_of(verdict, request.paid)
            if verdict.answer != "unavailable":
                # A cached answer, or one of the first judge, says nothing about the service.
                if verdict.calls and verdict.certificate is None:
                    self._end_outage()
                _resolve(request.answer, answer, whole)
            elif verdict.reasoning == SPENT or self._is_given_up(request):
                _resolve(request.answer, answer, whole)
            else:
                request.paid = whole if is_paid(whole) else None
                self._waiting.append(request)  # last: the service may fail on this request alone
                self._pause()

    async def _answers(
        self, batch: Sequence[_PendingRequest]
    ) -> Sequence[Verdict | CompositionAnswer]:
        judge, subject = batch[0].judge, batch[0].subject
        if not isinstance(subject, JudgedPair):
            return [await judge.compose(subject)]
        return await judge.compare([cast("JudgedPair", request.subject) for request in batch])

    def _end_outage(self) -> None:
        if self.outage:
            _log.warning("the judge's service answers again")
        self._outage_since, self._pauses = None, 0

    def _is_given_up(self, request: _PendingRequest) -> bool:
        now = asyncio.get_running_loop().time()
        if request.unavailable_since is None:
            request.unavailable_since = now
        if self._outage_since is None:
            self._outage_since = now
            _log.warning("the judge's service does not answer: pending requests are sent again")
        return now - min(request.unavailable_since, self._outage_since) >= self.settings.patience

    def _pause(self) -> None:
        if self._next is not None:
            return
        longest = min(LONGEST_PAUSE_SECONDS, self.settings.first_pause * 2**self._pauses)
        self._pauses = min(self._pauses + 1, 16)
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(longest * random.uniform(0.5, 1.0), self._resume)  # noqa: S311

    def _resume(self) -> None:
        self._next = None
        self._send_batches()

    async def close(self) -> None:
        """Send nothing more, and cancel the batches in progress.

        A batch that is already being cancelled may still wait for its answer; cancelling it again
        would end that.
        """
        if self._next is not None:
            self._next.cancel()
        tasks = list(self._in_progress)
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _end_if_abandoned(
    task: asyncio.Task[None],
    batch: Sequence[_PendingRequest],
    answer: asyncio.Future[Verdict | CompositionAnswer],
) -> None:
    """Cancel a batch that nobody waits for: what it cost is kept for the next who asks."""
    abandoned = answer.cancelled() and all(request.answer.cancelled() for request in batch)
    if abandoned and not task.cancelling():
        task.cancel()


def _resolve(
    future: asyncio.Future[Verdict | CompositionAnswer],
    answer: Verdict | CompositionAnswer,
    verdict: Verdict,
) -> None:
    """Answer, with this verdict in place of the answer's own."""
    if not future.done():
        future.set_result(
            verdict if isinstance(answer, Verdict) else replace(answer, verdict=verdict)
        )


def _fail(future: asyncio.Future[Verdict | CompositionAnswer], error: BaseException) -> None:
    if future.done():
        return
    if isinstance(error, asyncio.CancelledError):
        future.cancel()
    else:
        future.set_exception(error)
