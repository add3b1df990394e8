"""Reads committed records of topics, from an offset to the current end, or for ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError, KafkaError, OffsetOutOfRangeError
from aiokafka.protocol.fetch import FetchRequest

from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.tasks import is_cancelled, unless

_log = logging.getLogger(__name__)

AT_ONCE = 2_000
"""Maximum number of records read together."""
POLL_SECONDS = 0.2
STALLED_SECONDS = 60.0
"""If no records come for this long, although there are more, the brokers are away."""
FETCH_BYTES = 16 * 1024 * 1024
WAIT_MILLISECONDS = 100
"""How long a broker may delay a fetch without records: it does not always notice at once that a
transaction was committed (one in ten waited for aiokafka's default of 500)."""
FETCH_SECONDS = 0.0001
"""Pause before a fetch for each partition that it names, see `pace_fetches`."""
SHORT_SECONDS = 0.001
"""Shorter pauses are left out: waking up costs as much as they save."""

Record: TypeAlias = ConsumerRecord[bytes, bytes]
Records = list[Record]
Offsets: TypeAlias = Mapping[TopicPartition, int]
"""The first unread offset of each partition."""
__all__ = [
    "DecisionsDeletedError",
    "Offsets",
    "Record",
    "Records",
    "TopicPartition",
    "begin_at",
    "ends_of",
    "follow",
    "pace_fetches",
    "read_range",
    "read_to_end",
    "reader",
    "recreated_error",
    "require_kept",
    "stopping",
]


class DecisionsDeletedError(StoreError):
    """The brokers deleted decisions that a replica or a store has not read."""


def require_kept(starts: Offsets, begins: Offsets) -> None:
    """Raise DecisionsDeletedError if a partition begins after the offset to read from."""
    gaps = [(at, start) for at, start in sorted(starts.items()) if begins[at] > start]
    if not gaps:
        return
    at, start = gaps[0]
    more = counted(len(gaps) - 1, "more partition")
    others = f", and records of {more}" if len(gaps) > 1 else ""
    raise DecisionsDeletedError(
        f"the brokers deleted records of {at.topic} that were not read here: partition"
        f" {at.partition} from offset {start:,} to {begins[at]:,}{others}. Nothing is decided or"
        " stored without them. Stop the workers, and restore the topic from a store or an export"
        " that has them: palimpsest topics restore"
    )


def pace_fetches(client: AIOKafkaClient) -> None:
    """Make a client pause before each fetch, the longer the more partitions it names.

    A fetch costs client and broker time for each partition that it names, and aiokafka sends the
    next one as soon as a record has arrived. With a pause, more records arrive in each fetch. A
    single record is not delayed, because a fetch is already waiting for it at the broker.
    """
    send = client.send

    async def paced(node_id: int, request: Any, **options: Any) -> Any:
        if isinstance(request, FetchRequest):
            named = sum(len(partitions) for _, partitions in request.topics)
            if named * FETCH_SECONDS >= SHORT_SECONDS:
                await asyncio.sleep(named * FETCH_SECONDS)
        return await send(node_id, request, **options)

    vars(client)["send"] = paced


@asynccontextmanager
async def reader(
    connection: Connection, isolation_level: str = "read_committed", *, skips_deleted: bool = False
) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer outside any group; by default it sees only committed records.

    It raises OffsetOutOfRangeError at deleted records, unless it `skips_deleted`, and
    KafkaConnectionError if aiokafka cancels a task because its connection breaks.
    """
    consumer = AIOKafkaConsumer(
        **connection.arguments(),
        isolation_level=isolation_level,
        enable_auto_commit=False,
        auto_offset_reset="earliest" if skips_deleted else "none",
        max_partition_fetch_bytes=FETCH_BYTES,
        fetch_max_wait_ms=WAIT_MILLISECONDS,
    )
    pace_fetches(vars(consumer)["_client"])
    try:
        await consumer.start()
        yield consumer
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        raise KafkaConnectionError("a connection broke") from None
    finally:
        async with stopping(consumer):
            await consumer.stop()


@asynccontextmanager
async def stopping(consumer: AIOKafkaConsumer) -> AsyncIterator[None]:
    """Stop a consumer completely when the block ends: aiokafka gives up halfway.

    A fetch that is cancelled before it runs, or in its pause after a failure, raises CancelledError
    there. While brokers are away, each fetch is in that pause.
    """
    await asyncio.sleep(0)
    try:
        yield
    except asyncio.CancelledError:
        await vars(consumer)["_client"].close()
        if is_cancelled():
            raise


def begin_at(consumer: AIOKafkaConsumer, offsets: Offsets) -> None:
    """Read these partitions from these offsets on.

    It uses `seek`: after `assign` alone, a full topic was once read as empty.
    """
    consumer.assign(list(offsets))
    for partition, offset in offsets.items():
        consumer.seek(partition, offset)


async def ends_of(connection: Connection, partitions: Iterable[TopicPartition]) -> Offsets:
    """The ends of partitions, including uncommitted records: a reader up to there has everything.

    By itself, a reader of committed records sees only what precedes an open transaction.
    """
    async with reader(connection, "read_uncommitted") as consumer:
        ends: Offsets = await consumer.end_offsets(list(partitions))
    return ends


async def read_to_end(
    consumer: AIOKafkaConsumer, offsets: Offsets, ends: Offsets
) -> AsyncIterator[tuple[Records, int, int]]:
    """Yield records from the offsets on up to the ends.

    Each batch comes with the number of offsets read, and the total. Raises TransientError if the
    brokers stop answering, or a transaction stays open; StoreError if unread records were deleted,
    or the topic was recreated.
    """
    begin_at(consumer, offsets)

    async def left() -> int:
        return sum([max(ends[p] - await consumer.position(p), 0) for p in offsets])

    todo, patience = await left(), _Patience()
    while missing := await left():
        patience.progress(missing)
        if records := await _read(consumer):
            yield records, todo - await left(), todo


async def read_range(
    connection: Connection, at: TopicPartition, start: int, end: int
) -> AsyncGenerator[Records, None]:
    """Yield the records of a partition from `start` up to, but without, `end`.

    The partition must reach `end`. Deleted records are skipped. Raises TransientError if the
    brokers stop answering.
    """
    async with reader(connection, skips_deleted=True) as consumer:
        begin_at(consumer, {at: start})
        patience = _Patience()
        while (position := await consumer.position(at)) < end:
            patience.progress(end - position)
            if records := [record for record in await _read(consumer) if record.offset < end]:
                yield records


async def follow(
    connection: Connection,
    starts: Offsets,
    take: Callable[[Records, Offsets], Awaitable[object]],
    stop: asyncio.Event,
) -> None:
    """Pass records on as they arrive, from these offsets on, until `stop` is set.

    `take` also gets the new offsets of partitions; these count what no reader gets, such as
    transaction markers, so there may be new offsets without records. Raises StoppedError if stopped
    while it connects; StoreError, without passing on the batch, if a partition goes back or lost
    unread records; and TransientError if the client gives up before `stop` is set.
    """
    try:
        async with AsyncExitStack() as stack:
            consumer = await unless(stop, stack.enter_async_context(reader(connection)))
            begin_at(consumer, starts)
            reported = dict(starts)
            has_caught_up = False
            while not stop.is_set():
                records = await _read(consumer)
                at = {partition: await consumer.position(partition) for partition in starts}
                moved = _moved(reported, at)
                if records or moved:
                    await take(records, moved)
                    reported = at
                if not has_caught_up and _is_at_end(consumer, at):
                    has_caught_up = True
                    _log.info("caught up: follows new records")
    except KafkaError as error:
        if not stop.is_set():
            raise TransientError(f"the brokers cannot be followed any more: {error}") from error


def _moved(before: Offsets, at: Offsets) -> dict[TopicPartition, int]:
    """The new offsets of partitions that have advanced; StoreError if one goes back."""
    moved = {partition: offset for partition, offset in at.items() if offset != before[partition]}
    for partition, offset in moved.items():
        if offset < before[partition]:
            raise StoreError(recreated_error(partition.topic))
    return moved


def _is_at_end(consumer: AIOKafkaConsumer, at: Offsets) -> bool:
    """Whether everything committed has been read, as of the last fetch of each partition."""
    ends = {partition: consumer.last_stable_offset(partition) for partition in at}
    return all(end is not None and end <= at[partition] for partition, end in ends.items())


def recreated_error(topic: str) -> str:
    """The message for a topic whose history is not the one that the store followed."""
    return (
        f"this store follows another {topic} than the cluster's current one (was it deleted and"
        " recreated?): follow it with a new store"
    )


async def _read(consumer: AIOKafkaConsumer) -> Records:
    try:
        found = await consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000), max_records=AT_ONCE)
    except OffsetOutOfRangeError as error:
        positions: Offsets = error.args[0]
        require_kept(positions, await consumer.beginning_offsets(list(positions)))
        raise StoreError(recreated_error(next(iter(positions)).topic)) from None
    return [record for some in found.values() for record in some]


class _Patience:
    """Raises TransientError if the remaining number stays the same for too long."""

    def __init__(self) -> None:
        self._left = -1
        self._since = 0.0

    def progress(self, left: int) -> None:
        now = asyncio.get_running_loop().time()
        if left != self._left:
            self._left, self._since = left, now
        elif now - self._since > STALLED_SECONDS:
            raise TransientError(f"the brokers sent nothing for {STALLED_SECONDS:.0f} s")
