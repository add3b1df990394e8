"""The partitions that one worker has, from assignment to revocation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from aiokafka import TopicPartition

from contracts.errors import StoreError
from contracts.policy import Policy
from streams.cluster.assigned import AssignedPartition, Delivery
from streams.cluster.connection import Connection
from streams.cluster.copy import Followed, PublishedLog
from streams.cluster.following import Records, read_to_end, reader
from streams.cluster.partition import PartitionWriter
from streams.cluster.publishing import PartitionProducer
from streams.cluster.records import inputs_done
from streams.cluster.topics import Topics, topic_id
from streams.embedded.writer import Effect, no_effect
from streams.embedder import Embedder

_log = logging.getLogger(__name__)
Result = TypeVar("Result")


class Station:
    """What a worker decides with: one thread, one embedder, and a writer for each partition.

    `failed` is told what ended a partition's work: the worker has to end then.
    """

    def __init__(
        self,
        connection: Connection,
        topics: Topics,
        folder: Path,
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
        failed: Callable[[BaseException], Awaitable[object]],
        effect: Effect = no_effect,
    ) -> None:
        self._connection = connection
        self._topics = topics
        self._folder = folder
        self._policy = policy
        self._embedder = embedder
        self._clock = clock
        self._failed = failed
        self._effect = effect
        self._decider = ThreadPoolExecutor(1, thread_name_prefix="decider")
        self._assigned: dict[int, AssignedPartition] = {}
        self._assigning: asyncio.Task[None] | None = None

    # -- inputs ------------------------------------------------------------------------------------

    async def candidates(self, deliveries: Sequence[Delivery]) -> None:
        """Take records of the candidates topic, of any of the partitions."""
        for partition, some in _by_partition(deliveries).items():
            if partition in self._assigned:
                await self._assigned[partition].candidates(some)

    async def commands(self, deliveries: Sequence[Delivery]) -> None:
        """Take records of the commands topic."""
        for partition, some in _by_partition(deliveries).items():
            if partition in self._assigned:
                await self._assigned[partition].commands(some)

    # -- assignment --------------------------------------------------------------------------------

    async def assign(self, partitions: Iterable[int]) -> None:
        """Have exactly these partitions, ready: former writers fenced, copies caught up."""
        await self.revoke()
        self._assigning = asyncio.create_task(self._assign(sorted(partitions)))
        try:
            await self._assigning
        except asyncio.CancelledError:
            _log.info("assignment given up: another one is coming")
        except Exception as error:  # noqa: BLE001 - whoever runs the worker ends it with this
            await self._failed(error)

    async def revoke(self) -> None:
        """Have none: finish what is being decided on, and leave the rest to whoever is next."""
        if self._assigning is not None and not self._assigning.done():
            self._assigning.cancel()
            await asyncio.gather(self._assigning, return_exceptions=True)
        given_up, self._assigned = self._assigned, {}
        await asyncio.gather(*(one.close() for one in given_up.values()))

    async def close(self) -> None:
        """End the thread."""
        await self.revoke()
        self._decider.shutdown()

    async def _assign(self, partitions: Sequence[int]) -> None:
        started: dict[int, PartitionProducer] = {}
        logs: dict[int, PublishedLog] = {}
        try:
            for partition in partitions:
                producer = PartitionProducer(
                    self._connection, self._topics, partition, self._effect
                )
                started[partition] = await producer.start()
            await self._catch_up(partitions, logs)
        except BaseException:
            await asyncio.gather(*(producer.stop() for producer in started.values()))
            for log in logs.values():
                await self._on_decider(log.close)
            raise
        for partition in partitions:
            self._assigned[partition] = await self._begin(started[partition], logs[partition])
        _log.info("ready: partitions %s", ", ".join(map(str, partitions)) or "none")

    async def _on_decider(self, function: Callable[..., Result], *arguments: object) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._decider, partial(function, *arguments))

    async def _begin(self, producer: PartitionProducer, log: PublishedLog) -> AssignedPartition:
        followed = await self._on_decider(
            log.followed, self._topics.name("decisions"), producer.partition
        )
        assert followed is not None
        log.publish_with(producer.publish, followed)
        writer = await self._on_decider(
            PartitionWriter,
            log,
            producer.partition,
            self._topics,
            self._policy,
            self._embedder,
            self._clock,
            self._effect,
        )
        return AssignedPartition(producer, writer, self._decider, self._failed)

    # -- local copies ------------------------------------------------------------------------------

    async def _catch_up(self, partitions: Sequence[int], logs: dict[int, PublishedLog]) -> None:
        """Open the partitions' copies and fill them up to where the decisions end."""
        if not partitions:
            return
        name = self._topics.name("decisions")
        async with reader(self._connection) as consumer:
            identity = await topic_id(self._connection, name)
            ends = await consumer.end_offsets([TopicPartition(name, p) for p in partitions])
            starts: dict[TopicPartition, int] = {}
            for at, end in ends.items():
                log, followed = await self._on_decider(self._open, at.partition, identity, end)
                logs[at.partition], starts[at] = log, followed.next_offset
            async for records, done, todo in read_to_end(consumer, starts):
                await self._on_decider(_take_over, logs, records, identity)
                _log.info("catching up: %d of %d decisions", done, todo)

    def _open(self, partition: int, identity: str, end: int) -> tuple[PublishedLog, Followed]:
        """The partition's copy; a new one where the one that is there is of another topic."""
        path = self._folder / f"{self._topics.prefix}partition-{partition}.sqlite"
        name = self._topics.name("decisions")
        for _ in range(2):
            try:
                log = PublishedLog.create(path)
                followed = log.followed(name, partition)
                if followed is None and not log.head():
                    followed = Followed(name, partition, identity, 0)
                    with log.transaction():
                        log.follow(followed)
                if followed and followed.topic_id == identity and followed.next_offset <= end:
                    return log, followed
                log.close()
                _log.warning("the copy of partition %d is of another topic: made anew", partition)
            except StoreError as error:
                _log.warning("the copy of partition %d is made anew: %s", partition, error)
            for left in path.parent.glob(f"{path.name}*"):
                left.unlink()
        raise StoreError(f"the copy {path} cannot be made")


def _take_over(logs: dict[int, PublishedLog], records: Records, identity: str) -> None:
    """Append decisions to their copies, with how far they are."""
    for partition in {record.partition for record in records}:
        some = [record for record in records if record.partition == partition]
        log = logs[partition]
        new = log.new_events([record.value or b"" for record in some])
        with log.transaction():
            log.take_over(new)
            last = some[-1]
            log.follow(Followed(last.topic, partition, identity, last.offset + 1))
            for record in some:
                for topic, offset in inputs_done(tuple(record.headers)).items():
                    log.follow(Followed(topic, partition, "", offset + 1))


def _by_partition(deliveries: Sequence[Delivery]) -> dict[int, list[Delivery]]:
    found: dict[int, list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault(delivery.record.partition, []).append(delivery)
    return found
