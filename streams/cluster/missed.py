"""Records that the group's consumer passed over: they are read again, before what came after them.

Where nothing of a partition was acknowledged yet, Faust does not go back after a rebalance: what it
had fetched by then comes to nobody, and what comes next would be acknowledged over it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping

from aiokafka import TopicPartition
from aiokafka.errors import GroupCoordinatorNotAvailableError

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.copy import Copy
from palimpsest.streams.cluster.following import Record as Read
from palimpsest.streams.cluster.following import read_range
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.cluster.setup import admin
from palimpsest.streams.cluster.topics import Kind, Topics

_log = logging.getLogger(__name__)
INPUTS: tuple[Kind, ...] = ("candidates", "commands")


def worker_group(topics: Topics) -> str:
    """The consumer group of an installation's workers."""
    return f"{topics.prefix}palimpsest-worker"


async def acknowledged(connection: Connection, topics: Topics) -> dict[TopicPartition, int]:
    """What the workers have acknowledged: the next offset of each partition that has one."""
    async with admin(connection) as asked:
        try:
            found = await asked.list_consumer_group_offsets(worker_group(topics))
        except GroupCoordinatorNotAvailableError:  # there never was a group
            return {}
    return {at: told.offset for at, told in found.items() if told.offset >= 0}


def _record(read: Read) -> Record:
    value, headers = read.value or b"", tuple(read.headers)
    return Record(read.topic, read.partition, read.offset, value, read.key, headers)


class Missed:
    """What lies before the first record of each input topic that comes after an assignment.

    `starts` says where each topic goes on, by its name.
    """

    def __init__(self, connection: Connection, starts: Mapping[str, int]) -> None:
        self._connection = connection
        self._starts = dict(starts)

    async def before(self, first: Record) -> AsyncIterator[list[Record]]:
        """Yield the records between where the topic goes on and the one that came first.

        None is the usual case; offsets that no record has are no records.
        """
        start = self._starts.pop(first.topic, first.offset)
        if start >= first.offset:
            return
        at = TopicPartition(first.topic, first.partition)
        _log.info("%s/%d began at %d, not at %d", *at, first.offset, start)
        async for some in read_range(self._connection, at, start, first.offset):
            yield [_record(one) for one in some]


def starts(
    log: Copy, partition: int, inputs: Mapping[str, str], done: Mapping[TopicPartition, int]
) -> dict[str, int]:
    """Where each input topic goes on: behind what is decided on, or what was acknowledged.

    `inputs` are the topics' ids by their names. An input without an effect is only acknowledged. A
    topic that was made anew since goes on at its start: what is acknowledged there may be what a
    worker that did not know it yet passed over.
    """
    found: dict[str, int] = {}
    for topic, identity in inputs.items():
        followed = log.followed(topic, partition)
        if followed is not None and followed.topic_id != identity:
            found[topic] = 0
            continue
        decided = 0 if followed is None else followed.next_offset
        found[topic] = max(decided, done.get(TopicPartition(topic, partition), 0))
    return found
