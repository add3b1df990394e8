"""What fills a replica: how it reports, and what it leaves behind when it is stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import read_to_end
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker import replica
from palimpsest.streams.cluster.worker.replica import Followed, ReplicaFolder, Standby

AT = TopicPartition("memory.decisions", 0)


class Consumer:
    """A consumer that gets two records at a time."""

    def __init__(self) -> None:
        self.at = 0

    def assign(self, partitions: list[TopicPartition]) -> None:
        assert partitions == [AT]

    def seek(self, _partition: TopicPartition, offset: int) -> None:
        self.at = offset

    async def position(self, _partition: TopicPartition) -> int:
        return self.at

    async def getmany(self, **_: Any) -> dict[TopicPartition, list[Any]]:
        self.at += 2
        return {AT: [SimpleNamespace(offset=self.at - 2), SimpleNamespace(offset=self.at - 1)]}


def test_the_last_batch_of_a_range_makes_it_complete() -> None:
    async def progress() -> list[tuple[int, int]]:
        consumer: Any = Consumer()
        return [(done, todo) async for _, done, todo in read_to_end(consumer, {AT: 3}, {AT: 7})]

    assert asyncio.run(progress()) == [(2, 4), (4, 4)]


def test_a_replica_that_was_being_opened_when_it_ended_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opening, go_on, closed = threading.Event(), threading.Event(), list[int]()

    @asynccontextmanager
    async def reader(_: Connection) -> AsyncIterator[Any]:
        yield None

    async def answer(value: object) -> object:
        return value

    def open_slowly(_folder: Path, topics: Topics, partition: int, *_: object) -> Any:
        opening.set()
        assert go_on.wait(60)
        followed = Followed(topics.name("decisions"), partition, "id", 0)
        return SimpleNamespace(close=lambda: closed.append(partition)), followed

    monkeypatch.setattr(replica, "reader", reader)
    monkeypatch.setattr(replica, "topic_id", lambda *_: answer("id"))
    monkeypatch.setattr(replica, "ends_of", lambda *_: answer({AT: 5}))
    monkeypatch.setattr(replica, "open_replica", open_slowly)

    async def let_it() -> None:
        go_on.set()

    async def begin_and_end() -> None:
        standby = Standby(ReplicaFolder(Connection(bootstrap="nobody:1"), Topics(), tmp_path))
        standby.begin([0])
        await asyncio.to_thread(opening.wait, 60)
        await asyncio.gather(standby.end(), let_it())
        assert closed == [0]

    asyncio.run(begin_and_end())


def test_an_error_is_reported_again_after_a_filling_that_worked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fails: Iterator[bool] = iter([True, True, False, True])
    ended = asyncio.Event()

    async def catch_up(*_: object) -> None:
        fails_now = next(fails, None)
        if fails_now is None:
            ended.set()
        elif fails_now:
            raise TransientError("the brokers are away")

    async def stand_by() -> None:
        folder: Any = SimpleNamespace(catch_up=catch_up)
        standby = Standby(folder)
        standby.begin([0])
        await ended.wait()
        await standby.end()

    monkeypatch.setattr(replica, "EVERY_SECONDS", 0)
    asyncio.run(stand_by())
    assert [one.message for one in caplog.records if one.levelname == "WARNING"] == [
        "replicas of other workers' partitions fall behind: the brokers are away"
    ] * 2
