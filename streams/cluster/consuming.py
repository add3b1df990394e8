"""The consumer group's member: Faust's consumer mended, and what may be asked of it at any time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import faust
import faust.transport.drivers.aiokafka as driver
from faust.types import TP

from palimpsest.streams.cluster.following import WAIT_MILLISECONDS, stopping
from palimpsest.streams.cluster.metadata import retry_without_brokers

FAUST = logging.getLogger("faust")
"""For Faust's messages about our subclasses' steps, which it logs to their modules' loggers."""


class CommittedConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer, which reads only what producers have committed, and goes back to the start.

    After a rebalance Faust leaves a partition without an acknowledged offset where it was, and what
    it had fetched by then would be lost.
    """

    logger = FAUST

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        vars(consumer)["_isolation_level"] = "read_committed"
        vars(consumer)["_fetch_max_wait_ms"] = WAIT_MILLISECONDS
        retry_without_brokers(vars(consumer)["_client"])
        return consumer

    async def seek_to_committed(self) -> Any:
        """Called by Faust before records flow, and where it fetched some before they may."""
        found = await super().seek_to_committed()
        await self.call_thread(self._begin, [at for at, offset in found.items() if not offset])
        return found

    async def _begin(self, partitions: Sequence[Any]) -> None:
        consumer = self._ensure_consumer()
        for at in consumer.assignment() & set(partitions):
            consumer.seek(at, 0)

    def close(self) -> None:
        """Called by Faust in a rebalance while the worker ends: it does not join the group again.

        Faust closes the consumer then, on the event loop of another thread than the consumer's: of
        a connection that is closed under its reader, the process dies. The consumer's
        own thread closes it when it ends, and leaves the group.
        """
        coordinator = vars(self._ensure_consumer())["_coordinator"]

        async def wait_for_the_end(_: object) -> bool:
            await asyncio.wait([vars(coordinator)["_closing"]])
            return False

        vars(coordinator)["_do_rejoin_group"] = wait_for_the_end

    async def on_thread_stop(self) -> None:
        """Called by Faust on the consumer's thread at its end."""
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
    """A worker's part in its consumer group as it is now; nothing here waits or asks a broker."""

    def __init__(self, app: faust.App) -> None:
        self._app = app

    def assignment(self) -> set[TP]:
        """The partitions that the group gave it; none before it has begun."""
        return set() if self._aiokafka() is None else set(self._app.consumer.assignment())

    def positions(self) -> Mapping[TP, int]:
        """Up to where assigned partitions were fetched; one where that is not known is left out."""
        consumer = self._aiokafka()
        subscription = vars(consumer)["_subscription"].subscription if consumer else None
        assigned = subscription.assignment if subscription else None
        states = {at: assigned.state_value(at) for at in assigned.tps} if assigned else {}
        return {TP(*at): one.position for at, one in states.items() if one.has_valid_position}

    def held(self) -> int:
        """How many records of the present assignment came and are not acknowledged."""
        now = self._app.consumer_generation_id
        unacked = list(self._app.consumer.unacked)
        return sum(not one.acked and one.generation_id == now for one in unacked)

    def trouble(self) -> BaseException | None:
        """What ended its part in the group: aiokafka keeps it for a call that Faust never makes.

        It waits for that call, in no group and with no records, and would for ever.
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

    def _aiokafka(self) -> Any:
        """The consumer of aiokafka; None before there is one."""
        thread = vars(self._app.consumer).get("_thread")
        return thread and vars(thread).get("_consumer")
