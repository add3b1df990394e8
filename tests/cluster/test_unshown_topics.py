"""A client that gives up the metadata of a topic: its brokers hang, or show no such topic."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from infra.broker import Broker
from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster import metadata
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Outgoing
from palimpsest.streams.cluster.setup import create
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from tests.cluster.cluster import PATIENCE
from tests.cluster.test_topics import delete
from tests.cluster.verifier import read_topic

PARTITIONS = 2
WAITS = "waits for it"


def give_up_after(producer: PartitionProducer, seconds: float) -> None:
    """Set the patience of its client, which is 40 seconds, and of the connections that it has."""
    client = vars(producer)["_producer"].client
    vars(client)["_request_timeout_ms"] = int(seconds * 1000)
    for connected in vars(client)["_conns"].values():
        connected._request_timeout = seconds


@asynccontextmanager
async def started(connection: Connection, topics: Topics) -> AsyncIterator[PartitionProducer]:
    """A producer whose client knows no topic, as after a start at which it had to ask once."""
    producer = PartitionProducer(connection, topics, 1)
    await producer.start()
    vars(vars(producer)["_producer"].client.cluster)["_partitions"] = {}
    try:
        yield producer
    finally:
        await producer.stop()


async def told_or_ended(caplog: pytest.LogCaptureFixture, publishing: asyncio.Task[object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while WAITS not in caplog.text and not publishing.done():  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)


@pytest.mark.usefixtures("startable")
def test_the_first_record_for_a_topic_waits_for_a_broker_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """For longer than its client does, which then says that there is no such topic."""

    async def publish(broker: Broker) -> list[int]:
        connection = Connection(bootstrap=broker.bootstrap)
        await create(connection, PARTITIONS)
        topics = Topics(partitions=PARTITIONS)
        letter = Outgoing(topics.name("dead_letters"), b"{}")
        async with started(connection, topics) as producer:
            assert broker.pid is not None
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                monkeypatch.setattr(metadata, "PATIENCE_SECONDS", 0.3)
                give_up_after(producer, 0.3)
                publishing = asyncio.create_task(producer.publish([], [letter], []))
                await told_or_ended(caplog, publishing)
                await asyncio.sleep(2)  # several times as long as it takes to give up again
            finally:
                os.kill(broker.pid, signal.SIGCONT)  # otherwise the producer would never stop
            monkeypatch.undo()
            give_up_after(producer, PATIENCE)
            await publishing
        return [len(some) for some in await read_topic(connection, letter.topic, PARTITIONS)]

    with Broker(tmp_path) as broker:
        assert asyncio.run(publish(broker)) == [0, 1]
    assert caplog.text.count(WAITS) == 1


def test_a_topic_that_brokers_show_no_more_ends_the_wait_with_a_sentence(
    connection: Connection, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    letter = Outgoing(topics.name("dead_letters"), b"{}")

    async def publish() -> None:
        async with started(connection, topics) as producer:
            await asyncio.to_thread(delete, connection, letter.topic)
            give_up_after(producer, 0.3)
            await producer.publish([], [letter], [])

    with pytest.raises(TransientError, match=rf"do not show the topic {letter.topic}"):
        asyncio.run(publish())
    assert caplog.text.count(WAITS) == 1
