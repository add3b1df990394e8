"""Filling a worker's local copies up to where their partitions' decisions end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from aiokafka import TopicPartition

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.copies import open_copy, take_over
from palimpsest.streams.cluster.copy import WorkerCopy
from palimpsest.streams.cluster.following import ends_of, read_to_end, reader
from palimpsest.streams.cluster.thread import OneThread
from palimpsest.streams.cluster.topics import Topics, topic_id


class CopyFolder:
    """The folder of a worker's copies, and the brokers from which they are filled."""

    def __init__(self, connection: Connection, topics: Topics, folder: Path) -> None:
        self._connection = connection
        self._topics = topics
        self._folder = folder

    async def catch_up(
        self,
        partitions: Sequence[int],
        logs: dict[int, WorkerCopy],
        thread: OneThread,
        tell: Callable[[int, int], object],
    ) -> None:
        """Open these partitions' copies on a thread, and fill them.

        They are put into `logs` as they are opened, for whoever has to close them when this raises
        (StoreError, TransientError, KafkaError). `tell` gets how many of how many offsets are read.
        """
        if not partitions:
            return
        name = self._topics.name("decisions")
        async with reader(self._connection) as consumer:
            identity = await topic_id(self._connection, name)
            ends = await ends_of(self._connection, [TopicPartition(name, p) for p in partitions])
            starts: dict[TopicPartition, int] = {}
            for at, end in ends.items():
                log, followed = await thread.run(
                    open_copy, self._folder, self._topics, at.partition, identity, end
                )
                logs[at.partition], starts[at] = log, followed.next_offset
            async for records, done, todo in read_to_end(consumer, starts, ends):
                await thread.run(take_over, logs, records, identity)
                tell(done, todo)
