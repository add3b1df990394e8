"""A bare transactional loop, which no worker can beat: `python -m bench.echo`.

It reads candidates, and publishes each as a decision without deciding. Its only argument is a JSON
object with its options. With `together`, a single producer publishes what waits in all partitions
in one transaction, so nothing fences a worker that has lost a partition.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

from bench.brokered import READY
from palimpsest.streams.cluster.topics import Topics


class _Writer:
    """A producer whose next transaction has what arrived during the last one."""

    def __init__(self, bootstrap: str, name: str, topic: str) -> None:
        self._topic = topic
        self._producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
        self._arrived: asyncio.Queue[ConsumerRecord[bytes, bytes]] = asyncio.Queue()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Publish what is put, until the block ends."""
        async with self._producer:
            publishing = asyncio.create_task(self._publish())
            try:
                yield
            finally:
                publishing.cancel()
                await asyncio.wait([publishing])

    def put(self, record: ConsumerRecord[bytes, bytes]) -> None:
        """Publish a record in the next transaction."""
        self._arrived.put_nowait(record)

    async def _publish(self) -> None:
        while True:
            some = [await self._arrived.get()]
            while not self._arrived.empty():
                some.append(self._arrived.get_nowait())
            async with self._producer.transaction():
                await asyncio.gather(*[await self._send(record) for record in some])

    async def _send(self, record: ConsumerRecord[bytes, bytes]) -> asyncio.Future[Any]:
        row = orjson.loads(record.value or b"")
        event = {"type": "palimpsest.decided.v1", "data": {"candidate": row}}
        value = orjson.dumps(event)
        sent: asyncio.Future[Any] = await self._producer.send(
            self._topic, value, record.key, record.partition
        )
        return sent


async def echo(bootstrap: str, topics: Topics, *, together: bool) -> None:
    """Run until killed."""
    partitions = range(topics.partitions)
    writers: Sequence[_Writer] = [
        _Writer(bootstrap, f"{topics.prefix}echo-{number}", topics.name("decisions"))
        for number in ([0] if together else partitions)
    ]
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    async with AsyncExitStack() as stack:
        for writer in writers:
            await stack.enter_async_context(writer.running())
        await stack.enter_async_context(consumer)
        consumer.assign([topics.at("candidates", partition) for partition in partitions])
        print(READY, flush=True)
        while True:
            found = await consumer.getmany(timeout_ms=1_000)
            for record in (record for records in found.values() for record in records):
                writers[0 if together else record.partition].put(record)


def main() -> None:
    """Echo until SIGTERM."""
    plan = orjson.loads(sys.argv[1])
    topics = Topics("", plan["partitions"])
    asyncio.run(echo(plan["bootstrap"], topics, together=plan["together"]))


if __name__ == "__main__":
    main()
