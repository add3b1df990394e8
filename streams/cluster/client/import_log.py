"""Imports an exported log into empty topics, byte for byte, with the order of each owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import AnyEvent, JudgeSet, PolicySet
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import as_transient
from palimpsest.streams.cluster.reader import ends_of, read_to_end, reader
from palimpsest.streams.cluster.records import Outgoing, policy_record
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from palimpsest.streams.log.import_log import exported_events

AT_ONCE = 500
"""Events per transaction."""

Line = tuple[AnyEvent, bytes]


async def import_lines(
    connection: Connection,
    topics: Topics,
    read: Callable[[], Iterable[bytes]],
    progress: Callable[[int], object],
) -> int:
    """Publish the lines of an export as decisions; returns their number.

    `read` returns the lines from the start: once to check them, and again to publish them, because
    nothing can be removed from a topic. Raises UsageError if the topic has decisions, StoreError
    for a line that is not an event or is damaged, TransientError if the brokers go away. An
    interrupted import leaves topics that are not empty: recreate them, and start again. Running
    workers are fenced, and read the imported decisions when they restart.
    """
    with as_transient("repeat the command"):
        await _require_empty(connection, topics)
    for _ in exported_events(read()):
        pass
    producers = [PartitionProducer(connection, topics, p) for p in range(topics.partitions)]
    with as_transient("recreate the topics, and import again"):
        try:
            for producer in producers:
                await producer.start()
            return await _publish(producers, topics.name("policies"), read(), progress)
        finally:
            await asyncio.gather(*(producer.stop() for producer in producers))


async def _require_empty(connection: Connection, topics: Topics) -> None:
    at = [topics.at("decisions", partition) for partition in range(topics.partitions)]
    async with reader(connection) as consumer:
        begins, ends = await consumer.beginning_offsets(at), await ends_of(connection, at)
        async for _ in read_to_end(consumer, begins, ends):
            raise UsageError(
                f"the topic {topics.name('decisions')} has decisions already: a log is imported"
                " into empty topics"
            )


async def _publish(
    producers: list[PartitionProducer],
    policies: str,
    lines: Iterable[bytes],
    progress: Callable[[int], object],
) -> int:
    events = exported_events(lines)
    count = 0
    while chunk := list(islice(events, AT_ONCE)):
        for producer in producers:
            mine = [line for line in chunk if _belongs(line[0], producer.partition, len(producers))]
            policy_lines = _policy_records(mine, policies) if producer.partition == 0 else []
            if mine:
                await producer.publish(mine, policy_lines, ())
        count += len(chunk)
        progress(count)
    return count


def _policy_records(events: Iterable[Line], policies: str) -> list[Outgoing]:
    """The policies of these events, for the policies topic."""
    return [policy_record(policies, line) for event, line in events if isinstance(event, PolicySet)]


def _belongs(event: AnyEvent, partition: int, partitions: int) -> bool:
    """Whether an event belongs in a partition.

    An owner's events belong in the owner's partition; a policy or a judge in all, because each
    partition records its own; other events in the first.
    """
    if isinstance(event, PolicySet | JudgeSet):
        return True
    if not event.owner_id:
        return partition == 0
    return partition_of(event.owner_id, partitions) == partition
