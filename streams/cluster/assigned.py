"""A partition that this worker has: its producer, its writer, and the batches that wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.missed import Missed
from palimpsest.streams.cluster.partition import Interrupted, Opened, PartitionWriter
from palimpsest.streams.cluster.publishing import PartitionProducer
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.cluster.thread import OneThread, is_cancelled

AHEAD = 2
"""Batches whose texts are being embedded while one is decided on."""
TOGETHER = 512
"""Records that are decided on together at most: what comes meanwhile waits to be so."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record, and what tells the consumer group that it is done with."""

    record: Record
    acknowledge: Callable[[], object]


@dataclass(slots=True)
class _Batch:
    deliveries: Sequence[Delivery]
    opened: Opened | None


class AssignedPartition:
    """Decides on batches in the order in which they come, and acknowledges in that order.

    Candidates are opened when they come, so that texts are embedded while earlier batches are
    decided on. Those that come while enough batches are open are opened together: each batch costs
    a transaction. `failed` is told when something goes wrong; nothing is decided after that.
    """

    def __init__(
        self,
        producer: PartitionProducer,
        writer: PartitionWriter,
        decider: OneThread,
        missed: Missed,
        failed: Callable[[BaseException], Awaitable[object]],
    ) -> None:
        self._missed = missed
        self.producer = producer
        self.writer = writer
        self._decider = decider
        self._failed = failed
        self._arrived: deque[Delivery] = deque()
        self._batches: deque[_Batch] = deque()
        self._changed = asyncio.Condition()
        self._closing = False
        self._given_up = asyncio.Event()
        self._tasks = [asyncio.create_task(self._watched(run())) for run in (self._open, self._run)]

    async def candidates(self, deliveries: Sequence[Delivery]) -> None:
        """Take records of the candidates topic; waits while enough of them wait already."""
        async for some in self._with_missed(deliveries):
            async with self._changed:
                await self._changed.wait_for(lambda: self._closing or not self._is_full())
                self._arrived.extend(some)
                self._changed.notify_all()

    def _is_full(self) -> bool:
        return len(self._arrived) >= TOGETHER

    async def _open(self) -> None:
        while await self._has_room():
            async with self._changed:
                await self._changed.wait_for(lambda: self._closing or bool(self._arrived))
                count = 0 if self._closing else min(len(self._arrived), TOGETHER)
                some = [self._arrived.popleft() for _ in range(count)]
                self._changed.notify_all()
            if some:
                opened = await self._decider.run(self.writer.open, [one.record for one in some])
                await self._take(_Batch(some, opened))

    async def commands(self, deliveries: Sequence[Delivery]) -> None:
        """Take a batch of the commands topic."""
        async for batch in self._with_missed(deliveries):
            if await self._has_room():
                await self._take(_Batch(batch, None))

    async def _with_missed(
        self, deliveries: Sequence[Delivery]
    ) -> AsyncIterator[Sequence[Delivery]]:
        """A batch, and what was passed over before it: whose offsets go with those behind them."""
        async for records in self._missed.before(deliveries[0].record):
            yield [Delivery(record, lambda: None) for record in records]
        yield deliveries

    async def _has_room(self) -> bool:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closing or len(self._batches) <= AHEAD)
            return not self._closing

    async def _take(self, batch: _Batch) -> None:
        async with self._changed:
            self._batches.append(batch)
            self._changed.notify_all()

    async def _next(self) -> _Batch | None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closing or bool(self._batches))
            return None if self._closing else self._batches[0]

    async def _run(self) -> None:
        while (batch := await self._next()) is not None and await self._is_done(batch):
            async with self._changed:
                self._batches.popleft()
                self._changed.notify_all()

    async def _watched(self, running: Awaitable[None]) -> None:
        try:
            await running
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            await self._fail(TransientError("a client of the brokers gave up what it was asked"))
        except Exception as error:  # noqa: BLE001 - whoever runs the worker ends it with this
            await self._fail(error)

    async def _fail(self, error: Exception) -> None:
        self._closing = True
        await self._failed(error)

    async def _is_done(self, batch: _Batch) -> bool:
        """Decide on a batch; False where it is left to whoever has the partition next."""
        if batch.opened is None:
            return await self._are_carried_out(batch.deliveries)
        if not await self._is_embedded(batch.opened):
            return False
        await self._decider.run(self.writer.close, batch.opened)
        for delivery in batch.deliveries:
            delivery.acknowledge()
        return True

    async def _are_carried_out(self, deliveries: Sequence[Delivery]) -> bool:
        for delivery in deliveries:
            if self._closing:
                return False
            try:
                await self._decider.run(self.writer.carry_out, delivery.record)
            except Interrupted:
                return False
            delivery.acknowledge()
        return True

    async def _is_embedded(self, opened: Opened) -> bool:
        """Wait for a batch's texts; False where the partition is given up before they come."""
        if opened.window.embeddings is None:
            return True
        embedded = asyncio.wrap_future(opened.window.embeddings)
        given_up = asyncio.create_task(self._given_up.wait())
        await asyncio.wait((embedded, given_up), return_when=asyncio.FIRST_COMPLETED)
        given_up.cancel()
        if self._closing:
            embedded.cancel()
            return False
        await embedded
        return True

    async def close(self) -> None:
        """Finish what is being decided on; the rest comes again, to whoever is next.

        Texts that wait for the embedder are not waited for, and a request of many commits is left
        at the next of them.
        """
        async with self._changed:
            self._closing = self.writer.ending = True
            self._changed.notify_all()
        self._given_up.set()
        for batch in self._batches:
            if batch.opened is not None and batch.opened.window.embeddings is not None:
                batch.opened.window.embeddings.cancel()
        await asyncio.gather(*self._tasks)
        await self.producer.stop()
        await self._decider.run(self.writer.log.close)
