"""Replicas of other workers' partitions: a partition that is taken over has nothing to catch up."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka.errors import KafkaConnectionError

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.cluster.worker import replica
from palimpsest.streams.cluster.worker.manager import PartitionManager
from palimpsest.streams.cluster.worker.replica import ReplicaFolder
from tests.cluster.cluster import PARTITIONS, Cluster, ended, eventually, is_ready, stderr_of
from tests.cluster.load import publish
from tests.cluster.managers import HOME, bring, decided, new_manager, row

REPLICA = f"partition-{HOME}.sqlite"
OTHERS = set(range(PARTITIONS)) - {HOME}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "EVERY_SECONDS", 0.05)


@asynccontextmanager
async def managers(
    folder: Path, connection: Connection, topics: Topics
) -> AsyncIterator[tuple[PartitionManager, PartitionManager]]:
    """One that has the home partition, and one with all others that stands by."""
    for name in ("one", "two"):
        (folder / name).mkdir()
    one = new_manager(folder / "one", connection, topics)
    two = new_manager(folder / "two", connection, topics, standing_by=True)
    assert await one.assign([HOME])
    assert await two.assign(OTHERS)
    yield one, two
    await one.close()
    await two.close()


def events_in(replica: Path) -> int:
    if not replica.exists():
        return 0
    with closing(sqlite3.connect(f"{replica.as_uri()}?mode=ro", uri=True)) as database:
        try:
            (count,) = database.execute("SELECT count(*) FROM events").fetchone()
        except sqlite3.OperationalError:  # it is being made
            return 0
    return int(count)


async def holds(replica: Path, events: int) -> None:
    async with asyncio.timeout(60):
        while events_in(replica) < events:  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)


def test_a_partition_that_was_stood_by_for_is_taken_over_with_nothing_to_catch_up(
    tmp_path: Path, connection: Connection, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    publish(connection, topics, [(HOME, b"ann", row(number), []) for number in range(30)])
    first, second = (tmp_path / name / f"{topics.prefix}{REPLICA}" for name in ("one", "two"))

    async def hand_over() -> None:
        async with managers(tmp_path, connection, topics) as (one, two):
            for some in (range(20), range(20, 29)):
                await bring(one, connection, topics, some)
                await holds(second, events_in(first))
            await one.close()
            caplog.clear()
            with caplog.at_level(logging.INFO, "palimpsest.streams.cluster.worker.manager"):
                assert await two.assign(range(PARTITIONS))
            assert await bring(two, connection, topics, [28, 29]) == [28, 29]

    asyncio.run(hand_over())
    told = [record.getMessage() for record in caplog.records if "manager" in record.name]
    assert told == ["ready: partitions 0, 1, 2, 3"]
    assert decided((connection, topics)) == [str(number) for number in range(30)]


def test_a_standby_that_cannot_be_filled_hinders_nobody_and_goes_on(
    tmp_path: Path,
    connection: Connection,
    topics: Topics,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A client whose connection breaks may also cancel its own wait."""
    failures: list[BaseException] = [asyncio.CancelledError(), KafkaConnectionError()]
    filled, failed = ReplicaFolder.catch_up, asyncio.Event()

    async def failing(self: ReplicaFolder, *arguments: Any) -> None:
        if failures:
            raise failures.pop(0)
        failed.set()
        await filled(self, *arguments)

    publish(connection, topics, [(HOME, b"ann", row(number), []) for number in range(2)])
    first, second = (tmp_path / name / f"{topics.prefix}{REPLICA}" for name in ("one", "two"))

    async def stand_by() -> None:
        async with managers(tmp_path, connection, topics) as (one, _):
            monkeypatch.setattr(ReplicaFolder, "catch_up", failing)
            async with asyncio.timeout(60):
                await failed.wait()
            await bring(one, connection, topics, range(2))
            await holds(second, events_in(first))

    with caplog.at_level(logging.WARNING):
        asyncio.run(stand_by())
    assert "replicas of other workers' partitions fall behind" in caplog.text


LONG = 28.0
"""A session that no test waits for."""


def test_a_standby_decides_at_once_when_a_worker_is_stopped(cluster: Cluster) -> None:
    """Static members send nothing at their end: its partitions waited for its session to end."""
    first = cluster.worker("one", session=LONG)
    eventually(lambda: is_ready(first), "the first worker decides")
    second = cluster.worker("two", session=LONG, standby=True)
    eventually(lambda: is_ready(second), "they share the partitions")
    assert ended([first]) == [0], stderr_of(first)
    assert "left the group: a standby takes over" in stderr_of(first)
    for name in ("ann", "bob", "cy", "dee", "eve", "fay"):
        home = partition_of(name, PARTITIONS)
        said = orjson.dumps({"owner_id": name, "id": "1", "text": "a text"})
        publish(cluster.connection, cluster.topics, [(home, name.encode(), said, [])])
    cluster.decided(patience=LONG - 8)
    assert ended([second]) == [0], stderr_of(second)
    assert "left the group" not in stderr_of(second)
