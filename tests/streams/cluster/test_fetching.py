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
    other = MetadataRequest([])
    fetches = [
        FetchRequest(100, 1, 1, 1, [("candidates", some), ("commands", some)], rack_id="")
        for some in ([(number, 7, 1) for number in range(count)] for count in (1, 48))
    ]
    for request in (*fetches, other):
        assert asyncio.run(client.send(3, request, group=1)) == (3, request, {"group": 1})
    assert waited == [96 * FETCH_SECONDS]
