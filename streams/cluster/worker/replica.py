"""A worker's replicas of its partitions' decisions, in the format of the embedded log.

They are disposable: filled from the topic, bound to the topic's id, and never ahead of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from palimpsest.contracts.errors import DiskFullError, NewerError, StoreError, TransientError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.wire import Envelope, decode, envelope_of
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import (
    DecisionsDeletedError,
    Records,
    ends_of,
    read_to_end,
    reader,
    require_kept,
)
from palimpsest.streams.cluster.records import inputs_done
from palimpsest.streams.cluster.tasks import OneThread, is_cancelled
from palimpsest.streams.cluster.topics import Topics, topic_id
from palimpsest.streams.log.log import Lines, Log
from palimpsest.streams.write.commit import InputOffset

CACHE_KIB = 2 * 1024
"""Cache size per replica: a worker has one for each partition."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A replica's progress in a partition of a topic; `next_offset` is the first one missing."""

    topic: str
    partition: int
    topic_id: str
    next_offset: int


Filed = TypeVar("Filed", AnyEvent, Envelope)


class Replica(Log):
    """A log that follows topics; its offsets are in the same transaction as the lines."""

    def followed(self, topic: str, partition: int) -> Followed | None:
        """The replica's progress in a partition; None if it has nothing of it."""
        row = self.row(
            "SELECT topic, partition, topic_id, next_offset FROM followed"
            " WHERE topic = ? AND partition = ?",
            (topic, partition),
        )
        return None if row is None else Followed(*row)

    def follow(self, followed: Followed) -> None:
        """Record the replica's progress; needs a transaction."""
        self.require_transaction()
        self.execute(
            "INSERT INTO followed (topic, partition, topic_id, next_offset) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (topic, partition) DO UPDATE SET"
            " topic_id = excluded.topic_id, next_offset = excluded.next_offset",
            (followed.topic, followed.partition, followed.topic_id, followed.next_offset),
        )

    def follow_input(self, done: InputOffset, partition: int) -> None:
        """Record the progress of an input topic; needs a transaction."""
        self.follow(Followed(done.topic, partition, done.topic_id, done.offset + 1))

    def first_undone(self, topic: str, topic_id: str, partition: int) -> int:
        """The first offset of an input topic that no published decision marks as completed."""
        found = self.followed(topic, partition)
        return found.next_offset if found is not None and found.topic_id == topic_id else 0

    def new_events(self, lines: Sequence[bytes]) -> Lines:
        """The events among lines that this log lacks; StoreError for an invalid line."""
        return self._new([(decode(line), line) for line in lines])

    def _new(self, offered: Sequence[tuple[Filed, bytes]]) -> list[tuple[Filed, bytes]]:
        # In one query, because filling a replica looks up every event.
        ids = {event.id for event, _ in offered}
        keys = {bytes.fromhex(event_id.replace("-", "")): event_id for event_id in ids}
        marks = ", ".join("?" * len(keys))
        sql = f"SELECT id FROM events WHERE id IN ({marks})"  # noqa: S608 - only question marks
        held = {keys[key] for (key,) in self.rows(sql, tuple(keys))}
        new: dict[str, tuple[Filed, bytes]] = {}
        for event, line in offered:
            if event.id not in held:
                new.setdefault(event.id, (event, line))
        return list(new.values())


class PartitionReplica(Replica):
    """A worker's replica of one of its partitions: the brokers have every line first.

    Questions to the judge are published, so it has no table of them.
    """

    def __init__(
        self, path: Path, *, create: bool = False, read_only: bool = False, shared: bool = False
    ) -> None:
        super().__init__(path, create=create, read_only=read_only, shared=shared)
        # Commits need not wait for the disk: the brokers have what a power failure would lose.
        self.execute("PRAGMA synchronous=NORMAL")
        self.execute(f"PRAGMA cache_size=-{CACHE_KIB}")

    def fill(self, lines: Sequence[bytes]) -> None:
        """Append lines from the brokers that are missing here; needs a transaction.

        StoreError for an invalid line. An event's data is decoded when its owner is read.
        """
        self.append_lines(self._new([(envelope_of(line), line) for line in lines]))

    def _upgrade(self) -> None:
        pass


_log = logging.getLogger(__name__)


def open_replica(
    folder: Path, topics: Topics, partition: int, identity: str, end: int
) -> tuple[PartitionReplica, Followed]:
    """The partition's replica in a folder; a new one if the existing one is unusable.

    It is if it is damaged, of a newer format, of another topic or ahead of this one. `identity` is
    the id of the decisions topic, `end` its end. Raises StoreError.
    """
    path = folder / f"{topics.prefix}partition-{partition}.sqlite"
    begin = Followed(topics.name("decisions"), partition, identity, 0)
    for _ in range(2):
        try:
            opened = _opened(path, begin, end)
        except DiskFullError:
            raise
        except StoreError as error:
            _log.warning("the replica of partition %d is recreated: %s", partition, error)
        else:
            if opened is not None:
                return opened
            _log.warning(
                "the replica of partition %d is of another topic, or ahead of it: recreated",
                partition,
            )
        discard(path)
    raise StoreError(f"the replica {path} cannot be created")


def _opened(path: Path, begin: Followed, end: int) -> tuple[PartitionReplica, Followed] | None:
    """The replica of a file; None if it is of another topic, or ahead of this one's `end`."""
    with ExitStack() as unless_kept:
        log = PartitionReplica.create(path, shared=True)
        unless_kept.callback(log.close)
        followed = log.followed(begin.topic, begin.partition)
        if followed is None and not log.head():
            followed = begin
            with log.transaction():
                log.follow(followed)
        if not followed or followed.topic_id != begin.topic_id or followed.next_offset > end:
            return None
        unless_kept.pop_all()
        return log, followed


def take_over(logs: dict[int, PartitionReplica], records: Records, identity: str) -> None:
    """Append decisions to their replicas, with their offsets."""
    for partition in {record.partition for record in records}:
        some = [record for record in records if record.partition == partition]
        log = logs[partition]
        with log.transaction():
            log.fill([record.value or b"" for record in some])
            last = some[-1]
            log.follow(Followed(last.topic, partition, identity, last.offset + 1))
            for record in some:
                for done in inputs_done(tuple(record.headers)):
                    log.follow_input(done, partition)


def close_replicas(logs: Mapping[int, PartitionReplica], because: BaseException | None) -> None:
    """Close replicas, and remove them if they are damaged.

    On their own thread, this comes after the opening of one whose caller was cancelled.
    """
    for log in logs.values():
        log.close()
        if is_damage(because):
            discard(log.path)


def is_damage(error: BaseException | None) -> bool:
    """Whether an error means that the replica must be filled again."""
    intact = DecisionsDeletedError, DiskFullError, NewerError
    return isinstance(error, StoreError) and not isinstance(error, intact)


def discard(replica: Path) -> None:
    """Remove a replica: the next assignment fills a new one from the brokers."""
    for left in replica.parent.glob(f"{replica.name}*"):
        left.unlink()


class ReplicaFolder:
    """The folder of a worker's replicas, and the brokers from which they are filled."""

    def __init__(self, connection: Connection, topics: Topics, folder: Path) -> None:
        self._connection = connection
        self._topics = topics
        self._folder = folder

    async def catch_up(
        self,
        partitions: Sequence[int],
        logs: dict[int, PartitionReplica],
        thread: OneThread,
        report: Callable[[int, int], object],
    ) -> None:
        """Open these partitions' replicas on a thread, and fill them.

        They are added to `logs` on the thread when they are opened, so that the caller can close
        them there if this raises (StoreError, TransientError, KafkaError) or is cancelled. `report`
        receives the number of offsets read, and the total.
        """
        if not partitions:
            return
        name = self._topics.name("decisions")
        async with reader(self._connection) as consumer:
            identity = await topic_id(self._connection, name)
            ends = await ends_of(self._connection, [TopicPartition(name, p) for p in partitions])
            starts: dict[TopicPartition, int] = {}
            for at, end in ends.items():
                starts[at] = await thread.run(self._open, logs, at.partition, identity, end)
            require_kept(starts, await consumer.beginning_offsets(list(starts)))
            async for records, done, todo in read_to_end(consumer, starts, ends):
                await thread.run(take_over, logs, records, identity)
                report(done, todo)

    def _open(
        self, logs: dict[int, PartitionReplica], partition: int, identity: str, end: int
    ) -> int:
        """Add a partition's replica to `logs`; return the first offset that it lacks."""
        logs[partition], followed = open_replica(
            self._folder, self._topics, partition, identity, end
        )
        return followed.next_offset


EVERY_SECONDS = 2.0
"""Interval of filling a replica; a take-over reads the records that arrived since."""


class Standby:
    """Fills replicas every two seconds, from `begin` to `end`, on its own thread.

    Between fillings, and after `end`, the replicas are closed, so that only one thread at a time
    has one open.
    """

    def __init__(self, replicas: ReplicaFolder) -> None:
        self._replicas = replicas
        self._thread = OneThread("standby")
        self._filling: asyncio.Task[None] | None = None

    def begin(self, partitions: Iterable[int]) -> None:
        """Keep the replicas of these partitions filled; call `end` before the next `begin`."""
        self._filling = asyncio.create_task(self._keep_filled(sorted(partitions)))

    async def end(self) -> None:
        """Stop filling, and leave the replicas closed."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait([self._filling])
            self._filling = None

    async def _keep_filled(self, partitions: list[int]) -> None:
        is_filled, told = False, ""
        while partitions and not is_cancelled():  # clients may swallow a cancellation
            try:
                await self._fill(partitions)
                if not is_filled:
                    _log.info("standing by for partitions %s", ", ".join(map(str, partitions)))
                is_filled, told = True, ""
            except (StoreError, TransientError, KafkaError) as error:
                if told != str(error):
                    _log.warning("replicas of other workers' partitions fall behind: %s", error)
                told = str(error)
            except asyncio.CancelledError:
                if is_cancelled():
                    raise
            await asyncio.sleep(EVERY_SECONDS)

    async def _fill(self, partitions: list[int]) -> None:
        logs: dict[int, PartitionReplica] = {}
        why: BaseException | None = None
        try:
            await self._replicas.catch_up(partitions, logs, self._thread, lambda *_: None)
        except BaseException as error:
            why = error
            raise
        finally:
            await self._thread.run(close_replicas, logs, why)
