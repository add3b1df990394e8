"""SIGTERM ends a worker and a verifier in time, whenever it comes, and with 0.

What was decided is acknowledged then, and nothing else.
The first moments: tests/palimpsest/cli/test_start.py.
"""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from infra.broker import Broker
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from tests.cluster.child import SESSION_SECONDS
from tests.cluster.cluster import (
    PARTITIONS,
    Cluster,
    environment,
    eventually,
    is_ready,
    stderr_of,
)
from tests.cluster.load import Load
from tests.cluster.verifier import compared, equal_to_embedded, read_topic, settled
from tests.reliability.processes import Child, Forge
from tests.reliability.rows import lines, rows
from tests.streams.write.runtime import inputs

MOST_SECONDS = 10
"""The promise of the issue, for what a worker does after the signal."""


def end(worker: Child) -> int:
    """End a worker by SIGTERM; its exit status, which has to come in time."""
    begun = time.monotonic()
    worker.kill(signal.SIGTERM)
    eventually(worker.has_ended, "it ends", patience=MOST_SECONDS + 5)
    assert time.monotonic() - begun < MOST_SECONDS, stderr_of(worker)
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
        assert end(worker) == 0, stderr_of(worker)
    told = cluster.run(committed(cluster))
    names = (cluster.topics.name(kind) for kind in ("candidates", "decisions"))
    offered, decisions = (
        cluster.run(read_topic(cluster.connection, name, PARTITIONS)) for name in names
    )
    acknowledged = [some[: told[number]] for number, some in enumerate(offered)]
    assert sum(map(len, acknowledged)) > 100
    report = compared(acknowledged, decisions)
    assert report.flawless, report
    slow = cluster.worker("slow", slow=2.0, at_once=4)
    eventually(lambda: "catching up: " in stderr_of(slow), "it fills its replicas")
    assert end(slow) == 0, stderr_of(slow)


@pytest.mark.long
def test_in_an_outage(tmp_path: Path, startable: None, forge: Forge, silent: socket.socket) -> None:
    """Of the brokers, and for the verifier of the judge's service; whoever stays goes on after it.

    The brokers are killed under load, and away for longer than the session.
    """
    with Broker(tmp_path / "broker") as broker:
        cluster = Cluster(tmp_path, broker.bootstrap, forge)
        try:
            cluster.publish(inputs(lines(rows(120, owners=9))))
            slow = {"taken": 4, "embedding": 0.2}
            worker, other = (cluster.worker(name, **slow) for name in ("one", "two"))
            verifier = typed(forge, tmp_path, "verifier", cluster.connection, silent)
            with silent.accept()[0]:
                eventually(lambda: is_ready(worker) and is_ready(other), "both are ready")
                broker.kill()
                assert end(verifier) == 0, stderr_of(verifier)
                assert end(worker) == 0, stderr_of(worker)
            time.sleep(SESSION_SECONDS)
            broker.start()
            settled(cluster)
            equal_to_embedded(cluster)
            assert end(other) == 0, stderr_of(other)
        finally:
            cluster.close()


def typed(
    forge: Forge,
    folder: Path,
    command: str,
    connection: Connection,
    judge: socket.socket | None = None,
    **plan: Any,
) -> Child:
    """A command that a person types, in an environment that says where all is."""
    env = environment(connection)
    if judge is not None:
        env |= {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": f"http://{address(judge)}"}
    words = [command, "--data", str(folder / command)]
    return forge.start(folder / "store", words, env=env, **plan)


def address(listening: socket.socket) -> str:
    return f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("command", ["worker", "verifier"])
def test_while_brokers_are_awaited(
    tmp_path: Path, forge: Forge, silent: socket.socket, command: str
) -> None:
    connection = Connection(bootstrap=address(silent))
    child = typed(forge, tmp_path, command, connection)
    with silent.accept()[0]:
        assert end(child) == 0, stderr_of(child)


def test_while_the_group_is_awaited(tmp_path: Path, forge: Forge, silent: socket.socket) -> None:
    """By a worker that has found its topics before."""
    where = {"bootstrap": address(silent), "prefix": "", "partitions": PARTITIONS}
    worker = forge.start(tmp_path, ["worker"], instance="one", **where)
    with silent.accept()[0]:
        assert end(worker) == 0, stderr_of(worker)


def test_while_the_model_is_loaded(
    tmp_path: Path, topics: Topics, connection: Connection, forge: Forge
) -> None:
    worker = typed(forge, tmp_path, "worker", connection, told_while_loading=True)
    eventually(worker.has_ended, "it ends", patience=MOST_SECONDS)
    assert worker.wait() == 0, stderr_of(worker)
