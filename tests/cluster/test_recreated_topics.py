"""Topics that are deleted and recreated while processes run: no two histories are ever mixed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka.structs import OffsetAndMetadata

from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.wire import decode
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import Offsets, Records, TopicPartition, follow
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.assigned_partition import starts
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from palimpsest.streams.cluster.worker.replica import Followed, Replica
from palimpsest.streams.write.commit import InputOffset
from tests.cluster.cluster import PARTITIONS, Cluster, ended, eventually, stderr_of
from tests.cluster.load import publish
from tests.cluster.test_replicas import make_anew
from tests.cluster.verifier import equal_to_embedded, read_topic, settled
from tests.reliability.rows import lines, rows
from tests.streams.write.runtime import Runtime, inputs

STREAM = [*lines(rows(40, owners=5))]
KNOWN = 50
"""An offset up to which a topic was known, before it was recreated with fewer records."""


def test_what_is_read_never_goes_back(connection: Connection, topics: Topics) -> None:
    publish(connection, topics, [(0, b"ann", b"{}", [])])
    taken: list[int] = []

    async def take(records: Records, _at: Offsets) -> None:
        taken.extend(record.offset for record in records)

    async def run() -> None:
        async with asyncio.timeout(30):
            await follow(connection, {topics.at("candidates", 0): KNOWN}, take, asyncio.Event())

    with pytest.raises(StoreError, match="recreated"):
        asyncio.run(run())
    assert taken == []


def test_a_writer_publishes_nothing_behind_what_it_knows(
    tmp_path: Path, connection: Connection, topics: Topics
) -> None:
    with Runtime(tmp_path / "decided.sqlite") as runtime:
        runtime.stream(STREAM[:1])
        event, line = decode(runtime.lines()[-1]), runtime.lines()[-1]

    async def run() -> None:
        producer = await PartitionProducer(connection, topics, 0).start()
        producer.continue_at(KNOWN)
        try:
            await producer.publish([(event, line)], [], [])
        finally:
            await producer.stop()

    with pytest.raises(StoreError, match="recreated"):
        asyncio.run(run())
    found = asyncio.run(read_topic(connection, topics.name("decisions"), PARTITIONS))
    assert found == [[]] * PARTITIONS


def test_an_input_that_was_recreated_continues_at_its_start(tmp_path: Path) -> None:
    """What a worker acknowledged there, before it knew, may be what it took for decided on."""
    with Replica.create(tmp_path / "replica.sqlite") as replica:
        with replica.transaction():
            replica.follow(Followed("memory.decisions", 0, "decisions", 9))
            replica.follow_input(InputOffset("memory.candidates", "former", 6), 0)
        inputs_now = {"memory.candidates": "new", "memory.commands": "commands"}
        done = {
            TopicPartition("memory.candidates", 0): OffsetAndMetadata(4, "former"),
            TopicPartition("memory.commands", 0): OffsetAndMetadata(4, "commands"),
        }
        assert starts(replica, 0, inputs_now, done) == {
            "memory.candidates": 0,
            "memory.commands": 4,
        }


@pytest.mark.outage
def test_a_running_worker_and_projector_end_and_restart(cluster: Cluster) -> None:
    worker, projector = cluster.worker(look=0.2), cluster.projector()
    cluster.publish(inputs(STREAM[:20]))
    cluster.decided()
    cluster.followed()
    for kind in ("dead_letters", "decisions", "candidates"):
        make_anew(cluster, kind)
    eventually(worker.has_ended, "the worker ends")
    assert worker.wait() == 1
    assert "StoreError" in stderr_of(
        worker
    )  # of topics that are others, or of one that is not there

    begun = cluster.worker()
    cluster.publish(inputs(STREAM[20:]))
    settled(cluster)
    equal_to_embedded(cluster)
    eventually(projector.has_ended, "the projector ends")
    assert projector.wait() != 0
    assert "follow it with a new store" in stderr_of(projector)
    another = cluster.projector("another")
    cluster.followed("another")
    assert ended([begun, another]) == [0, 0], stderr_of(begun)
