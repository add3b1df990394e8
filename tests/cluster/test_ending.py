"""SIGTERM ends a worker in time; what was decided is acknowledged then, and nothing else."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from infra.broker import Broker
from tests.cluster.cluster import PARTITIONS, Cluster, eventually, is_ready, said
from tests.cluster.load import Load
from tests.cluster.verifier import compared, read_topic
from tests.reliability.processes import Child, Forge
from tests.reliability.rows import lines, rows
from tests.streams.embedded.runtime import inputs

MOST_SECONDS = 10
"""The promise of the issue, for what a worker does after the signal."""


def end(worker: Child) -> int:
    """End a worker by SIGTERM; its exit status, which has to come in time."""
    begun = time.monotonic()
    worker.kill(signal.SIGTERM)
    eventually(worker.has_ended, "it ends", patience=MOST_SECONDS + 5)
    assert time.monotonic() - begun < MOST_SECONDS + 2, said(worker)
    return worker.wait()


async def committed(cluster: Cluster) -> dict[int, int]:
    """How many candidates of each partition are acknowledged."""
    admin = AIOKafkaAdminClient(**cluster.connection.arguments())
    await admin.start()
    try:
        group = f"{cluster.topics.prefix}palimpsest-worker"
        found = await admin.list_consumer_group_offsets(group)
    finally:
        await admin.close()
    topic = cluster.topics.name("candidates")
    at = {p: found.get(TopicPartition(topic, p)) for p in range(PARTITIONS)}
    return {partition: one.offset if one else 0 for partition, one in at.items()}


def test_under_load_what_is_decided_is_acknowledged(cluster: Cluster) -> None:
    worker = cluster.worker(taken=16)
    with Load(cluster.connection, cluster.topics, pause=0.02):
        eventually(lambda: is_ready(worker), "it is ready")
        eventually(lambda: sum(cluster.run(committed(cluster)).values()) > 100, "it has decided")
        assert end(worker) == 0, said(worker)
    told = cluster.run(committed(cluster))
    names = (cluster.topics.name(kind) for kind in ("candidates", "decisions"))
    offered, decisions = (
        cluster.run(read_topic(cluster.connection, name, PARTITIONS)) for name in names
    )
    acknowledged = [some[: told[number]] for number, some in enumerate(offered)]
    assert sum(map(len, acknowledged)) > 100
    report = compared(acknowledged, decisions)
    assert report.flawless, report


def test_without_a_broker_it_ends_too(
    tmp_path: Path, startable: None, cluster_forge: Forge
) -> None:
    with Broker(tmp_path / "broker") as broker:
        cluster = Cluster(tmp_path, broker.bootstrap, cluster_forge)
        try:
            cluster.publish(inputs(lines(rows(600, owners=9))))
            worker = cluster.worker(taken=4)
            eventually(lambda: is_ready(worker), "it is ready")
            time.sleep(0.3)
            broker.kill()
            assert end(worker) in (0, 1), said(worker)
        finally:
            cluster.close()
