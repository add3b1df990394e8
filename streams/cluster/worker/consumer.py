"""The worker's member of the consumer group: a repaired Faust consumer, and its state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Set
from typing import Any, Protocol

import faust
import faust.transport.drivers.aiokafka as driver
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata
from faust.types import TP

from palimpsest.streams.cluster.metadata import retry_without_brokers
from palimpsest.streams.cluster.reader import WAIT_MILLISECONDS, Offsets, pace_fetches, stopping
from palimpsest.streams.cluster.unpacking import bytes_at_once, size_of
from palimpsest.streams.cluster.worker.leave_group import leave_to_standby

LEAVE_SECONDS = 2.0
FETCHED_BYTES = 8 * 1024 * 1024
"""Maximum bytes of records that Faust takes at once; the last of them may exceed it."""
MOST_HELD_BYTES = 64 * 1024 * 1024
"""Maximum bytes of unacknowledged records. Faust only limits their number: 4,096 of 1 MiB would be
4 GiB."""
FULL_SECONDS = 0.05
"""Interval of checks while that limit is exceeded, or a partition is full."""
_log = logging.getLogger(__name__)
FAUST = logging.getLogger("faust")
"""The logger of our subclasses of Faust's classes: Faust would log its messages about them to their
modules' loggers, as if they were ours."""


class Inputs(Protocol):
    """The input topics of an assignment."""

    starts: Offsets
    """The next offset of each partition."""
    input_ids: Mapping[str, str]
    """The topics' ids by name."""

    def full(self) -> Set[TopicPartition]:
        """The partitions of which enough records wait."""


class CommittedConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer, which reads only committed records, and starts at the first undecided one.

    After a rebalance, Faust leaves a partition without an acknowledged offset where it was, and
    records already fetched would be lost. An acknowledged offset beyond that start was not set by
    a worker, and is ignored.
    """

    logger = FAUST
    _fetched_bytes = 0
    """The bytes of fetched records; it counts at least all that are not acknowledged."""

    async def getmany(
        self,
        active_partitions: set[TP] | None,
        timeout: float,  # noqa: ASYNC109 - Faust's
    ) -> Any:
        """Called by Faust for more records; none come while those it holds have too many bytes.

        Nor do any of partitions of which enough wait, such as those that wait for the model: what
        Faust holds is delivered in order, whatever partition it is of, so the others would wait,
        too. Faust's own pauses would drop records that were fetched already.
        """
        if self._fetched_bytes > MOST_HELD_BYTES:
            held = [message for message in list(self.consumer.unacked) if not message.acked]
            self._fetched_bytes = sum(map(size_of, held))
            if self._fetched_bytes > MOST_HELD_BYTES:
                await asyncio.sleep(FULL_SECONDS)
                return {}
        if active_partitions and (full := self._inputs().full()):
            active_partitions = {at for at in active_partitions if at not in full}
            if not active_partitions:  # aiokafka would take that for all of them
                await asyncio.sleep(FULL_SECONDS)
                return {}
            timeout = min(timeout, FULL_SECONDS)
        found = await super().getmany(active_partitions, timeout)
        for records in found.values():
            self._fetched_bytes += sum(map(size_of, records))
        return found

    async def _fetch_records(self, *args: Any, **named: Any) -> Any:
        """Called by Faust on the consumer's thread: what was fetched is unpacked here."""
        with bytes_at_once(FETCHED_BYTES):
            return await super()._fetch_records(*args, **named)

    def _inputs(self) -> Inputs:
        inputs: Inputs = vars(self.app)["manager"]
        return inputs

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        vars(consumer)["_isolation_level"] = "read_committed"
        vars(consumer)["_fetch_max_wait_ms"] = WAIT_MILLISECONDS
        retry_without_brokers(vars(consumer)["_client"])
        pace_fetches(vars(consumer)["_client"])
        commit = consumer.commit

        async def commit_with_ids(offsets: Mapping[Any, OffsetAndMetadata]) -> None:
            """Add the topics' ids, so that the next assignment recognises the offsets as ours."""
            ids = self._inputs().input_ids
            await commit(
                {
                    at: OffsetAndMetadata(committed.offset, ids.get(at.topic, ""))
                    for at, committed in offsets.items()
                }
            )

        vars(consumer)["commit"] = commit_with_ids
        return consumer

    async def seek_to_committed(self) -> Any:
        """Called by Faust before records flow, and after it fetched some too early."""
        found = {at: offset or 0 for at, offset in (await super().seek_to_committed()).items()}
        starts = self._inputs().starts
        begin = {at: min(offset, starts.get(at, offset)) for at, offset in found.items()}
        await self.call_thread(
            self._seek_back, {at: n for at, n in begin.items() if not n or n < found[at]}
        )
        return begin

    async def _seek_back(self, offsets: Offsets) -> None:
        consumer = self._ensure_consumer()
        for at in consumer.assignment() & set(offsets):
            consumer.seek(at, offsets[at])

    def close(self) -> None:
        """Called by Faust in a rebalance while the worker ends: do not join the group again.

        Faust would close the consumer on another thread's event loop; closing a connection under
        its reader kills the process. The consumer's own thread closes it when it ends, and leaves
        the group.
        """
        coordinator = vars(self._ensure_consumer())["_coordinator"]

        async def wait_for_the_end(_: object) -> bool:
            await asyncio.wait([vars(coordinator)["_closing"]])
            return False

        vars(coordinator)["_do_rejoin_group"] = wait_for_the_end

    async def leave_to_standby(self) -> bool:
        """Leave the group if another worker stands by; return whether it did.

        After that, no offset can be committed. If it cannot leave, because the brokers are away or
        older than Kafka 2.4, its session expires instead.
        """
        left: bool = await self.call_thread(self._leave_to_standby)
        return left

    async def _leave_to_standby(self) -> bool:
        coordinator = vars(self._ensure_consumer())["_coordinator"]
        try:
            left = await asyncio.wait_for(leave_to_standby(coordinator), LEAVE_SECONDS)
        except (KafkaError, NotImplementedError, TimeoutError) as error:
            _log.warning("the worker leaves its group only when its session ends: %r", error)
            return False
        if left:
            self.close()
        return left

    async def on_thread_stop(self) -> None:
        """Called by Faust on the consumer's thread when it ends."""
        if self._consumer is None:
            await super().on_thread_stop()
            return
        async with stopping(self._consumer):
            await super().on_thread_stop()

    async def join_again(self) -> None:
        """Trigger a new assignment of the group's partitions."""
        await self.call_thread(self._ask_to_join_again)

    async def _ask_to_join_again(self) -> None:
        vars(self._ensure_consumer())["_coordinator"].request_rejoin()


class Member:
    """A worker's current membership in its consumer group; only coroutines ask a broker."""

    def __init__(self, app: faust.App) -> None:
        self._app = app

    def assignment(self) -> set[TP]:
        """The partitions assigned by the group; empty before the first assignment."""
        return set() if self._aiokafka() is None else set(self._app.consumer.assignment())

    def positions(self) -> Mapping[TP, int]:
        """The fetch positions of assigned partitions; unknown ones are left out."""
        consumer = self._aiokafka()
        subscription = vars(consumer)["_subscription"].subscription if consumer else None
        assigned = subscription.assignment if subscription else None
        states = {at: assigned.state_value(at) for at in assigned.tps} if assigned else {}
        return {TP(*at): state.position for at, state in states.items() if state.has_valid_position}

    def held(self) -> int:
        """The number of unacknowledged records of the current assignment."""
        now = self._app.consumer_generation_id
        unacked = list(self._app.consumer.unacked)
        return sum(not message.acked and message.generation_id == now for message in unacked)

    def trouble(self) -> BaseException | None:
        """The error that ended its membership: aiokafka keeps it for a call that Faust never makes.

        Without a check, the worker would wait for ever, outside the group and without records.
        """
        consumer = self._aiokafka()
        coordinator = vars(consumer).get("_coordinator") if consumer else None
        if coordinator is None:
            return None
        pending: BaseException | None = vars(coordinator)["_pending_exception"]
        running = vars(coordinator)["_coordination_task"]
        ended = running.done() and not running.cancelled()
        return running.exception() if ended else pending

    async def join_again(self) -> None:
        """Trigger a new assignment of the group's partitions."""
        await vars(self._app.consumer)["_thread"].join_again()

    async def leave_to_standby(self) -> None:
        """Commit acknowledged offsets, and leave the group if another worker stands by."""
        if self.assignment():
            await self._app.consumer.commit()
            if await vars(self._app.consumer)["_thread"].leave_to_standby():
                _log.info("left the group: a standby takes over")

    def _aiokafka(self) -> Any:
        """The consumer of aiokafka; None before there is one."""
        thread = vars(self._app.consumer).get("_thread")
        return thread and vars(thread).get("_consumer")
