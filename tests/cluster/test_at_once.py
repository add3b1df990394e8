"""A worker publishes for all of its partitions at once, through their own producers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from palimpsest.contracts.events import Decided
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.cluster.worker.assigned_partition import Delivery
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from tests.cluster.cluster import PARTITIONS, PATIENCE
from tests.cluster.managers import new_manager
from tests.cluster.verifier import events_of


def test_each_partition_s_transaction_begins_though_no_other_has_ended(
    tmp_path: Path, connection: Connection, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_there = asyncio.Barrier(PARTITIONS)
    publish = PartitionProducer.publish

    async def together(*arguments: Any) -> int | None:
        await all_there.wait()
        return await publish(*arguments)

    monkeypatch.setattr(PartitionProducer, "publish", together)
    names = [f"owner {number}" for number in range(100)]
    owners = {partition_of(name, PARTITIONS): name for name in names}

    async def run() -> None:
        manager = new_manager(tmp_path, connection, topics)
        assert await manager.assign(range(PARTITIONS))
        done = asyncio.Semaphore(0)
        for partition, owner in owners.items():
            row = orjson.dumps({"owner_id": owner, "id": "1", "text": "a text"})
            record = Record(topics.name("candidates"), partition, 0, row)
            manager.candidates([Delivery(record, done.release)])
        async with asyncio.timeout(PATIENCE):
            for _ in owners:
                await done.acquire()
        await manager.close()

    asyncio.run(run())
    events = asyncio.run(events_of(connection, topics))
    for owner in owners.values():
        assert [type(event) for event in events[owner]] == [Decided]
