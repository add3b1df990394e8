"""`palimpsest project`: a store that follows a cluster's decisions, with its projections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from palimpsest.backends.paths import LOG_FILE, PROJECTIONS_FOLDER
from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.contracts.events import AnyEvent, PolicySet
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.base.changes import RowChanges
from palimpsest.projections.projector import Projector
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import BrokersAwayError, answering
from palimpsest.streams.cluster.reader import (
    Offsets,
    Records,
    TopicPartition,
    follow,
    reader,
    recreated_error,
    require_kept,
)
from palimpsest.streams.cluster.records import dead_letter_of
from palimpsest.streams.cluster.tasks import StoppedError, unless
from palimpsest.streams.cluster.topics import Kind, Topics, topic_id
from palimpsest.streams.cluster.worker.replica import Followed, Replica
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.models import no_longer_unembedded
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.writer import Effect, no_effect

_log = logging.getLogger(__name__)
Result = TypeVar("Result")

LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.05
RETRY_SECONDS = 0.5
CHECK_SECONDS = 10.0
"""Interval between checks for recreated topics while records arrive: once a recreated topic has
more records than were followed, offsets alone do not reveal it."""
FOLLOWED: tuple[Kind, ...] = ("decisions", "dead_letters")


class ProjectedReplica:
    """The store's side, on one thread: writes lines to the log, then rows to the projections."""

    def __init__(
        self,
        folder: Path,
        topics: Topics,
        effect: Effect = no_effect,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.log = Replica.create(folder / LOG_FILE)
        self._topics = topics
        self._dead_letters = DeadLetters(self.log)
        self._owners = Owners(self.log)
        self._changes = RowChanges()
        source = _Stoppable(self.log, stopped)
        self._projector = Projector(folder / PROJECTIONS_FOLDER, source, effect=effect)
        self._effect = effect
        try:
            repairs = self._projector.start().done
        except BaseException:
            self.close()
            raise
        for repair in repairs:
            _log.warning("projections repaired from the log: %s", repair)

    def starts(self, identities: Mapping[str, str]) -> dict[TopicPartition, int]:
        """The offsets to continue at.

        Raises StoreError if a topic was recreated, or if the store has decisions from elsewhere
        than these topics.
        """
        found: dict[TopicPartition, int] = {}
        for topic, identity in identities.items():
            for partition in range(self._topics.partitions):
                followed = self.log.followed(topic, partition)
                if followed is not None and followed.topic_id != identity:
                    raise StoreError(recreated_error(topic))
                start = 0 if followed is None else followed.next_offset
                found[TopicPartition(topic, partition)] = start
        if self.log.head() and not any(found.values()):
            row = self.log.row("SELECT topic FROM followed LIMIT 1")
            what = f"decisions of other topics, such as {row[0]}" if row else "decisions of its own"
            raise StoreError(f"this store has {what}: follow a cluster with a new one")
        # Before the first record, because from now on nobody else may write.
        with self.log.transaction():
            self._follow_from(found, identities)
        return found

    def _follow_from(self, offsets: Offsets, identities: Mapping[str, str]) -> None:
        for at, offset in offsets.items():
            self.log.follow(Followed(at.topic, at.partition, identities[at.topic], offset))

    def take(self, records: Records, at: Offsets, identities: Mapping[str, str]) -> None:
        """Write decisions, dead letters and offsets to the log, then decisions to the projections.

        The log is written in one transaction. `at` has the next offsets of the partitions that have
        advanced. Raises StoreError if a line is invalid, or an event is about something unknown.
        """
        decisions = [r for r in records if r.topic == self._topics.name("decisions")]
        letters = [r for r in records if r.topic != self._topics.name("decisions")]
        new = self.log.new_events([record.value or b"" for record in decisions])
        for event, _ in new:
            self._owners.get(event.owner_id)
        self._effect("replica:append")
        try:
            with self.log.transaction():
                folded = [self._folded(line) for line in self.log.take_over(new)]
                for record in letters:
                    letter = dead_letter_of(tuple(record.headers), record.value or b"")
                    self._dead_letters.follow(letter)
                self._follow_from(at, identities)
        except BaseException:
            self._owners.forget({event.owner_id for event, _ in new})
            raise
        self._effect("replica:committed")
        self._project(folded)

    def _project(self, folded: Sequence[tuple[Recorded, Touched]]) -> None:
        if any(_changes_models(line.event) for line, _ in folded):
            self._owners.catch_up()
            self._changes = RowChanges()
            self._projector.start()  # the event changes rows of every owner
            return
        for line, touched in folded:
            self._changes.add(line.position, line.event, touched)
            self._owners.position = line.position
        rows = self._changes.take()
        if rows is not None:
            self._projector.submit(rows)
        self._owners.trim()

    def _folded(self, line: Recorded) -> tuple[Recorded, Touched]:
        """Fold an event; its questions to the judge are recorded in the same transaction."""
        if _changes_models(line.event):
            return line, self._renewed(line)
        try:
            touched = evolve(self._owners.get(line.event.owner_id).ledger, line.event)
        except KeyError as error:
            raise StoreError(
                f"the event {line.event.id} of the decisions names {error}, which no earlier event"
                " of its owner created: another program wrote to the topic, or records are gone"
            ) from error
        self.log.follow_touched(line.event.owner_id, touched, line.position)
        return line, touched

    def _renewed(self, line: Recorded) -> Touched:
        """Note texts that now have a vector of another model; ledgers fold the event later."""
        touched, event = Touched(), line.event
        assert isinstance(event, PolicySet)
        for owner_id in self.log.verifications.owners_unembedded():
            ledger = self._owners.get(owner_id).ledger
            touched.unembedded |= no_longer_unembedded(ledger, event.data.policy["model"])
        self.log.follow_touched(event.owner_id, touched, line.position)
        return touched

    def close(self) -> None:
        """Flush the projections and close the files."""
        try:
            self._projector.close()
        finally:
            self.log.close()


def _changes_models(event: AnyEvent) -> bool:
    return isinstance(event, PolicySet) and event.data.changes_models


async def _acquire(lock: WriterLock) -> None:
    """Acquire the writer's lock; readers also hold it briefly, to repair projections."""
    deadline = asyncio.get_running_loop().time() + LOCK_SECONDS
    while not lock.try_acquire():
        if asyncio.get_running_loop().time() > deadline:
            raise TransientError("another process is writing to this store: try again later")
        await asyncio.sleep(LOCK_POLL_SECONDS)


class _Stoppable:
    """The log as read for repairs of projections, which can be stopped between owners."""

    def __init__(self, log: Log, stopped: Callable[[], bool]) -> None:
        self._log = log
        self._stopped = stopped
        self.head = log.head
        self.owners = log.owners
        self.owners_since = log.owners_since

    def of_owner(self, owner_id: str, *, upto: int | None = None) -> Iterator[Recorded]:
        if self._stopped():
            raise StoppedError
        return self._log.of_owner(owner_id, upto=upto)


class _RecreationCheck:
    """Checks that no followed topic was recreated, at most once every `CHECK_SECONDS`."""

    def __init__(
        self, ask: Callable[[], Awaitable[Mapping[str, str]]], known: Mapping[str, str]
    ) -> None:
        self._ask = ask
        self._known = known
        self._checked = asyncio.get_running_loop().time()

    async def check(self) -> None:
        """Raise StoreError if a topic was recreated.

        If no broker answers, the next call checks again.
        """
        now = asyncio.get_running_loop().time()
        if now - self._checked < CHECK_SECONDS:
            return
        with suppress(TransientError):
            for topic, identity in (await self._ask()).items():
                if self._known[topic] != identity:
                    raise StoreError(recreated_error(topic))
            self._checked = now


class Follower:
    """Consumes a cluster's decisions into one store until it is stopped."""

    def __init__(
        self,
        folder: Path,
        connection: Connection,
        topics: Topics,
        on_progress: Callable[[int, Offsets], object] = lambda _records, _at: None,
        effect: Effect = no_effect,
    ) -> None:
        self._folder = folder
        self._connection = connection
        self._topics = topics
        self._on_progress = on_progress
        self._effect = effect
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="replica")

    async def run(self, stop: asyncio.Event) -> None:
        """Follow until `stop` is set.

        A new store begins to follow these topics. Raises TransientError if another process writes
        to the store; StoreError if the store has decisions from elsewhere, or if a topic was
        recreated; and DecisionsDeletedError if the brokers deleted decisions before they were read.
        """
        lock = WriterLock(self._folder)
        try:
            with suppress(StoppedError):
                await unless(stop, _acquire(lock))
                await self._run_with_replica(stop)
        finally:
            lock.release()
            self._thread.shutdown()

    async def _run_with_replica(self, stop: asyncio.Event) -> None:
        replica = await self._off_loop(
            ProjectedReplica, self._folder, self._topics, self._effect, stop.is_set
        )
        try:
            await self._follow(replica, stop)
        finally:
            await self._off_loop(replica.close)

    async def _follow(self, replica: ProjectedReplica, stop: asyncio.Event) -> None:
        identities, starts = await unless(stop, self._begin(replica))
        self._on_progress(0, starts)
        decisions = self._topics.name("decisions")
        begins = (f"{at.partition}: {n:,}" for at, n in starts.items() if at.topic == decisions)
        _log.info("follows %s into %s, from %s", decisions, self._folder, ", ".join(begins))

        recreation = _RecreationCheck(self._identities, identities)

        async def take(records: Records, at: Offsets) -> None:
            await recreation.check()
            await self._off_loop(replica.take, records, at, identities)
            self._on_progress(len(records), at)

        await follow(self._connection, starts, take, stop)

    async def _begin(
        self, replica: ProjectedReplica
    ) -> tuple[dict[str, str], dict[TopicPartition, int]]:
        """The topics' ids, and the offset of each partition; waits until a broker answers."""
        is_told = False
        while True:
            try:
                identities = await self._identities()
                starts = await self._off_loop(replica.starts, identities)
                await self._require_kept(starts)
            except BrokersAwayError as error:
                if not is_told:
                    _log.warning("%s; waiting for one", error)
                is_told = True
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return identities, starts

    async def _require_kept(self, starts: dict[TopicPartition, int]) -> None:
        """Raise DecisionsDeletedError if decisions are gone; skip dead letters that are gone."""
        async with answering(self._connection), reader(self._connection) as consumer:
            begins = await consumer.beginning_offsets(list(starts))
        decisions = self._topics.name("decisions")
        require_kept({at: n for at, n in starts.items() if at.topic == decisions}, begins)
        for at in [at for at, start in starts.items() if begins[at] > start]:
            _log.warning(
                "%s/%d: records before offset %d were deleted, and are skipped", *at, begins[at]
            )
            starts[at] = begins[at]

    async def _identities(self) -> dict[str, str]:
        names = [self._topics.name(kind) for kind in FOLLOWED]
        return {name: await topic_id(self._connection, name) for name in names}

    async def _off_loop(self, function: Callable[..., Result], *arguments: object) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(function, *arguments))
