"""A partition assigned to this worker: its producer, its writer, and its waiting batches.

Records that the group's consumer skipped are read again, before later ones. If no record of a
partition has been acknowledged yet, Faust does not go back after a rebalance: records that it had
fetched would be lost, because acknowledging later ones would cover them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import dataclass

from aiokafka import TopicPartition
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.structs import OffsetAndMetadata

from palimpsest.contracts.errors import ModelError, TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import Record as Read
from palimpsest.streams.cluster.reader import read_range
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.cluster.setup import admin
from palimpsest.streams.cluster.tasks import StoppedError, Waiters, is_cancelled, unless
from palimpsest.streams.cluster.topics import Kind, Topics
from palimpsest.streams.cluster.worker.fibers import Fiber
from palimpsest.streams.cluster.worker.partition_writer import Interrupted, Opened, PartitionWriter
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from palimpsest.streams.cluster.worker.replica import Replica
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.write.serve import MOST_TOGETHER
from palimpsest.streams.write.windows import WINDOW_BYTES

_log = logging.getLogger(__name__)
INPUTS: tuple[Kind, ...] = ("candidates", "commands")


def worker_group(topics: Topics) -> str:
    """The consumer group of an installation's workers."""
    return f"{topics.prefix}palimpsest-worker"


async def acknowledged(
    connection: Connection, topics: Topics
) -> dict[TopicPartition, OffsetAndMetadata]:
    """The group's offset of each partition that has one: the next to be read.

    Workers add the topic's id to it; an operator's tool that sets offsets does not.
    """
    async with admin(connection) as asked:
        try:
            found = await asked.list_consumer_group_offsets(worker_group(topics))
        except GroupCoordinatorNotAvailableError:  # there never was a group
            return {}
    return {at: committed for at, committed in found.items() if committed.offset >= 0}


def _record(read: Read) -> Record:
    value, headers = read.value or b"", tuple(read.headers)
    return Record(read.topic, read.partition, read.offset, value, read.key, headers)


class Missed:
    """Records that Faust skipped before the first one that it delivers after an assignment.

    `starts` has the offset at which each topic continues, by its name.
    """

    def __init__(self, connection: Connection, starts: Mapping[str, int]) -> None:
        self._connection = connection
        self._starts = dict(starts)

    async def before(self, first: Record) -> AsyncGenerator[list[Record], None]:
        """Yield the records between the topic's next offset and the first one delivered.

        Usually there are none; offsets without records are skipped.
        """
        start = self._starts.pop(first.topic, first.offset)
        if start >= first.offset:
            return
        at = TopicPartition(first.topic, first.partition)
        _log.info("%s/%d began at %d, not at %d", *at, first.offset, start)
        async with aclosing(read_range(self._connection, at, start, first.offset)) as reading:
            async for some in reading:
                yield [_record(message) for message in some]


def starts(
    log: Replica,
    partition: int,
    inputs: Mapping[str, str],
    done: Mapping[TopicPartition, OffsetAndMetadata],
) -> dict[str, int]:
    """The next offset of each input topic: after the last one decided on.

    `inputs` are the topics' ids by name. An input without an effect is only acknowledged, so `done`
    counts as well, but only if workers acknowledged it for this very topic: an operator's tool may
    have set offsets beyond waiting inputs, and a recreated topic's offsets mean other records.
    """
    found: dict[str, int] = {}
    for topic, identity in inputs.items():
        committed = done.get(TopicPartition(topic, partition))
        is_ours = committed is not None and committed.metadata == identity
        decided = log.first_undone(topic, identity, partition)
        found[topic] = max(decided, committed.offset if committed and is_ours else 0)
    return found


AHEAD = 2
"""Batches whose texts are embedded ahead, while one is decided on. If more than that are at the
embedder, of all partitions, none is: the next one grows instead, because each is a transaction."""
TOGETHER = 512
"""Maximum number of records decided on together; a batch also ends after `WINDOW_BYTES`. Those that
arrive meanwhile wait; while they are a whole batch, no more of the partition are fetched."""
MODEL_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before each repetition while the model cannot be used. Then the worker ends: another one
may have a model, and gets the partition."""
USES_SECONDS = 5.0
"""Interval of checks whether waiting uses can be recorded."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record, and the function that acknowledges it to the consumer group."""

    record: Record
    acknowledge: Callable[[], object]


@dataclass(slots=True)
class _Batch:
    """Deliveries of one topic; candidates are opened ahead if the model can be used."""

    deliveries: Sequence[Delivery]
    has_candidates: bool
    opened: Opened | None = None
    waits_for_model: bool = False

    @property
    def records(self) -> list[Record]:
        return [delivery.record for delivery in self.deliveries]


async def _next(missed: AsyncIterator[list[Record]]) -> list[Record]:
    return await anext(missed, [])


def _is_batch(waiting: Collection[Delivery]) -> bool:
    """Whether they are enough for a whole batch."""
    if len(waiting) >= TOGETHER:
        return True
    return sum(len(delivery.record.value) for delivery in waiting) >= WINDOW_BYTES


class AssignedPartition:
    """Decides on batches in order of arrival, and acknowledges them in that order.

    Candidates are opened on arrival, so that their texts are embedded while earlier batches are
    decided on. Those that arrive while enough batches are open are opened together, because each
    batch costs a transaction. Only while candidates wait for the model do requests go first: one of
    them may put a policy in force that needs none.

    `decider` is this partition's own fiber: while its transaction is at the brokers, it waits, and
    other fibers decide. `at_embedder` has what is being embedded for all partitions of the worker.
    `failed` is called on errors; nothing is decided after that.
    """

    def __init__(
        self,
        producer: PartitionProducer,
        writer: PartitionWriter,
        decider: Fiber,
        missed: Missed,
        at_embedder: set[Future[list[Embedding]]],
        failed: Callable[[BaseException], Awaitable[object]],
    ) -> None:
        self._missed = missed
        self.producer = producer
        self.writer = writer
        self._decider = decider
        self._at_embedder = at_embedder
        self._failed = failed
        self._candidates: deque[Delivery] = deque()
        self._requests: deque[Delivery] = deque()
        self._batches: deque[_Batch] = deque()
        self._taken = 0
        self._decided = 0
        self._waiters = Waiters()
        self._closing = self._has_failed = False
        self._given_up = asyncio.Event()
        running = (self._open, self._run, self._carry_out, self._record_uses)
        self._tasks = [asyncio.create_task(self._run_watched(run())) for run in running]

    def candidates(self, deliveries: Sequence[Delivery]) -> None:
        """Accept records of the candidates topic."""
        self._candidates.extend(deliveries)
        self._waiters.check()

    def commands(self, deliveries: Sequence[Delivery]) -> None:
        """Accept records of the commands topic."""
        self._requests.extend(deliveries)
        self._waiters.check()

    def full(self) -> Iterator[Kind]:
        """The input topics of which a whole batch waits: no more should be fetched of them."""
        for kind, waiting in zip(INPUTS, (self._candidates, self._requests), strict=True):
            if _is_batch(waiting):
                yield kind

    async def _open(self) -> None:
        taking = self._batches_of(self._candidates, TOGETHER, self._has_room)
        async with aclosing(taking) as batches:
            async for some in batches:
                self._taken += 1
                batch = _Batch(some, has_candidates=True)
                with suppress(ModelError):  # told when it is opened again, to be decided on
                    batch.opened = await self._decider.run(self.writer.open, batch.records)
                if batch.opened and (embeddings := batch.opened.window.embeddings) is not None:
                    self._at_embedder.add(embeddings)
                    embeddings.add_done_callback(self._at_embedder.discard)
                self._batches.append(batch)
                self._waiters.check()

    def _has_room(self) -> bool:
        """Whether another batch of candidates should be opened."""
        return not self._batches or max(len(self._batches), len(self._at_embedder)) <= AHEAD

    async def _batches_of(
        self, waiting: deque[Delivery], most: int, has_room: Callable[[], bool]
    ) -> AsyncGenerator[list[Delivery], None]:
        """What waits, in batches, until the partition is revoked; skipped records are the first.

        These may be many: the next of them are read once there is room. They are acknowledged with
        later ones.
        """
        if not await self._wait_until(lambda: bool(waiting)):
            return
        async with aclosing(self._missed.before(waiting[0].record)) as missed:
            while records := await unless(self._given_up, _next(missed)):
                skipped = deque(Delivery(record, lambda: None) for record in records)
                while skipped:
                    if not (some := await self._next_of(skipped, most, has_room)):
                        return
                    yield some
        while some := await self._next_of(waiting, most, has_room):
            yield some

    async def _next_of(
        self, waiting: deque[Delivery], most: int, has_room: Callable[[], bool]
    ) -> list[Delivery]:
        """A batch of what waits, once there is room for one; none if the partition is revoked."""
        some: list[Delivery] = []
        size = 0
        if await self._wait_until(lambda: bool(waiting) and has_room()):
            while waiting and len(some) < most and size < WINDOW_BYTES:
                some.append(waiting.popleft())
                size += len(some[-1].record.value)
        return some

    async def _wait_until(self, holds: Callable[[], bool]) -> bool:
        """Wait until something holds; False if the partition is revoked."""
        await self._waiters.until(lambda: self._closing or holds())
        return not self._closing

    async def _carry_out(self) -> None:
        """Carry out requests, each after the candidates that came before it."""
        taking = self._batches_of(self._requests, MOST_TOGETHER, lambda: True)
        async with aclosing(taking) as batches:
            async for some in batches:
                if not await self._may_follow(self._taken):
                    return
                if not await self._finish(_Batch(some, has_candidates=False)):
                    return

    async def _may_follow(self, taken: int) -> bool:
        """Wait until `taken` batches of candidates are decided on, or one waits for the model."""
        return await self._wait_until(
            lambda: self._decided >= taken or any(batch.waits_for_model for batch in self._batches)
        )

    async def _run(self) -> None:
        while await self._wait_until(lambda: bool(self._batches)):
            if not await self._finish(self._batches[0]):
                return
            self._batches.popleft()
            self._decided += 1
            self._waiters.check()

    async def _record_uses(self) -> None:
        """Record uses that have waited long enough, until the partition is revoked."""
        while not self._closing:
            await self._pause(USES_SECONDS)
            if self.writer.uses_wait and not self._closing:
                await self._decider.run(self.writer.record_uses)

    async def _pause(self, seconds: float) -> None:
        """Wait; shorter if the partition is revoked."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._given_up.wait(), seconds)

    async def _run_watched(self, running: Awaitable[None]) -> None:
        try:
            await running
        except StoppedError:
            pass  # it was revoked while skipped records were read
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            await self._fail(TransientError("a client of the brokers gave up a request"))
        except Exception as error:  # noqa: BLE001 - the worker ends with this
            await self._fail(error)

    async def _fail(self, error: Exception) -> None:
        """Report the first failure; what was under way may fail because of it."""
        if not self._has_failed:
            self._closing = self._has_failed = True
            await self._failed(error)

    async def _finish(self, batch: _Batch) -> bool:
        """Decide on a batch, after pauses again while the model cannot be used.

        False if it is left to the partition's next worker.
        """
        for seconds in MODEL_PAUSES:
            try:
                return await self._decide(batch)
            except ModelError as error:
                _log.warning(
                    "partition %d waits for the model, and tries again in %.0f s: %s",
                    self.writer.partition,
                    seconds,
                    error,
                )
            batch.opened = None
            batch.waits_for_model = True
            self._waiters.check()
            await self._pause(seconds)
            if self._closing:
                return False
        return await self._decide(batch)

    async def _decide(self, batch: _Batch) -> bool:
        if not batch.has_candidates:
            try:
                await self._decider.run(self.writer.carry_out, batch.records)
            except Interrupted:
                return False
        else:
            if batch.opened is None:
                batch.opened = await self._decider.run(self.writer.open, batch.records)
            if not await self._wait_for_vectors(batch.opened):
                return False
            await self._decider.run(self.writer.close, batch.opened)
        for delivery in batch.deliveries:
            delivery.acknowledge()
        return True

    async def _wait_for_vectors(self, opened: Opened) -> bool:
        """Wait for a batch's texts; False if the partition is revoked before they are embedded.

        Errors of the embedder are raised on the deciding thread.
        """
        if opened.window.embeddings is None:
            return True
        embedded = asyncio.wrap_future(opened.window.embeddings)
        embedded.add_done_callback(lambda _: self._waiters.check())
        if not await self._wait_until(embedded.done):
            embedded.cancel()
            return False
        if embedded.cancelled():
            await embedded
        embedded.exception()  # raised when the batch is decided on
        return True

    async def close(self) -> None:
        """Finish the batch being decided on and published; the others go to the next worker.

        It does not wait for texts at the embedder. A request with many commits is interrupted at
        its next commit.
        """
        self._closing = self.writer.ending = True
        self._waiters.check()
        self._given_up.set()
        for batch in self._batches:
            if batch.opened is not None and batch.opened.window.embeddings is not None:
                batch.opened.window.embeddings.cancel()
        await asyncio.gather(*self._tasks)
        await self.producer.stop()
        await self._decider.run(self.writer.log.close)
