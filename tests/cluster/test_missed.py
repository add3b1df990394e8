"""What a manager is brought: nothing is passed over, few owners stay in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.errors import KafkaConnectionError

from palimpsest.streams.cluster import topics as topics_module
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics, partition_of, topic_id
from palimpsest.streams.cluster.worker import manager as manager_module
from palimpsest.streams.cluster.worker.assigned_partition import acknowledged, worker_group
from palimpsest.streams.cluster.worker.metrics import Metrics
from tests.cluster.cluster import PARTITIONS, Cluster, ended, eventually, stderr_of
from tests.cluster.load import publish
from tests.cluster.managers import HOME, bring, decided, new_manager, row
from tests.cluster.verifier import read_topic

NUMBERS = range(30)


async def bring_anew(
    folder: Path,
    connection: Connection,
    topics: Topics,
    offsets: Sequence[int],
    in_memory: list[int] | None = None,
) -> list[int]:
    """As `bring`, to a manager that begins and ends here."""
    manager = new_manager(folder, connection, topics)
    assert await manager.assign(range(PARTITIONS))
    done = await bring(manager, connection, topics, offsets)
    if in_memory is not None:
        in_memory.append(manager.owners_in_memory)
    await manager.close()
    return done


def test_what_was_passed_over_is_decided_before_what_came_after_it(
    tmp_path: Path, connection: Connection, topics: Topics
) -> None:
    publish(connection, topics, [(HOME, b"ann", row(number), []) for number in NUMBERS])
    assert asyncio.run(bring_anew(tmp_path, connection, topics, range(7))) == [*range(7)]
    assert asyncio.run(bring_anew(tmp_path, connection, topics, [20, 21])) == [20, 21]
    assert decided((connection, topics)) == [str(number) for number in range(22)]
    assert asyncio.run(bring_anew(tmp_path, connection, topics, [3, 22])) == [3, 22]
    assert decided((connection, topics)) == [str(number) for number in range(23)]


def test_the_bound_on_what_is_in_memory_is_for_all_partitions_together(
    tmp_path: Path, connection: Connection, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_module, "MOST_CANDIDATES", 4 * PARTITIONS)
    owners = [name for name in map(str, range(99)) if partition_of(name, PARTITIONS) == HOME][:9]
    said = [orjson.dumps({"owner_id": name, "text": "a text"}) for name in owners]
    publish(connection, topics, [(HOME, None, one, []) for one in said])
    in_memory: list[int] = []
    asyncio.run(bring_anew(tmp_path, connection, topics, range(9), in_memory))
    assert in_memory == [2]


def test_an_assignment_begins_again_when_the_brokers_go_away_in_its_midst(
    tmp_path: Path, connection: Connection, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client whose connection breaks may also cancel its own wait, which is not a revocation."""
    failures: list[BaseException] = [asyncio.CancelledError(), KafkaConnectionError()]
    asked = topics_module.topic_id

    async def failing(*arguments: Any) -> str:
        if failures:
            raise failures.pop(0)
        return await asked(*arguments)

    monkeypatch.setattr(manager_module, "topic_id", failing)
    monkeypatch.setattr(manager_module, "AGAIN_SECONDS", 0)
    publish(connection, topics, [(HOME, b"ann", row(number), []) for number in range(2)])
    assert asyncio.run(bring_anew(tmp_path, connection, topics, range(2))) == [0, 1]
    assert not failures
    assert decided((connection, topics)) == ["0", "1"]


def test_records_that_are_no_more_are_not_waited_for(
    tmp_path: Path, connection: Connection, topics: Topics
) -> None:
    """Offsets of markers, and of what a producer gave up: no record has them."""
    asyncio.run(transactions(connection, topics))
    read = asyncio.run(read_topic(connection, topics.name("candidates"), PARTITIONS))[HOME]
    assert [record.offset for record in read] == [0, 2, 7]
    assert asyncio.run(bring_anew(tmp_path, connection, topics, [2])) == [7]
    assert decided((connection, topics)) == ["0", "1", "4"]


async def transactions(connection: Connection, topics: Topics) -> None:
    """Two that are committed, one that is given up, and one more."""
    arguments = connection.arguments()
    name = f"{topics.prefix}producer"
    async with AIOKafkaProducer(**arguments, transactional_id=name) as producer:
        for numbers, is_committed in (([0], True), ([1], True), ([2, 3], False), ([4], True)):
            await producer.begin_transaction()
            for number in numbers:
                topic = topics.name("candidates")
                await producer.send_and_wait(topic, row(number), b"ann", partition=HOME)
            await (producer.commit_transaction() if is_committed else producer.abort_transaction())


def test_what_a_producer_gave_up_is_never_decided_on(cluster: Cluster) -> None:
    worker = cluster.worker()
    asyncio.run(transactions(cluster.connection, cluster.topics))
    eventually(lambda: len(decided(where(cluster))) == 3, "the others are decided on")
    assert decided(where(cluster)) == ["0", "1", "4"]
    assert ended([worker]) == [0], stderr_of(worker)


def test_inputs_that_an_operator_s_tool_passed_over_are_decided_at_once(cluster: Cluster) -> None:
    """Nothing comes after them: a worker does not wait for a record to notice."""
    publish(*where(cluster), [(HOME, b"ann", row(number), []) for number in range(9)])
    asyncio.run(set_to_end(cluster))
    worker = cluster.worker()
    eventually(lambda: len(decided(where(cluster))) == 9, "what was passed over is decided on")
    publish(*where(cluster), [(HOME, b"ann", row(9), [])])
    eventually(lambda: len(decided(where(cluster))) == 10, "what came later is decided on")
    cluster.decided()
    assert ended([worker]) == [0], stderr_of(worker)
    committed = asyncio.run(acknowledged(*where(cluster)))[cluster.topics.at("candidates", HOME)]
    identity = asyncio.run(topic_id(cluster.connection, cluster.topics.name("candidates")))
    assert (committed.offset, committed.metadata) == (10, identity)


async def set_to_end(cluster: Cluster) -> None:
    """As `kafka-consumer-groups.sh --reset-offsets --to-latest` does."""
    at = [cluster.topics.at("candidates", partition) for partition in range(PARTITIONS)]
    group = worker_group(cluster.topics)
    arguments = cluster.connection.arguments()
    async with AIOKafkaConsumer(**arguments, group_id=group, enable_auto_commit=False) as consumer:
        ends = await consumer.end_offsets(at)
        consumer.assign(at)
        await consumer.commit(ends)


def test_inputs_deleted_before_they_were_decided_are_reported(
    tmp_path: Path, connection: Connection, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    publish(connection, topics, [(HOME, b"ann", row(number), []) for number in range(9)])
    assert asyncio.run(bring_anew(tmp_path, connection, topics, range(4))) == [*range(4)]
    at = topics.at("candidates", HOME)

    async def run() -> float:
        client = AIOKafkaAdminClient(**connection.arguments())
        await client.start()
        await client.delete_records({at: RecordsToDelete(before_offset=7)})
        await client.close()
        metrics = Metrics()
        manager = new_manager(tmp_path, connection, topics, metrics=metrics)
        assert await manager.assign(range(PARTITIONS))
        assert manager.starts[at] == 7
        await manager.close()
        told = metrics.text().decode().splitlines()
        [line] = [one for one in told if "inputs_deleted{" in one and not one.endswith(" 0.0")]
        return float(line.rpartition(" ")[2])

    assert asyncio.run(run()) == 3
    assert "deleted 3 offsets before any worker had read them" in caplog.text


def where(cluster: Cluster) -> tuple[Connection, Topics]:
    return cluster.connection, cluster.topics
