"""A worker's watchdog, which ends a worker that makes no progress although input waits."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from palimpsest.contracts.errors import PalimpsestError, StoreError, TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import answering, read_metadata
from palimpsest.streams.cluster.reader import reader
from palimpsest.streams.cluster.setup import RESTORE, expiring
from palimpsest.streams.cluster.tasks import is_cancelled
from palimpsest.streams.cluster.topics import Kind, Topics
from palimpsest.streams.cluster.worker.assigned_partition import INPUTS, acknowledged
from palimpsest.streams.cluster.worker.consumer import Member
from palimpsest.streams.cluster.worker.manager import PartitionManager
from palimpsest.streams.cluster.worker.metrics import Metrics

WATCHED: tuple[Kind, ...] = (*INPUTS, "decisions")
"""The topics that a worker's replicas and acknowledgements are bound to."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """The ends of the input topics' partitions, and the number of unacknowledged records.

    `identities` are the topics' ids by name, including the decisions'; missing topics have none.
    `decisions_begin` has the first offset of each partition of the decisions, and `expiring` the
    settings that let brokers delete decisions; None if they cannot be read.
    """

    ends: Mapping[TopicPartition, int]
    lag: Mapping[TopicPartition, int]
    identities: Mapping[str, str]
    decisions_begin: Mapping[int, int] = field(default_factory=dict)
    expiring: Sequence[str] | None = None


async def ask_waiting(connection: Connection, topics: Topics) -> Backlog:
    """Ask the brokers, with clients that are used only for this.

    TransientError if they do not answer within ten seconds.
    """
    found = (await read_metadata(connection, [topics.name(kind) for kind in WATCHED])).topics
    inputs = [
        topics.at(kind, partition)
        for kind in INPUTS
        if topics.name(kind) in found
        for partition in range(topics.partitions)
    ]
    there = topics.name("decisions") in found
    decisions = [topics.at("decisions", number) for number in range(topics.partitions) if there]
    async with answering(connection), reader(connection) as consumer:
        ends = await consumer.end_offsets(inputs)
        begins = await consumer.beginning_offsets([*inputs, *decisions])
    done = await acknowledged(connection, topics)
    read = {at: committed.offset for at, committed in done.items()}
    lag = {at: max(end - max(begins[at], read.get(at, 0)), 0) for at, end in ends.items()}
    return Backlog(
        ends,
        lag,
        {name: topic.topic_id for name, topic in found.items()},
        {at.partition: begins[at] for at in decisions},
        await _expiring(connection, topics) if there else None,
    )


async def _expiring(connection: Connection, topics: Topics) -> Sequence[str] | None:
    """The settings that let brokers delete decisions; None if we may not read settings."""
    try:
        return await expiring(connection, topics)
    except TransientError as error:
        _log.debug("the brokers do not tell the settings of the decisions: %s", error)
        return None


_log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
"""Interval of asking the brokers what waits."""
STUCK_SECONDS = 60.0
"""If input waits and nothing is done for this long, /healthz reports the worker as stuck."""
GIVE_UP_SECONDS = 600.0
"""After this long the worker ends, to be restarted; the slowest embedder's batches take less."""
YOUNG = 1
"""The oldest generation that is collected after each check, which takes milliseconds."""
TICK_SECONDS = 0.1
"""Interval of measuring the delay of the event loop."""


class Watch:
    """Checks periodically what waits, and how long there has been no progress.

    It counts checks, not seconds, because no progress is possible while brokers do not answer, or
    while this process is suspended. `failed` is called with the error that ends the worker.
    """

    def __init__(
        self,
        member: Member,
        manager: PartitionManager,
        metrics: Metrics,
        ask: Callable[[], Awaitable[Backlog]],
        failed: Callable[[BaseException], Awaitable[object]],
    ) -> None:
        self.metrics = metrics
        self._member = member
        self._manager = manager
        self._ask = ask
        self._failed = failed
        self._lag: Mapping[TopicPartition, int] = {}
        self._identities: dict[str, str] = {}
        self._steps = 0
        self._still = 0
        self._told: tuple[Sequence[int], Sequence[str]] = ((), ())

    def acknowledging(self, event: Any) -> Callable[[], object]:
        """A function that acknowledges an event, and notes it."""

        def acknowledge() -> None:
            event.ack()
            self.metrics.progress()

        return acknowledge

    def ready(self) -> bool:
        """Whether the worker is ready for every partition assigned by the group."""
        assigned = {tp.partition for tp in self._member.assignment()}
        return bool(assigned) and assigned == set(self._manager.partitions)

    def stuck(self) -> bool:
        """Whether input has waited for a minute, with no work done and no replica filled."""
        return self._still * LOOK_SECONDS >= STUCK_SECONDS

    # -- checking ----------------------------------------------------------------------------------

    async def look_loop(self) -> None:
        """Check for ever, or until an error must end the worker.

        The clients of each check are in reference cycles, which the garbage collector, configured
        to run rarely, would leave for hours.
        """
        while True:
            try:
                await self.look()
            except PalimpsestError as error:
                _log.error("the worker ends: %s", error)
                await self._failed(error)
                return
            gc.collect(YOUNG)
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Check once.

        Raises StoreError if a topic was recreated, and TransientError if the worker is no longer in
        its group, or has made no progress for `GIVE_UP_SECONDS`.
        """
        if (trouble := self._member.trouble()) is not None:
            raise TransientError(f"it is no longer in its group: {type(trouble).__name__}")
        waiting = await self._waiting()
        if waiting is None:
            self._still = 0
            return
        for name, identity in waiting.identities.items():
            if self._identities.setdefault(name, identity) != identity:
                raise StoreError(f"{name} was deleted and recreated: restart the worker")
        self._tell_deletions(waiting)
        self._lag = waiting.lag
        done, self._steps = self._steps != self.metrics.steps, self.metrics.steps
        self._still = 0 if done or not self._waits(waiting) else self._still + 1
        if self._still * LOOK_SECONDS >= GIVE_UP_SECONDS:
            raise TransientError(f"input waits, without progress for {GIVE_UP_SECONDS:.0f} s")

    async def _waiting(self) -> Backlog | None:
        """What waits at the brokers; None if they do not answer, and no progress is possible."""
        try:
            return await self._ask()
        except asyncio.CancelledError:
            if is_cancelled():
                raise
        except (TransientError, KafkaError) as error:
            _log.debug("the brokers do not say what waits: %s", error)
        return None

    def _tell_deletions(self, waiting: Backlog) -> None:
        """Report decisions that brokers deleted or will delete; logged when that changes."""
        for partition, begin in waiting.decisions_begin.items():
            self.metrics.set("palimpsest_decisions_begin", begin, str(partition))
        if waiting.expiring is not None:
            self.metrics.set("palimpsest_decisions_expire", bool(waiting.expiring))
        deleted = [number for number, begin in waiting.decisions_begin.items() if begin]
        told = (tuple(deleted), tuple(waiting.expiring or ()))
        if told == self._told:
            return
        self._told = told
        if deleted:
            names = ", ".join(map(str, deleted))
            _log.error("the brokers deleted decisions of the partitions %s: %s", names, RESTORE)
        for setting in waiting.expiring or ():
            _log.error("the brokers will delete decisions: %s: palimpsest topics check", setting)

    def _waits(self, waiting: Backlog) -> bool:
        """Whether something waits for this worker.

        A completely fetched partition may end in records that cannot be acknowledged: transaction
        markers, and aborted records.
        """
        fetched = self._member.positions()
        return self._member.held() > 0 or any(
            waiting.lag.get(tp, 0) > 0 and fetched.get(tp, 0) < waiting.ends[tp]
            for tp in self._member.assignment()
        )

    # -- figures -----------------------------------------------------------------------------------

    async def watch_loop(self) -> None:
        """Measure the delay of the event loop, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            late = max(loop.time() - due, 0.0)
            self.metrics.observe("palimpsest_event_loop_lag_seconds", late)

    def figures(self) -> bytes:
        """All current metrics."""
        self.metrics.set("palimpsest_partitions", len(self._manager.partitions))
        self.metrics.set("palimpsest_owners_in_memory", self._manager.owners_in_memory)
        self.metrics.set("palimpsest_records_held", self._member.held())
        self.metrics.forget_lag()
        for tp, waiting in self._lag.items():
            self.metrics.set("palimpsest_lag", waiting, tp.topic, str(tp.partition))
        return self.metrics.text()
