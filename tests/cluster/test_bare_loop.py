"""The bare loop of transactions that the bench compares a worker with."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from bench.brokered import is_decision
from bench.echo import echo
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics, partition_of
from tests.cluster.cluster import PATIENCE
from tests.cluster.load import publish
from tests.cluster.verifier import Record, read_topic

OWNERS = [f"owner {number}" for number in range(9)]


@pytest.mark.parametrize("together", [False, True])
def test_it_echoes_each_candidate_once_in_its_partition(
    connection: Connection, topics: Topics, together: bool
) -> None:
    placed = [(partition_of(owner, topics.partitions), owner) for owner in OWNERS]
    rows: list[tuple[int, bytes, bytes, list[Any]]] = [
        (at, owner.encode(), orjson.dumps({"id": owner}), []) for at, owner in placed
    ]
    publish(connection, topics, rows)

    async def echoed() -> list[list[Record]]:
        running = asyncio.create_task(echo(connection.bootstrap, topics, together=together))
        async with asyncio.timeout(PATIENCE):
            while True:
                name = topics.name("decisions")
                found = await read_topic(connection, name, topics.partitions)
                if sum(map(len, found)) >= len(OWNERS) or running.done():
                    break
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return found

    found = asyncio.run(echoed())
    assert all(is_decision(record) for records in found for record in records)
    said = [
        (partition, orjson.loads(record.value or b"")["data"]["candidate"]["id"])
        for partition, records in enumerate(found)
        for record in records
    ]
    assert sorted(said) == sorted(placed)
