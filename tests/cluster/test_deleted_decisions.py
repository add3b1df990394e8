"""Decisions that the brokers deleted: whoever misses them stops, and a copy restores the topic."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.projector_service import Follower
from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.client import restore as restoring
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import DecisionsDeletedError, Offsets, Records, follow
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.watch import ask_waiting
from palimpsest.streams.log.log import Log
from tests.cluster.cluster import PARTITIONS, Cluster, eventually, is_ready
from tests.cluster.load import publish
from tests.cluster.managers import HOME, bring, decided, new_manager, row
from tests.cluster.shell import Shell
from tests.cluster.verifier import Record, read_topic
from tests.long import long_but
from tests.reliability.processes import Forge


async def delete_before(connection: Connection, topics: Topics, before: int) -> None:
    """Delete the decisions of HOME before an offset, as retention does."""
    client = AIOKafkaAdminClient(**connection.arguments())
    await client.start()
    try:
        at = topics.at("decisions", HOME)
        await client.delete_records({at: RecordsToDelete(before_offset=before)})
    finally:
        await client.close()


def decide(folder: Path, connection: Connection, topics: Topics, offsets: range) -> None:
    """Publish and decide on rows of one owner, with these offsets."""
    publish(connection, topics, [(HOME, b"ann", row(number), []) for number in offsets])

    async def run() -> None:
        manager = new_manager(made(folder), connection, topics)
        assert await manager.assign(range(PARTITIONS))
        assert await bring(manager, connection, topics, offsets) == [*offsets]
        await manager.close()

    asyncio.run(run())


def made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


async def assign(folder: Path, connection: Connection, topics: Topics) -> BaseException | None:
    """Assign all partitions to a worker with this folder; what stops it."""
    failures: list[BaseException] = []

    async def failed(error: BaseException) -> None:
        failures.append(error)

    manager = new_manager(made(folder), connection, topics, failed)
    assert await manager.assign(range(PARTITIONS)) is not bool(failures)
    await manager.close()
    return failures[0] if failures else None


def follow_into(store: Path, connection: Connection, topics: Topics, records: int) -> None:
    """Follow the decisions until the store took over this number of records."""

    async def run() -> None:
        stop, taken = asyncio.Event(), 0

        def count(some: int, _at: Offsets) -> None:
            nonlocal taken
            taken += some
            if taken >= records:
                stop.set()

        async with asyncio.timeout(60):
            await Follower(store, connection, topics, count).run(stop)

    made(store)
    asyncio.run(run())


def decisions(connection: Connection, topics: Topics) -> list[Record]:
    """The records of HOME that the brokers have."""
    name = topics.name("decisions")
    return asyncio.run(read_topic(connection, name, PARTITIONS, ended=True))[HOME]


@pytest.fixture
def shell(tmp_path: Path, connection: Connection, forge: Forge) -> Iterator[Shell]:
    made = Shell(tmp_path, connection, forge)
    yield made
    made.close()


def test_a_worker_without_the_deleted_decisions_stops_and_one_with_them_goes_on(
    tmp_path: Path, connection: Connection, topics: Topics
) -> None:
    decide(tmp_path / "whole", connection, topics, range(6))
    behind = tmp_path / "behind"
    asyncio.run(assign(behind, connection, topics))
    decide(tmp_path / "whole", connection, topics, range(6, 9))
    asyncio.run(delete_before(connection, topics, decisions(connection, topics)[-1].offset))
    for folder in (tmp_path / "new", behind):
        error = asyncio.run(assign(folder, connection, topics))
        assert isinstance(error, DecisionsDeletedError)
        assert f"partition {HOME} from offset" in str(error)
        assert "palimpsest topics restore" in str(error)
    held = [*behind.glob("*.sqlite")]
    assert len(held) == PARTITIONS, "what a replica has may be all there is: it stays"
    assert asyncio.run(assign(tmp_path / "whole", connection, topics)) is None


def test_a_store_behind_the_deletion_stops_and_takes_nothing_over(
    tmp_path: Path, connection: Connection, topics: Topics
) -> None:
    decide(tmp_path / "whole", connection, topics, range(5))
    follow_into(tmp_path / "store", connection, topics, 6)
    decide(tmp_path / "whole", connection, topics, range(5, 9))
    asyncio.run(delete_before(connection, topics, decisions(connection, topics)[-1].offset))
    for store in (tmp_path / "store", tmp_path / "new"):
        with pytest.raises(DecisionsDeletedError, match="palimpsest topics restore"):
            follow_into(store, connection, topics, 1)
    with Log.open(tmp_path / "store" / LOG_FILE) as log:
        assert log.head() == 6


def test_what_is_deleted_while_it_is_followed_is_noticed(
    connection: Connection, topics: Topics
) -> None:
    publish(connection, topics, [(HOME, b"ann", b"{}", [])] * 9)
    at = topics.at("candidates", HOME)

    async def run() -> None:
        async def take(_records: Records, _at: Offsets) -> None:
            raise AssertionError("nothing is handed over")

        client = AIOKafkaAdminClient(**connection.arguments())
        await client.start()
        await client.delete_records({at: RecordsToDelete(before_offset=5)})
        await client.close()
        async with asyncio.timeout(30):
            await follow(connection, {at: 3}, take, asyncio.Event())

    with pytest.raises(DecisionsDeletedError, match="from offset 3 to 5"):
        asyncio.run(run())


def test_the_check_names_partitions_that_lost_decisions_and_settings_that_will(
    tmp_path: Path, connection: Connection, topics: Topics, shell: Shell
) -> None:
    decide(tmp_path / "whole", connection, topics, range(5))
    asyncio.run(delete_before(connection, topics, 3))
    asyncio.run(set_retention(connection, topics))
    found = shell.asked("topics", "check", status=1)["topics"]
    wrong = [(one["detail"], one["advice"]) for one in found if one["state"] == "differs"]
    *settings, (deleted, advice) = wrong
    setting = "retention.ms is 86400000 instead of -1"
    assert "kafka-configs.sh --alter" in dict(settings)[setting]
    assert deleted == f"partition {HOME} begins at offset 3: what came before was deleted"
    assert "palimpsest topics restore" in advice
    waiting = asyncio.run(ask_waiting(connection, topics))
    assert waiting.decisions_begin == {p: 3 if p == HOME else 0 for p in range(PARTITIONS)}
    assert setting in (waiting.expiring or ())


async def set_retention(connection: Connection, topics: Topics) -> None:
    client = AIOKafkaAdminClient(**connection.arguments())
    await client.start()
    name, settings = topics.name("decisions"), {"retention.ms": "86400000"}
    await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, settings)])
    await client.close()


@pytest.fixture
def damaged(
    tmp_path: Path, connection: Connection, topics: Topics
) -> tuple[list[Record], list[Record]]:
    """A topic that lost its first decisions, and a store with what it lost: records of both."""
    whole = tmp_path / "whole"
    decide(whole, connection, topics, range(5))
    follow_into(tmp_path / "store", connection, topics, 6)
    decide(whole, connection, topics, range(5, 9))
    before = decisions(connection, topics)
    asyncio.run(delete_before(connection, topics, before[4].offset))
    return before, decisions(connection, topics)


def values(records: list[Record]) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in records]


def test_a_store_restores_the_topic_and_work_goes_on_with_what_was_decided(
    tmp_path: Path,
    connection: Connection,
    topics: Topics,
    shell: Shell,
    damaged: tuple[list[Record], list[Record]],
) -> None:
    before, left = damaged
    foreseen = shell.asked("topics", "restore", "--dry-run")
    assert foreseen["partitions"] == [
        {
            "partition": HOME,
            "deleted_before": before[4].offset,
            "from_copy": 4,
            "from_topic": len(left),
        }
    ]
    assert values(decisions(connection, topics)) == values(left)
    restored = shell.asked("topics", "restore")
    assert restored == foreseen | {"dry_run": False}
    after = decisions(connection, topics)
    assert values(after) == values(before)
    assert after[-1].headers == before[-1].headers
    assert not [*(tmp_path / "store").glob("*.restoring*")]
    assert shell.run("topics", "check").exit_code == 0
    decide(tmp_path / "new", connection, topics, range(9, 10))
    assert decided((connection, topics)) == [str(number) for number in range(10)]
    follow_into(tmp_path / "another", connection, topics, len(before) + 1)
    assert shell.asked("topics", "restore")["partitions"] == []


def test_an_export_restores_the_topic_if_it_reaches_what_is_left(
    tmp_path: Path,
    shell: Shell,
    connection: Connection,
    topics: Topics,
    damaged: tuple[list[Record], list[Record]],
) -> None:
    before, _ = damaged
    whole = tmp_path / "export.jsonl"
    shell.asked("log", "export", str(whole), cluster=False)
    short = tmp_path / "short.jsonl"
    short.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:3]))
    assert (
        "ends before the first decision"
        in shell.error(2, "topics", "restore", str(short))["detail"]
    )
    assert values(decisions(connection, topics)) == values(damaged[1])
    shell.asked("topics", "restore", str(whole))
    assert values(decisions(connection, topics)) == values(before)


def test_a_worker_exits_with_4_and_a_store_that_ends_before_what_is_left_is_refused(
    connection: Connection,
    topics: Topics,
    shell: Shell,
    damaged: tuple[list[Record], list[Record]],
) -> None:
    asyncio.run(delete_before(connection, topics, damaged[0][-1].offset))
    worker = shell.start("worker")
    assert worker.wait() == 4
    said = worker.printed(0, 2)
    assert "palimpsest topics restore" in said
    assert "Traceback" not in said
    error = shell.error(2, "topics", "restore")
    assert "what is between them is in neither" in error["detail"]
    assert values(decisions(connection, topics)) == values(damaged[0][-1:])


def test_a_restoration_that_was_interrupted_continues_with_what_it_kept(
    tmp_path: Path,
    connection: Connection,
    topics: Topics,
    shell: Shell,
    damaged: tuple[list[Record], list[Record]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(restoring, "create_one", AsyncMock(side_effect=TransientError("away")))
        assert shell.error(1, "topics", "restore")["detail"] == "away"
    assert [*(tmp_path / "store").glob("*.restoring")]
    shell.asked("topics", "restore")
    assert values(decisions(connection, topics)) == values(damaged[0])


@pytest.mark.parametrize(
    "step",
    long_but(
        ("restore:_delete", 1),
        ("restore:create_one", 1),
        ("restore:publish", 2),
        of=[
            ("restore:keep", 1),
            ("restore:_delete", 1),
            ("restore:create_one", 1),
            ("restore:publish", 1),
            ("restore:publish", 2),
            ("restore:_fill_anew", 1),
        ],
    ),
    ids=lambda step: f"{step[0]}-{step[1]}",
)
def test_a_restoration_that_is_killed_twice_ends_right(
    tmp_path: Path,
    connection: Connection,
    topics: Topics,
    shell: Shell,
    damaged: tuple[list[Record], list[Record]],
    step: tuple[str, int],
) -> None:
    before, _ = damaged
    first = shell.start_to_crash(step, "topics", "restore")
    assert first.wait() == -signal.SIGKILL, first.printed(0, 2)
    second = shell.start_to_crash(step, "topics", "restore")
    # What has been deleted is not deleted again.
    assert second.wait() == (0 if step[0] == "restore:_delete" else -signal.SIGKILL)
    again = shell.asked("topics", "restore")
    assert again["dry_run"] is False
    after = decisions(connection, topics)
    assert values(after) == values(before)
    assert [one.headers for one in after[4:]] == [one.headers for one in before[4:]]
    assert not [*(tmp_path / "store").glob("*.restoring*")]
    decide(tmp_path / "new", connection, topics, range(9, 10))
    assert decided((connection, topics)) == [str(number) for number in range(10)]


def test_no_topic_is_restored_while_a_worker_runs(cluster: Cluster, forge: Forge) -> None:
    worker = cluster.worker()
    eventually(lambda: is_ready(worker), "the worker decides")
    shell = Shell(cluster.folder, cluster.connection, forge)
    (export := cluster.folder / "export.jsonl").touch()
    assert "stop them all first" in shell.error(2, "topics", "restore", str(export))["detail"]
