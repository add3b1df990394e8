"""Restores decisions that brokers deleted: fills a new topic from a copy and the old topic.

A deleted offset cannot be filled again, so the topic is deleted and recreated. Before that, all its
records are saved in a file beside the copy, and an interrupted restoration continues from there.
"""

from __future__ import annotations

import asyncio
import os
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from aiokafka.errors import GroupCoordinatorNotAvailableError, for_code

from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import StoreError, TransientError, UsageError
from palimpsest.contracts.events import AnyEvent, JudgeSet, PolicySet
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.wire import decode, envelope_of
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import (
    ExistingTopic,
    answering,
    as_transient,
    read_metadata,
)
from palimpsest.streams.cluster.reader import Records, ends_of, read_to_end, reader
from palimpsest.streams.cluster.records import Outgoing, decision_record
from palimpsest.streams.cluster.setup import admin, create_one
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.cluster.worker.assigned_partition import worker_group
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from palimpsest.streams.log.import_log import exported_events

AT_ONCE = 500
"""Records per transaction."""
Progress = Callable[[str, int, int | None], object]
"""Receives a description of the work, the count so far, and the total if known."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A store or an export with the deleted decisions.

    `read` returns its lines from the start. `reached` has, by the topic's id and the partition, the
    next offset of a store that follows the topic. `file` keeps the topic's records during the
    restoration.
    """

    read: Callable[[], Iterable[bytes]]
    reached: Mapping[tuple[str, int], int]
    file: Path


@dataclass(frozen=True, slots=True)
class RestoredPartition:
    """How many records a partition of the new topic has from the copy, and from the old topic.

    `deleted_before` is the offset before which the old topic had lost its records.
    """

    partition: int
    deleted_before: int
    from_copy: int
    from_topic: int


async def restore(
    connection: Connection, copy: Copy, progress: Progress, *, dry_run: bool = False
) -> list[RestoredPartition]:
    """Restore the decisions; returns what each partition that had lost records has.

    Raises UsageError while workers run, or if there would be a gap between copy and topic;
    StoreError for a damaged copy, or if there is no topic; TransientError if the brokers go away. A
    restoration that was interrupted after the topic was deleted continues with the saved records.
    """
    with as_transient("repeat the command"):
        name = Topics(connection.prefix).name("decisions")
        await _require_no_workers(connection)
        there = (await read_metadata(connection, [name])).topics.get(name)
        kept = _Kept.read(copy.file) if copy.file.exists() else None
        if kept is not None and (there is None or there.topic_id != kept.topic_id):
            await _require_subset(connection, there, name, kept)
        elif there is None:
            raise StoreError(f"there is no topic {name}: create it, and use palimpsest log import")
        else:
            topics = Topics(connection.prefix, there.partitions)
            plan = await _Plan.made(connection, topics, there, copy)
            if dry_run or not plan.deleted:
                return plan.partitions()
            kept = await plan.keep(progress)
        if not dry_run:
            await _fill_anew(connection, kept, there, progress)
            kept.file.unlink()
        return kept.partitions


async def _require_no_workers(connection: Connection) -> None:
    group = worker_group(Topics(connection.prefix))
    async with admin(connection) as client:
        try:
            [answer] = await client.describe_consumer_groups([group])
        except GroupCoordinatorNotAvailableError:
            return
    if any(described[5] for described in answer.groups):
        raise UsageError(
            f"the group {group} has workers: stop them all first (one that was killed leaves after"
            " its session, six seconds)"
        )


# -- the contents of the new topic --------------------------------------------------------------


class _Plan:
    """Which records of the copy precede those of the topic, in each partition."""

    def __init__(
        self, connection: Connection, topics: Topics, there: ExistingTopic, copy: Copy
    ) -> None:
        self._connection = connection
        self._topics = topics
        self._there = there
        self._copy = copy
        self._left: dict[int, dict[str, str]] = {p: {} for p in range(topics.partitions)}
        self.deleted: dict[int, int] = {}
        """The first remaining offset of each partition that lost records."""
        self._first_answers: dict[int, AnyEvent] = {}
        """Of each partition, the first remaining event with a verdict of the judge."""
        self._lines: dict[int, int] = {}

    @classmethod
    async def made(
        cls, connection: Connection, topics: Topics, there: ExistingTopic, copy: Copy
    ) -> _Plan:
        """Compare topic and copy. Raises UsageError if decisions between them may be missing."""
        plan = cls(connection, topics, there, copy)
        async for partition, records in plan._records():
            plan._take(partition, records)
        if plan.deleted:
            plan._compare()
        return plan

    def _take(self, partition: int, records: Records) -> None:
        """Take the next remaining records of a partition."""
        lines = [record.value or b"" for record in records]
        envelopes = map(envelope_of, lines)
        self._left[partition] |= {envelope.id: envelope.owner_id for envelope in envelopes}
        if partition not in self._first_answers:
            events = (decode(line) for line in lines if b'"verdicts"' in line)
            answer = next((event for event in events if _verdicts(event)), None)
            if answer is not None:
                self._first_answers[partition] = answer

    async def _records(self) -> AsyncIterator[tuple[int, Records]]:
        """The topic's remaining records, by partition, in order."""
        at = [self._topics.at("decisions", p) for p in range(self._topics.partitions)]
        async with AsyncExitStack() as stack:
            async with answering(self._connection):
                consumer = await stack.enter_async_context(reader(self._connection))
                begins = await consumer.beginning_offsets(at)
                ends = await ends_of(self._connection, at)
            self.deleted = {
                partition.partition: begins[partition] for partition in at if begins[partition]
            }
            async for records, _, _ in read_to_end(consumer, begins, ends):
                for partition in sorted({record.partition for record in records}):
                    yield partition, [record for record in records if record.partition == partition]

    def _compare(self) -> None:
        """Require that nothing is missing between the copy and the rest of each partition."""
        held: dict[int, dict[str, None]] = {partition: {} for partition in self.deleted}
        for event, _ in exported_events(self._copy.read()):
            if event.owner_id and (partition := self._partition(event.owner_id)) in held:
                held[partition][event.id] = None
        for partition, begin in self.deleted.items():
            reached = self._copy.reached.get((self._there.topic_id, partition))
            if reached is not None:
                _require_reached(partition, reached, begin)
            else:
                _require_overlap(partition, list(held[partition]), self._left[partition])
        self._lines = dict.fromkeys(self.deleted, 0)
        for partition, _, _ in self._from_copy():
            self._lines[partition] += 1

    def _partition(self, owner_id: str) -> int:
        return partition_of(owner_id, self._topics.partitions)

    def _from_copy(self) -> Iterator[tuple[int, AnyEvent, bytes]]:
        """The events of the copy that the topic lacks, with their partitions.

        A policy goes to every partition that lost records. A judge goes to those in which it
        answered, before its first answer there; that answer may be in the topic alone. Other events
        without an owner go to the first partition that lost records.
        """
        first, judges = min(self.deleted), _Judges()
        beyond = {p: event for p, event in self._first_answers.items() if p in self.deleted}
        left_anywhere = {kept for left in self._left.values() for kept in left}
        for event, line in exported_events(self._copy.read()):
            if isinstance(event, JudgeSet):
                judges.add(event, line)
                continue
            if isinstance(event, PolicySet):
                yield from ((p, event, line) for p in self.deleted if event.id not in self._left[p])
                continue
            partition = self._partition(event.owner_id) if event.owner_id else first
            if partition not in self.deleted:
                continue
            if partition in beyond and beyond[partition].id == event.id:
                del beyond[partition]
            yield from self._judge(judges, event, partition)
            if event.id not in left_anywhere:
                yield partition, event, line
        for partition, event in beyond.items():
            yield from self._judge(judges, event, partition)

    def _judge(
        self, judges: _Judges, event: AnyEvent, partition: int
    ) -> Iterator[tuple[int, AnyEvent, bytes]]:
        judge = judges.of(event, partition)
        if judge is not None and judge[0].id not in self._left[partition]:
            yield partition, *judge

    def partitions(self) -> list[RestoredPartition]:
        """The contents of each partition that lost records."""
        return [
            RestoredPartition(p, begin, self._lines[p], len(self._left[p]))
            for p, begin in self.deleted.items()
        ]

    async def keep(self, progress: Progress) -> _Kept:
        """Write all records of the new topic into a file, in the order of each partition."""
        name, count = self._topics.name("decisions"), 0
        unfinished = self._copy.file.with_name(f"{self._copy.file.name}.part")
        with unfinished.open("wb") as file:
            file.write(orjson.dumps(self._head()) + b"\n")
            for partition, event, line in self._from_copy():
                file.write(_kept_line(partition, decision_record(name, event, line)))
                count += 1
                progress("kept", count, None)
            async for partition, records in self._records():
                for kept in records:
                    record = Outgoing(name, kept.value or b"", kept.key, tuple(kept.headers))
                    file.write(_kept_line(partition, record))
                count += len(records)
                progress("kept", count, None)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(self._copy.file)
        return _Kept.read(self._copy.file)

    def _head(self) -> dict[str, Any]:
        return {
            "topic_id": self._there.topic_id,
            "count": self._topics.partitions,
            "replication": self._there.replication,
            "partitions": [
                [
                    partition.partition,
                    partition.deleted_before,
                    partition.from_copy,
                    partition.from_topic,
                ]
                for partition in self.partitions()
            ],
        }


class _Judges:
    """The judges of a copy, in which those of all partitions are mixed."""

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[JudgeSet, bytes]] = {}
        self._latest: dict[str, tuple[JudgeSet, bytes]] = {}
        self._in_force: dict[int, str] = {}

    def add(self, event: JudgeSet, line: bytes) -> None:
        """Take the copy's next judge."""
        self._by_id[event.id] = self._latest[event.data.hash] = event, line

    def of(self, event: AnyEvent, partition: int) -> tuple[JudgeSet, bytes] | None:
        """The judge to record before this event of the partition; None if it is recorded already.

        A judge in the copy may have been recorded with an answer in another partition.
        """
        found = self._by_id.get(event_id(event.requestid, "judge")) if event.requestid else None
        if found is None:
            named = (verdict.judge for verdict in _verdicts(event))
            found = next((self._latest[judge] for judge in named if judge in self._latest), None)
            if found is None or self._in_force.get(partition) == found[0].data.hash:
                return None
        self._in_force[partition] = found[0].data.hash
        return found


def _verdicts(event: AnyEvent) -> Sequence[Verdict]:
    """The verdicts that an event records, with its evidence or beside it."""
    return getattr(getattr(event.data, "evidence", event.data), "verdicts", None) or ()


def _require_reached(partition: int, reached: int, begin: int) -> None:
    if reached < begin:
        raise UsageError(
            f"partition {partition}: the store has what comes before offset {reached:,}, and the"
            f" topic begins at {begin:,}: what is between them is in neither. Name another store or"
            " export"
        )


def _require_overlap(partition: int, held: list[str], left: Mapping[str, str]) -> None:
    owned = [event_id for event_id, owner_id in left.items() if owner_id]
    if not owned:
        raise UsageError(
            f"partition {partition}: the topic has no owner's decisions left to compare, so nothing"
            " shows that the copy has all that was deleted: use a store that follows this topic"
        )
    if owned[0] not in set(held):
        raise UsageError(
            f"partition {partition}: the copy ends before the first decision that the topic still"
            " has, so decisions between them are in neither. Name another store or export"
        )
    after = held[held.index(owned[0]) :]
    if foreign := len(set(after) - left.keys()):
        raise UsageError(
            f"partition {partition}: the topic lacks {counted(foreign, 'decision')} that the copy"
            " has after the first that both have: the copy is of another history"
        )


def _kept_line(partition: int, record: Outgoing) -> bytes:
    headers = [[name, None if v is None else b64encode(v).decode()] for name, v in record.headers]
    key = None if record.key is None else b64encode(record.key).decode()
    return orjson.dumps([partition, key, b64encode(record.value).decode(), headers]) + b"\n"


@dataclass(frozen=True, slots=True)
class _Kept:
    """The file with all records of the new topic."""

    file: Path
    topic_id: str
    count: int
    replication: int
    partitions: list[RestoredPartition]

    @classmethod
    def read(cls, file: Path) -> _Kept:
        with file.open("rb") as lines:
            head = orjson.loads(next(lines))
        restored = [RestoredPartition(*numbers) for numbers in head["partitions"]]
        return cls(file, head["topic_id"], head["count"], head["replication"], restored)

    def records(self, topic: str) -> Iterator[Outgoing]:
        """The records, in the order of each partition."""
        with self.file.open("rb") as lines:
            for line in islice(lines, 1, None):
                partition, key, value, headers = orjson.loads(line)
                yield Outgoing(
                    topic,
                    b64decode(value),
                    None if key is None else b64decode(key),
                    tuple((name, None if v is None else b64decode(v)) for name, v in headers),
                    partition,
                )


# -- the new topic -------------------------------------------------------------------------------


async def _require_subset(
    connection: Connection, there: ExistingTopic | None, name: str, kept: _Kept
) -> None:
    """Require that a topic created since then contains nothing but kept records."""
    if there is None:
        return
    topics = Topics(connection.prefix, there.partitions)
    ids = {envelope_of(record.value).id for record in kept.records(name)}
    at = [topics.at("decisions", p) for p in range(there.partitions)]
    async with reader(connection, skips_deleted=True) as consumer:
        begins = await consumer.beginning_offsets(at)
        async for records, _, _ in read_to_end(consumer, begins, await ends_of(connection, at)):
            if any(envelope_of(record.value or b"").id not in ids for record in records):
                raise UsageError(
                    f"{kept.file} was left by an interrupted restoration, and {name} has other"
                    " decisions since: move the file away, and decide which of the two counts"
                )


async def _fill_anew(
    connection: Connection, kept: _Kept, there: ExistingTopic | None, progress: Progress
) -> None:
    topics = Topics(connection.prefix, kept.count)
    name = topics.name("decisions")
    if there is not None:
        await _delete(connection, name)
    await create_one(connection, topics, name, kept.replication)
    producers = [PartitionProducer(connection, topics, p) for p in range(topics.partitions)]
    try:
        for producer in producers:
            await producer.start()
        records, count = kept.records(name), 0
        total = sum(1 for _ in kept.records(name))
        while chunk := list(islice(records, AT_ONCE)):
            for producer in producers:
                mine = [record for record in chunk if record.partition == producer.partition]
                if mine:
                    await producer.publish((), mine, ())
            count += len(chunk)
            progress("published", count, total)
    finally:
        await asyncio.gather(*(producer.stop() for producer in producers))


async def _delete(connection: Connection, name: str) -> None:
    async with admin(connection) as client:
        answer = await client.delete_topics([name])
    for topic, code, *_ in answer.topic_error_codes:
        if code:
            raise TransientError(
                f"{topic} was not deleted: {for_code(code).__name__}. Its records are kept: repeat"
                " the command"
            )
    async with answering(connection):
        # Brokers do not notify.
        while (await read_metadata(connection, [name])).topics:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
