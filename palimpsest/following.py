"""`palimpsest project`: a store that follows a cluster's decisions, with both projections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from contracts.errors import StoreError, TransientError
from contracts.wire import Recorded
from palimpsest.paths import LOG_FILE, PROJECTIONS_FOLDER
from projections.changes import Changes
from projections.projector import Projector
from streams.cluster.connection import Connection
from streams.cluster.copy import Copy, Followed
from streams.cluster.following import Record, Records, TopicPartition, follow
from streams.cluster.records import letter_of
from streams.cluster.topics import Kind, Topics, topic_id
from streams.core.evolve import evolve
from streams.core.touched import Touched
from streams.embedded.dead_letters import DeadLetters
from streams.embedded.lock import WriterLock
from streams.embedded.owners import Owners
from streams.embedded.writer import Effect, no_effect

_log = logging.getLogger(__name__)
Result = TypeVar("Result")

LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.05
FOLLOWED: tuple[Kind, ...] = ("decisions", "dead_letters")


class Replica:
    """The store's side, on one thread: lines into the log, then rows into the projections."""

    def __init__(self, folder: Path, topics: Topics, effect: Effect = no_effect) -> None:
        self.log = Copy.create(folder / LOG_FILE)
        self._topics = topics
        self._letters = DeadLetters(self.log)
        self._owners = Owners(self.log)
        self._changes = Changes()
        self._projector = Projector(folder / PROJECTIONS_FOLDER, self.log, effect=effect)
        self._effect = effect
        for repair in self._projector.start().done:
            _log.warning("projections repaired from the log: %s", repair)

    def starts(self, identities: dict[str, str]) -> dict[TopicPartition, int]:
        """Where each partition goes on. StoreError where the store has other topics' decisions."""
        found: dict[TopicPartition, int] = {}
        for topic, identity in identities.items():
            for partition in range(self._topics.partitions):
                followed = self.log.followed(topic, partition)
                if followed is not None and followed.topic_id != identity:
                    raise StoreError(
                        f"this store follows another {topic} than the cluster has now (it was"
                        " deleted and made anew?): follow it with a new store"
                    )
                start = 0 if followed is None else followed.next_offset
                found[TopicPartition(topic, partition)] = start
        if self.log.head() and not any(found.values()):
            raise StoreError("this store has decisions of its own: follow a cluster with a new one")
        self._follow_from(found, identities)
        return found

    def _follow_from(self, starts: dict[TopicPartition, int], identities: dict[str, str]) -> None:
        """Record what is followed before anything came: nobody else may write from then on."""
        with self.log.transaction():
            for at, start in starts.items():
                self.log.follow(Followed(at.topic, at.partition, identities[at.topic], start))

    def take(self, records: Records, identities: dict[str, str]) -> None:
        """Write records, decisions first into the log and then into the projections."""
        decisions = [r for r in records if r.topic == self._topics.name("decisions")]
        letters = [r for r in records if r.topic != self._topics.name("decisions")]
        new = self.log.new_events([record.value or b"" for record in decisions])
        for event, _ in new:
            self._owners.get(event.owner_id)
        self._effect("replica:append")
        try:
            with self.log.transaction():
                folded = [self._folded(one) for one in self.log.take_over(new)]
                for letter in letters:
                    self._letters.add(*letter_of(tuple(letter.headers), letter.value or b""))
                for record in records:
                    self.log.follow(_followed(record, identities))
        except BaseException:
            self._owners.forget({event.owner_id for event, _ in new})
            raise
        self._effect("replica:committed")
        for one, touched in folded:
            self._changes.add(one.position, one.event, touched)
            self._owners.position = one.position
        rows = self._changes.take()
        if rows is not None:
            self._projector.submit(rows)
        self._owners.trim()

    def _folded(self, one: Recorded) -> tuple[Recorded, Touched]:
        """Fold an event; what waits for the judge because of it is in the same transaction."""
        touched = evolve(self._owners.get(one.event.owner_id).ledger, one.event)
        self.log.follow_texts(one.event.owner_id, touched.texts, one.position)
        return one, touched

    def positions(self) -> dict[str, int]:
        """How far each projection has come."""
        return self._projector.positions()

    def close(self) -> None:
        """Make everything visible, and let the files go."""
        self._projector.close()
        self.log.close()


async def _acquire(lock: WriterLock) -> None:
    """Take the writer's lock; whoever reads holds it for a moment, too, to mend projections."""
    deadline = asyncio.get_running_loop().time() + LOCK_SECONDS
    while not lock.try_acquire():
        if asyncio.get_running_loop().time() > deadline:
            raise TransientError("another process is writing to this store: try again later")
        await asyncio.sleep(LOCK_POLL_SECONDS)


def _followed(record: Record, identities: dict[str, str]) -> Followed:
    identity = identities[record.topic]
    return Followed(record.topic, record.partition, identity, record.offset + 1)


class Follower:
    """Consumes what a cluster decides into one store, until it is told to stop."""

    def __init__(
        self,
        folder: Path,
        connection: Connection,
        topics: Topics,
        told: Callable[[int], object] | None = None,
        effect: Effect = no_effect,
    ) -> None:
        self._folder = folder
        self._connection = connection
        self._topics = topics
        self._told = told
        self._effect = effect
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="replica")

    async def run(self, stop: asyncio.Event) -> None:
        """Follow until `stop` is set. TransientError where another process writes to the store."""
        lock = WriterLock(self._folder)
        await _acquire(lock)
        try:
            replica = await self._off_loop(Replica, self._folder, self._topics, self._effect)
            try:
                await self._follow(replica, stop)
            finally:
                await self._off_loop(replica.close)
        finally:
            lock.release()
            self._thread.shutdown()

    async def _follow(self, replica: Replica, stop: asyncio.Event) -> None:
        names = [self._topics.name(kind) for kind in FOLLOWED]
        identities = {name: await topic_id(self._connection, name) for name in names}
        starts = await self._off_loop(replica.starts, identities)

        async def take(records: Records) -> None:
            await self._off_loop(replica.take, records, identities)
            if self._told is not None:
                self._told(len(records))

        await follow(self._connection, starts, take, stop)

    async def _off_loop(self, function: Callable[..., Result], *arguments: object) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(function, *arguments))
