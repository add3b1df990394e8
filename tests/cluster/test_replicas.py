"""A worker's replicas may be anything: the brokers' records count, and none is passed over."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from palimpsest.streams.cluster.metadata import read_metadata
from palimpsest.streams.cluster.topics import Kind
from tests.cluster.cluster import Cluster, ended, eventually, stderr_of
from tests.cluster.verifier import check_topics, equal_to_embedded, settled
from tests.reliability.rows import lines, rows
from tests.streams.write.runtime import inputs

STREAM = [*lines(rows(60, owners=5))]
FIRST, SECOND, THIRD = STREAM[:30], STREAM[30:50], STREAM[50:]


def decide(cluster: Cluster, some: list[bytes]) -> str:
    """Let a worker decide on rows and end; returns what it logged."""
    worker = cluster.worker()
    cluster.publish(inputs(some))
    cluster.decided()
    assert ended([worker]) == [0], stderr_of(worker)
    return stderr_of(worker)


def replicas(cluster: Cluster) -> list[Path]:
    found = sorted((cluster.folder / "one").glob("*.sqlite"))
    assert len(found) == 4
    return found


def make_anew(cluster: Cluster, kind: Kind) -> None:
    """Delete a topic and make another of the same name."""
    name = cluster.topics.name(kind)
    before = _topic_id(cluster, name)

    async def again() -> None:
        admin = AIOKafkaAdminClient(**cluster.connection.arguments())
        await admin.start()
        try:
            await admin.delete_topics([name])
            await _until_gone(cluster, name)
            await admin.create_topics([NewTopic(name, cluster.topics.partitions, 1)])
        finally:
            await admin.close()

    asyncio.run(again())
    eventually(lambda: _topic_id(cluster, name) not in (None, before), f"another {name} is there")


async def _until_gone(cluster: Cluster, name: str) -> None:
    for _ in range(600):
        if not (await read_metadata(cluster.connection, [name])).topics:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{name} was not deleted within 30 s")


def _topic_id(cluster: Cluster, name: str) -> str | None:
    found = asyncio.run(read_metadata(cluster.connection, [name])).topics.get(name)
    return found.topic_id if found else None


def scrawl(replica: Path) -> None:
    data = bytearray(replica.read_bytes())
    data[100:4000] = b"x" * 3900
    replica.write_bytes(data)


def cut(replica: Path) -> None:
    replica.write_bytes(replica.read_bytes()[:5000])


def put_ahead(replica: Path) -> None:
    with closing(sqlite3.connect(replica)) as database, database:
        database.execute("UPDATE followed SET next_offset = 10000 WHERE topic_id <> ''")
    database.close()


def put_behind(replica: Path) -> None:
    with closing(sqlite3.connect(replica)) as database, database:
        database.execute("UPDATE followed SET next_offset = 0")
    database.close()


def forget_where(replica: Path) -> None:
    with closing(sqlite3.connect(replica)) as database, database:
        database.execute("DELETE FROM followed")
    database.close()


def other_events(replica: Path) -> None:
    """The log of a store that never was a replica."""
    forget_where(replica)
    with closing(sqlite3.connect(replica)) as database, database:
        database.execute("UPDATE events SET checksum = 0")
    database.close()


ROUNDS: list[list[Callable[[Path], object]]] = [
    [Path.unlink, scrawl, cut, put_ahead],
    [other_events, forget_where, put_behind, Path.unlink],
]
"""What happens to the replica of each partition between two starts."""


def test_a_lost_damaged_or_overtaking_replica_is_recreated(cluster: Cluster) -> None:
    decide(cluster, FIRST)
    for damages, some in zip(ROUNDS, (SECOND, THIRD), strict=True):
        for damage, replica in zip(damages, replicas(cluster), strict=True):
            damage(replica)
        decide(cluster, some)
    settled(cluster)
    equal_to_embedded(cluster)


def rot(replica: Path) -> None:
    """Bytes that changed in place: found when an owner is read, long after the start."""
    with closing(sqlite3.connect(replica)) as database, database:
        database.execute("UPDATE events SET checksum = 0")
    database.close()


def test_damage_that_is_found_late_ends_the_worker_and_the_next_recreates_the_replica(
    cluster: Cluster,
) -> None:
    decide(cluster, FIRST)
    for replica in replicas(cluster):
        rot(replica)
    cluster.publish(inputs(SECOND))
    statuses = []
    for _ in replicas(cluster):
        worker = cluster.worker()
        eventually(lambda: worker.has_ended() or cluster.is_decided(), "it decides or ends")  # noqa: B023
        statuses += ended([worker])
        if cluster.is_decided():
            break
    assert 1 in statuses
    settled(cluster)
    equal_to_embedded(cluster)


def test_topics_that_were_deleted_and_recreated_are_followed_from_the_start(
    cluster: Cluster,
) -> None:
    """Copies and decisions say how far former inputs were decided on: not these."""
    decide(cluster, FIRST)
    make_anew(cluster, "candidates")
    make_anew(cluster, "dead_letters")
    decide(cluster, SECOND)
    report = cluster.run(check_topics(cluster.connection, cluster.topics))
    assert (report.lost, report.doubled, report.misplaced) == ([], [], 0)
    for topic in ("decisions", "candidates", "dead_letters"):
        make_anew(cluster, topic)
    assert "recreated" in decide(cluster, [*FIRST, *THIRD])
    settled(cluster)
    equal_to_embedded(cluster)
