"""A partition's transactional producer: decisions, dead letters and answers in one transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Self

import aiokafka.producer.sender as sending
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    IllegalOperation,
    InvalidTimestampError,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartitionError,
)

from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import (
    BrokersAwayError,
    NotPermittedError,
    read_metadata,
    retry_without_brokers,
)
from palimpsest.streams.cluster.records import Outgoing, decision_record, done_with
from palimpsest.streams.cluster.topics import LARGEST, Kind, Topics
from palimpsest.streams.log.log import Lines
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.writer import Effect, no_effect

_log = logging.getLogger(__name__)

BATCH_BYTES = 256 * 1024
"""aiokafka sends one batch of a partition at a time, so small ones would wait for each other."""
REQUEST_BYTES = LARGEST
TRANSACTION_SECONDS = 60
OWN: tuple[Kind, ...] = ("decisions", "dead_letters", "verifications")
"""Topics in which a partition's writer writes only to its own partition."""
MOST_UNSHOWN = 3
"""How often the brokers may answer that there is no such topic; before each of these answers, the
client has asked in vain for 40 s."""
NEXT_SECONDS = 0.005
"""Pause before a transaction's first request is retried because the brokers are still ending the
last transaction, which takes them a few milliseconds; aiokafka would wait for 20 ms."""
UNKNOWN = -1
"""The offset that brokers report for a batch that they already have."""


Publish = Callable[[Lines, Sequence[Outgoing], Sequence[InputOffset]], int | None]
"""Sends events, other records and completed input offsets in one transaction of the brokers.

Returns, once they have it, the offset after the last event's; None if there was no event, or it was
not reported.
"""
PublishAsync = Callable[
    [Lines, Sequence[Outgoing], Sequence[InputOffset]], Coroutine[Any, Any, int | None]
]
"""Like `Publish`, on the event loop."""


class PartitionProducer:
    """The only producer of a partition's decisions; starting it fences the previous one."""

    def __init__(
        self, connection: Connection, topics: Topics, partition: int, effect: Effect = no_effect
    ) -> None:
        self.partition = partition
        self._connection = connection
        self._topics = topics
        self._decisions = topics.name("decisions")
        self._effect = effect
        self._next_offset = 0
        self._transactional_id = f"{topics.prefix}palimpsest-writer-{partition}"
        vars(sending)["BACKOFF_OVERRIDE"] = NEXT_SECONDS
        self._producer = AIOKafkaProducer(
            **connection.arguments(),
            transactional_id=self._transactional_id,
            acks="all",
            max_batch_size=BATCH_BYTES,
            max_request_size=REQUEST_BYTES,
            transaction_timeout_ms=TRANSACTION_SECONDS * 1000,
        )

    async def start(self) -> Self:
        """Fence the former writer, and end its open transaction.

        Raises NotPermittedError if the brokers do not allow its transactional id, or KafkaError.
        """
        retry_without_brokers(self._producer.client)
        try:
            await self._producer.start()
        except TransactionalIdAuthorizationFailed:
            raise NotPermittedError(
                f"Write on the transactional id {self._transactional_id}"
            ) from None
        await self._end_what_is_open()
        return self

    async def _end_what_is_open(self) -> None:
        """Commit an empty transaction in each partition that the former writer may have used.

        Its uncommitted records have been dropped. But a committed transaction may not have been
        ended in some partitions, because a broker was away: its records there stay open until the
        next transaction ends, and decisions would be made without them.
        """
        async with self._producer.transaction():
            for at in self._written():
                vars(self._producer)["_txn_manager"].maybe_add_partition_to_txn(at)

    def _written(self) -> Iterator[TopicPartition]:
        """The partitions that this partition's writer may write to."""
        for kind in OWN:
            yield self._topics.at(kind, self.partition)
        yield self._topics.at("policies", 0)
        for partition in range(self._topics.partitions):
            yield self._topics.at("answers", partition)

    async def stop(self) -> None:
        """Disconnect."""
        await self._producer.stop()

    def continue_at(self, next_offset: int) -> None:
        """Expect the next decision at this offset or later: the topic must not start over."""
        self._next_offset = next_offset

    async def publish(
        self, lines: Lines, others: Sequence[Outgoing], done: Sequence[InputOffset]
    ) -> int | None:
        """Send one transaction, and wait until it is committed.

        Returns the offset after its last decision; None if there is none, or it is unknown. Raises
        ProducerFenced if another writer of the partition has started; StoreError, with nothing
        published, if the decisions topic was deleted and recreated; and TransientError if this
        machine's clock is wrong, or the brokers no longer show one of the topics.
        """
        try:
            return await self._send(self._records(lines, done), others)
        except ProducerFenced:
            _log.error(
                "partition %d has another writer: this worker was stopped for longer than its"
                " session, or another one has its --instance",
                self.partition,
            )
            raise
        except InvalidTimestampError:
            raise TransientError(
                f"the brokers refuse the time of our records: the clock of this machine says"
                f" {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, further from theirs than they allow"
                " (message.timestamp.after.max.ms, by default an hour ahead). Set the clock, and"
                " start again: nothing was published, and the input waits"
            ) from None

    def _records(self, lines: Lines, done: Sequence[InputOffset]) -> list[Outgoing]:
        records = [decision_record(self._decisions, event, line) for event, line in lines[:-1]]
        for event, line in lines[-1:]:
            records.append(decision_record(self._decisions, event, line, done_with(done)))
        return records

    async def _send(self, decisions: Sequence[Outgoing], others: Sequence[Outgoing]) -> int | None:
        for topic in sorted({record.topic for record in (*decisions, *others)}):
            await self._wait_for_topic(topic)
        self._effect("transaction:begin")
        try:
            async with self._producer.transaction():
                sent = [await self._send_one(record) for record in [*decisions, *others]]
                answers: list[Any] = await asyncio.gather(*sent)
                offsets = [answer.offset for answer in answers[: len(decisions)]]
                if any(UNKNOWN < offset < self._next_offset for offset in offsets):
                    raise StoreError(f"{self._decisions} goes back: it was deleted and recreated")
                self._effect("transaction:sent")
        except IllegalOperation:
            # The transaction ended between two records, and the client knows why.
            await vars(self._producer)["_txn_manager"].wait_for_transaction_end()
            raise
        self._effect("transaction:committed")
        last = offsets[-1] if offsets else UNKNOWN
        if last == UNKNOWN:
            return None
        self._next_offset = last + 1
        return self._next_offset

    async def _wait_for_topic(self, topic: str) -> None:
        """Wait until the client knows a topic: a transaction could time out during this wait.

        The client asks for each topic at its first record, and reports it as missing if brokers
        hang for longer than 40 s. Raises TransientError if they answer but do not show the topic.
        """
        unshown = 0
        has_warned = False
        while True:
            try:
                await self._producer.partitions_for(topic)
            except UnknownTopicOrPartitionError:
                if not has_warned:
                    _log.warning(
                        "the brokers do not show the topic %s: partition %d waits for it",
                        topic,
                        self.partition,
                    )
                has_warned = True
            else:
                return
            if await self._is_unshown(topic):
                unshown += 1
            if unshown == MOST_UNSHOWN:
                raise TransientError(
                    f"the brokers answer, and do not show the topic {topic}: palimpsest topics"
                    " check says what is there. Nothing was published, and the input waits"
                )

    async def _is_unshown(self, topic: str) -> bool:
        """Whether the brokers answer but do not show the topic, or only with an error."""
        try:
            found = await read_metadata(self._connection, [topic])
        except BrokersAwayError:
            return False
        except StoreError:
            return True
        return topic not in found.topics

    async def _send_one(self, record: Outgoing) -> asyncio.Future[Any]:
        headers = list(record.headers)
        partition = self.partition if record.partition is None else record.partition
        future: asyncio.Future[Any] = await self._producer.send(
            record.topic, record.value, record.key, partition=partition, headers=headers
        )
        return future
