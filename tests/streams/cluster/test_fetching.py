"""Fetches come less often, the more partitions they name; nothing else waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.metadata import MetadataRequest

from palimpsest.streams.cluster.reader import FETCH_SECONDS, pace_fetches


class Client:
    """A client that says what it was given."""

    async def send(self, node_id: int, request: Any, **options: Any) -> tuple[Any, ...]:
        return node_id, request, options


def test_a_fetch_waits_for_each_partition_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    client: Any = Client()
    pace_fetches(client)
    topics = [("candidates", [(0, 7, 1), (1, 7, 1)]), ("commands", [(0, 7, 1)])]
    fetch = FetchRequest(100, 1, 1, 1, topics, rack_id="")
    other = MetadataRequest([])
    assert asyncio.run(client.send(3, fetch, group=1)) == (3, fetch, {"group": 1})
    assert waited == [3 * FETCH_SECONDS]
    assert asyncio.run(client.send(3, other)) == (3, other, {})
    assert waited == [3 * FETCH_SECONDS]
