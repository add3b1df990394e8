"""The partitions of one worker, from assignment to revocation."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from pathlib import Path

from aiokafka.errors import KafkaError

from palimpsest.contracts.errors import DiskFullError, TransientError
from palimpsest.contracts.policy import Policy
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import NotPermittedError
from palimpsest.streams.cluster.reader import Offsets, TopicPartition, reader
from palimpsest.streams.cluster.tasks import OneThread, is_cancelled
from palimpsest.streams.cluster.topics import Topics, require_counts, topic_id
from palimpsest.streams.cluster.worker.assigned_partition import (
    INPUTS,
    AssignedPartition,
    Delivery,
    Missed,
    acknowledged,
    starts,
)
from palimpsest.streams.cluster.worker.fibers import Fiber, waiting_for
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.partition_writer import PartitionWriter
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from palimpsest.streams.cluster.worker.replica import (
    PartitionReplica,
    ReplicaFolder,
    Standby,
    close_replicas,
    discard,
    is_damage,
)
from palimpsest.streams.embedder import Embedder, Embedding
from palimpsest.streams.write.writer import Effect, no_effect

_log = logging.getLogger(__name__)
MOST_CANDIDATES = 80_000
"""Maximum number of candidates in the loaded ledgers of all partitions: about 9 kB each."""
AGAIN_SECONDS = 0.5
FULL_SECONDS = 60.0
"""Interval of log messages while the disk is full."""


class PartitionManager:
    """A worker's partitions: one embedder, and a writer with a fiber for each partition.

    The fibers share a thread. While one waits for the brokers, others decide, so there may be as
    many transactions in flight as partitions.

    `failed` receives the error that ended a partition's work; the worker must then end, or after a
    DiskFullError join its group again, to continue once there is space. With `standing_by`, the
    replicas of all other partitions are kept up to date.
    """

    def __init__(
        self,
        connection: Connection,
        topics: Topics,
        folder: Path,
        policy: Policy,
        embedder_of: Callable[[str], Embedder],
        clock: Callable[[], datetime],
        failed: Callable[[BaseException], Awaitable[object]],
        metrics: Metrics,
        effect: Effect = no_effect,
        *,
        standing_by: bool = False,
    ) -> None:
        self._metrics = metrics
        self._connection = connection
        self._topics = topics
        self._replicas = ReplicaFolder(connection, topics, folder)
        self._standby = Standby(self._replicas) if standing_by else None
        self._policy = policy
        self._embedder_of = embedder_of
        self._clock = clock
        self._failed = failed
        self._effect = effect
        self._deciding = OneThread("deciding")
        self._replica_thread = OneThread("replicas")
        self._assigned: dict[int, AssignedPartition] = {}
        self.starts: Offsets = {}
        """The next input offsets of the latest assignment."""
        self.input_ids: Mapping[str, str] = {}
        self._assigning: asyncio.Task[None] | None = None
        self._revoking = asyncio.Lock()
        self._closed = False
        self._folder = folder
        self._told_full = -math.inf

    @property
    def partitions(self) -> list[int]:
        """The partitions that are ready."""
        return sorted(self._assigned)

    @property
    def owners_in_memory(self) -> int:
        """The number of loaded owners, over all partitions."""
        return sum(len(assigned.writer.writer.owners) for assigned in self._assigned.values())

    # -- inputs ------------------------------------------------------------------------------------

    def candidates(self, deliveries: Sequence[Delivery]) -> None:
        """Accept records of the candidates topic, for any of the partitions."""
        for partition, some in _by_partition(deliveries).items():
            if partition in self._assigned:
                self._assigned[partition].candidates(some)

    def commands(self, deliveries: Sequence[Delivery]) -> None:
        """Accept records of the commands topic."""
        for partition, some in _by_partition(deliveries).items():
            if partition in self._assigned:
                self._assigned[partition].commands(some)

    def full(self) -> set[TopicPartition]:
        """The partitions of input topics of which no more should be fetched for now."""
        return {
            self._topics.at(kind, partition)
            for partition, assigned in self._assigned.items()
            for kind in assigned.full()
        }

    # -- assignment --------------------------------------------------------------------------------

    async def assign(self, partitions: Iterable[int]) -> bool:
        """Get exactly these partitions ready: fence former writers, and catch up the replicas.

        Returns False if that failed, or was abandoned because another assignment follows or the
        worker ends.
        """
        await self.revoke()
        if self._closed:
            return False
        self._assigning = asyncio.create_task(self._assign_patiently(sorted(partitions)))
        try:
            await self._assigning
        except asyncio.CancelledError:
            _log.info("assignment given up: another one is coming")
            return False
        except Exception as error:  # noqa: BLE001 - the worker ends with this
            await self._failed(error)
            return False
        return True

    async def revoke(self) -> None:
        """Release all partitions: finish what is being decided on, and leave the rest.

        If the worker ends during a rebalance, this waits for the revocation.
        """
        async with self._revoking:
            if self._standby is not None:
                await self._standby.end()
            if self._assigning is not None and not self._assigning.done():
                self._assigning.cancel()
                await asyncio.gather(self._assigning, return_exceptions=True)
            given_up, self._assigned = self._assigned, {}
            await asyncio.gather(*(assigned.close() for assigned in given_up.values()))

    async def close(self) -> None:
        """Release all partitions for good, and end the threads."""
        self._closed = True
        await self.revoke()
        self._deciding.end()
        # Without waiting, because it may be reading a replica while the event loop has work to end.
        self._replica_thread.end()

    async def _assign_patiently(self, partitions: Sequence[int]) -> None:
        """Retry whenever the brokers go away or the disk is full.

        No other worker has these partitions meanwhile.
        """
        while True:
            try:
                return await self._assign(partitions)
            except asyncio.CancelledError:
                if is_cancelled():
                    raise
            except DiskFullError:
                await self._wait_for_room()
                continue
            except NotPermittedError:
                raise
            except TransientError:
                pass
            except KafkaError as error:
                if not error.retriable:
                    raise
            _log.warning("the brokers went away during an assignment: it begins again")
            await asyncio.sleep(AGAIN_SECONDS)

    async def _assign(self, partitions: Sequence[int]) -> None:
        await require_counts(self._connection, self._topics)
        producers = {
            p: PartitionProducer(self._connection, self._topics, p, self._effect)
            for p in partitions
        }
        logs: dict[int, PartitionReplica] = {}
        try:
            await _all(producer.start() for producer in producers.values())
            with self._metrics.stage("catch_up"):
                await self._replicas.catch_up(partitions, logs, self._replica_thread, self._report)
            most = MOST_CANDIDATES // max(len(partitions), 1)
            names = [self._topics.name(kind) for kind in INPUTS]
            inputs = {name: await topic_id(self._connection, name) for name in names}
            missed = await self._all_missed(logs, inputs)
            writers = [await self._writer(producers[p], logs[p], inputs, most) for p in partitions]
        except BaseException as error:
            stopping = (producer.stop() for producer in producers.values())
            await asyncio.gather(*stopping, return_exceptions=True)
            await self._replica_thread.run(close_replicas, logs, error)
            raise
        at_embedder: set[Future[list[Embedding]]] = set()
        self._assigned = {
            writer.partition: AssignedPartition(
                producers[writer.partition],
                writer,
                Fiber(self._deciding),
                missed[writer.partition],
                at_embedder,
                partial(self._fail_partition, writer.log),
            )
            for writer in writers
        }
        _log.info("ready: partitions %s", ", ".join(map(str, partitions)) or "none")
        if self._standby is not None:
            self._standby.begin(set(range(self._topics.partitions)) - self._assigned.keys())

    async def _fail_partition(self, log: PartitionReplica, error: BaseException) -> None:
        if isinstance(error, DiskFullError):
            await self._wait_for_room()
        elif is_damage(error):
            await self._replica_thread.run(discard, log.path)
        await self._failed(error)

    async def _wait_for_room(self) -> None:
        """Wait a moment; report every minute that the disk is full."""
        now = asyncio.get_running_loop().time()
        if now > self._told_full + FULL_SECONDS:
            self._told_full = now
            _log.error(
                "the disk of %s is full: the worker waits. All decisions are intact at the brokers,"
                " and deciding goes on as soon as there is room: free some space",
                self._folder,
            )
        await asyncio.sleep(AGAIN_SECONDS)

    async def _all_missed(
        self, logs: Mapping[int, PartitionReplica], inputs: Mapping[str, str]
    ) -> dict[int, Missed]:
        """The records skipped per partition; also sets `starts` and `input_ids`."""
        if not logs:
            return {}
        done = await acknowledged(self._connection, self._topics)
        async with reader(self._connection) as consumer:
            earliest: Offsets = await consumer.beginning_offsets(
                [self._topics.at(kind, partition) for kind in INPUTS for partition in logs]
            )
        continued: dict[TopicPartition, int] = {}
        found: dict[int, Missed] = {}
        for partition, log in logs.items():
            begin = await self._replica_thread.run(starts, log, partition, inputs, done)
            for topic, start in begin.items():
                at = TopicPartition(topic, partition)
                read = max(start, done[at].offset if at in done else 0)
                self._tell_deleted(at, max(earliest[at] - read, 0))
                begin[topic] = continued[at] = max(start, earliest[at])
            found[partition] = Missed(self._connection, begin)
        self.starts, self.input_ids = continued, inputs
        return found

    def _tell_deleted(self, at: TopicPartition, deleted: int) -> None:
        """Report inputs that the brokers deleted before they were decided on."""
        labels = (at.topic, str(at.partition))
        self._metrics.set("palimpsest_inputs_deleted", deleted, *labels)
        if deleted:
            _log.error(
                "%s/%d: the brokers deleted %d offsets before any worker had read them: nothing"
                " was decided on these. Publish them again, and keep inputs for longer"
                " (retention.ms)",
                *at,
                deleted,
            )

    async def _writer(
        self,
        producer: PartitionProducer,
        log: PartitionReplica,
        inputs: Mapping[str, str],
        most_candidates: int,
    ) -> PartitionWriter:
        followed = await self._replica_thread.run(
            log.followed, self._topics.name("decisions"), producer.partition
        )
        assert followed is not None
        producer.continue_at(followed.next_offset)
        writer = await self._replica_thread.run(
            PartitionWriter,
            log,
            waiting_for(self._deciding, self._metrics.watching(producer.publish)),
            followed,
            self._topics,
            inputs,
            self._policy,
            self._embedder_of,
            self._clock,
            self._metrics,
            self._effect,
        )
        writer.writer.owners.most = most_candidates
        return writer

    def _report(self, done: int, todo: int) -> None:
        _log.info("catching up: %d of %d decisions", done, todo)
        self._metrics.progress()


async def _all(doing: Iterable[Awaitable[object]]) -> None:
    """Run all concurrently; when all have ended, raise the error of the first that failed."""
    for done in await asyncio.gather(*doing, return_exceptions=True):
        if isinstance(done, BaseException):
            raise done


def _by_partition(deliveries: Sequence[Delivery]) -> dict[int, list[Delivery]]:
    found: dict[int, list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault(delivery.record.partition, []).append(delivery)
    return found
