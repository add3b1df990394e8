"""One writer of a partition, whoever was asleep; and a worker that comes back finds its place."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
from aiokafka.errors import ProducerFenced

from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Outgoing, Record
from palimpsest.streams.cluster.topics import DAY, Topics
from palimpsest.streams.cluster.worker import worker
from palimpsest.streams.cluster.worker.assigned_partition import Delivery
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.policies import load_policy
from tests.cluster.cluster import Cluster, ended, eventually, is_ready, stderr_of
from tests.cluster.managers import HOME, new_manager, row
from tests.cluster.verifier import equal_to_embedded, read_topic, settled
from tests.reliability.processes import Child
from tests.reliability.rows import lines, rows
from tests.streams.write.runtime import inputs
from tests.stub_engine import StubEngine

LONG = 20.0
"""Seconds of a session in which a worker surely comes back."""
SHORT = 1.5
SENT = "transaction:sent"


def test_a_writer_waits_while_no_broker_is_known(
    connection: Connection, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when all have been fenced for a moment."""
    asked: list[str] = []

    async def begin() -> None:
        producer = PartitionProducer(connection, topics, 1)
        client = vars(producer)["_producer"].client
        known = client.get_random_node

        def none_at_first() -> int | None:
            asked.append("a broker")
            found: int | None = known() if len(asked) > 2 else None
            return found

        monkeypatch.setattr(client, "get_random_node", none_at_first)
        await producer.start()
        await producer.stop()

    asyncio.run(begin())
    assert len(asked) > 2


def test_a_second_producer_of_a_partition_fences_the_first(
    connection: Connection, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    record = Outgoing(topics.name("answers"), b"{}", b"ann")

    async def published() -> list[int]:
        first, second = (PartitionProducer(connection, topics, 1) for _ in range(2))
        await first.start()
        await first.publish([], [record], [])
        await second.start()
        with pytest.raises(ProducerFenced):
            await first.publish([], [record], [])
        await second.publish([], [record], [])
        await first.stop()
        await second.stop()
        found = await read_topic(connection, record.topic, topics.partitions)
        return [len(some) for some in found]

    assert asyncio.run(published()) == [0, 2, 0, 0]
    assert "partition 1 has another writer" in caplog.text


def test_a_clock_that_is_a_day_ahead_is_told_in_a_sentence(
    connection: Connection, topics: Topics
) -> None:
    async def publish() -> None:
        producer = PartitionProducer(connection, topics, 1)
        await producer.start()
        client = vars(producer)["_producer"]
        tomorrow = int(time.time() * 1000) + DAY
        vars(client)["send"] = partial(client.send, timestamp_ms=tomorrow)
        letter = Outgoing(topics.name("dead_letters"), b"{}")
        try:
            await producer.publish([], [letter], [])
        finally:
            await producer.stop()

    with pytest.raises(TransientError, match=r"the clock of this machine says .* Set the clock"):
        asyncio.run(publish())


def test_one_that_is_acknowledged_between_two_records_says_the_same(
    connection: Connection,
    topics: Topics,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    record = Outgoing(topics.name("answers"), b"{}", b"ann")
    send = PartitionProducer._send_one

    async def sent_and_acknowledged(
        producer: PartitionProducer, one: Outgoing
    ) -> asyncio.Future[object]:
        future = await send(producer, one)
        await asyncio.wait([future])
        return future

    async def published() -> None:
        async with AsyncExitStack() as stack:
            first, second = (PartitionProducer(connection, topics, 1) for _ in range(2))
            for producer in (first, second):
                stack.push_async_callback(producer.stop)
                await producer.start()
            monkeypatch.setattr(PartitionProducer, "_send_one", sent_and_acknowledged)
            with pytest.raises(ProducerFenced):
                await first.publish([], [record, record], [])

    asyncio.run(published())
    assert "partition 1 has another writer" in caplog.text


def test_a_worker_that_slept_in_a_transaction_is_fenced(cluster: Cluster) -> None:
    """Stopped beyond its session with decisions sent and not committed, and woken again."""
    cluster.publish(inputs(lines(rows(72, owners=5))))
    effects = cluster.folder / "effects"
    sleeping = {"crash": [SENT, 3], "signal": signal.SIGSTOP, "record": str(effects)}
    zombie = cluster.worker("one", taken=6, session=SHORT, **sleeping)
    eventually(lambda: effects.exists() and effects.read_text().count(SENT) == 3, "it sleeps")
    other = cluster.worker("two")
    cluster.decided()
    zombie.kill(signal.SIGCONT)
    assert zombie.wait() == 1, stderr_of(zombie)
    assert "has another writer" in stderr_of(zombie)
    settled(cluster)
    equal_to_embedded(cluster)
    assert ended([other]) == [0], stderr_of(other)


def test_it_lets_go_of_what_it_had(
    tmp_path: Path, connection: Connection, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fenced(*_: object) -> None:
        raise ProducerFenced

    monkeypatch.setattr(PartitionProducer, "publish", fenced)
    record = Record(topics.name("candidates"), HOME, 0, row(1), b"ann")

    async def ended() -> None:
        told = asyncio.Event()

        async def fail(_: BaseException) -> None:
            told.set()

        manager = new_manager(tmp_path, connection, topics, fail)
        assert await manager.assign([HOME])
        manager.candidates([Delivery(record, lambda: None)])
        await asyncio.wait_for(told.wait(), 60)
        await manager.close()

    asyncio.run(ended())


def test_an_end_in_the_middle_of_a_rebalance_comes_after_what_that_revokes(
    tmp_path: Path, connection: Connection, topics: Topics
) -> None:
    async def ended() -> None:
        manager = new_manager(tmp_path, connection, topics)
        assert await manager.assign([HOME])
        await asyncio.gather(manager.revoke(), manager.close())

    asyncio.run(ended())


def test_that_end_is_a_crash_and_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fenced(_: object) -> None:
        raise ProducerFenced

    monkeypatch.setattr(worker._Process, "execute_from_commandline", fenced)
    embedder, nowhere = Embedder(StubEngine()), Connection(bootstrap="nowhere:1")
    settings = worker.WorkerSettings(
        nowhere, Topics(), tmp_path, load_policy("standard"), lambda: embedder
    )
    with pytest.raises(SystemExit) as ended:
        worker.run(settings, log_level=None)
    assert ended.value.code == worker.CRASHED
    embedder.close()


def test_a_worker_that_comes_back_in_its_session_moves_nothing(cluster: Cluster) -> None:
    one, two = (cluster.worker(name, session=LONG) for name in ("one", "two"))
    eventually(lambda: all_are_assigned(one, two), "each has its part")
    had, others = assignments(one)[-1], assignments(two)
    one.kill()
    assert one.wait() == -signal.SIGKILL
    one = cluster.worker("one", session=LONG)
    eventually(lambda: is_ready(one), "it is back")
    cluster.publish(inputs(lines(rows(12, owners=5))))
    cluster.decided()
    assert assignments(one) == [had]
    assert assignments(two) == others
    assert ended([one, two]) == [0, 0], stderr_of(one)


def all_are_assigned(one: Child, two: Child) -> bool:
    parts = [assignments(worker)[-1] for worker in (one, two) if is_ready(worker)]
    return len(parts) == 2 and sorted(", ".join(parts)) == sorted("0, 1, 2, 3")


def assignments(worker: Child) -> list[str]:
    """The partitions of each of its assignments, one after the other."""
    return re.findall(r"ready: partitions (.*)", stderr_of(worker))
