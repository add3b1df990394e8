"""A steady stream of candidates from a producer that sends everything twice and out of order.

Some of what it sends cannot be read: the same bytes again and again, and others.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import orjson
from aiokafka import AIOKafkaProducer

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics, partition_of
from tests.reliability.rows import rows

CHUNK = 12
EVERY = 3
"""One chunk in this number has a row that cannot be read."""
Row = dict[str, Any]


class Load:
    """Publishes on a thread of its own until it is told to stop; as a context it is stopped."""

    def __init__(
        self, connection: Connection, topics: Topics, seed: int = 3, pause: float = 0.06
    ) -> None:
        self._connection = connection
        self._topics = topics
        self._pause = pause
        self._rows = rows(20_000, owners=9, seed=seed)
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="load")
        self.sent = 0

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Send what was begun, and end; raises what went wrong on the thread."""
        self._stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive(), "the producer could not send within two minutes"
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._publish())
        except BaseException as error:  # noqa: BLE001 - told by `stop`
            self._failure = error

    async def _publish(self) -> None:
        producer = AIOKafkaProducer(
            **self._connection.arguments(), enable_idempotence=True, acks="all"
        )
        await producer.start()
        try:
            before: Sequence[Row | bytes] = ()
            for start in range(0, len(self._rows), CHUNK):
                if self._stop.is_set():
                    break
                now: Sequence[Row | bytes] = [
                    *self._rows[start : start + CHUNK],
                    *_unreadable(start // CHUNK),
                ]
                await self._send(producer, [*now, *reversed(before)])
                before = now
                await asyncio.sleep(self._pause)
            await self._send(producer, before)
        finally:
            await producer.stop()

    async def _send(self, producer: AIOKafkaProducer, some: Sequence[Row | bytes]) -> None:
        waiting = [await producer.send(*self._record(row)) for row in some]
        await asyncio.gather(*waiting)
        self.sent += len(some)

    def _record(self, row: Row | bytes) -> tuple[str, bytes, bytes, int]:
        owner: str = "nobody" if isinstance(row, bytes) else row["owner_id"]
        partition = partition_of(owner, self._topics.partitions)
        value = row if isinstance(row, bytes) else orjson.dumps(row)
        return self._topics.name("candidates"), value, owner.encode(), partition


def _unreadable(chunk: int) -> list[bytes]:
    return [] if chunk % EVERY else [b"no json", b"no json %d" % chunk]


def publish(
    connection: Connection,
    topics: Topics,
    raw: Sequence[tuple[int, bytes | None, Any, Any]],
    **more: Any,
) -> None:
    """Send records as they are: partition, key, value, headers."""

    async def send() -> None:
        arguments = connection.arguments() | more
        producer = AIOKafkaProducer(**arguments, max_request_size=32 * 1024 * 1024)
        await producer.start()
        try:
            for partition, key, value, headers in raw:
                topic = topics.name("candidates")
                await producer.send_and_wait(topic, value, key, partition, headers=headers)
        finally:
            await producer.stop()

    asyncio.run(send())
