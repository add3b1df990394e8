"""Whom a writer of a cluster asks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from palimpsest import TransientError
from palimpsest.backends import cluster_client
from palimpsest.backends.cluster import ClusterWriter, log_that_follows
from palimpsest.backends.reader import Reader
from palimpsest.contracts.requests import ForgetRequest
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.policies import load_policy
from tests.streams.core.spec import given, say


class Asked:
    """A client that notes of which owners it is asked, and whose brokers are away."""

    def __init__(self) -> None:
        self.owners: list[str | None] = []

    async def ask_each(self, asked: Sequence[tuple[Any, str | None]]) -> Any:
        self.owners += [owner_id for _, owner_id in asked]
        raise TransientError("no broker answers")

    async def stop(self) -> None:
        """Nothing is left to send."""


@pytest.mark.parametrize("count", [1, 2])
def test_only_the_partition_of_the_memories_owner_is_asked_to_forget_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    client = Asked()

    async def connected(*_: object) -> Any:
        return client

    monkeypatch.setattr(cluster_client, "_connected", connected)
    monkeypatch.setattr(Reader, "follows", lambda _self: True)
    log = log_that_follows(tmp_path, needed=False)
    events = given(say("a", "Owns a cat"), say("b", "Likes tea")).log
    with log.transaction():
        log.append(events)
    ids = [str(event.subject) for event in events]
    reader = Reader(tmp_path, log, load_policy("standard"), lambda: pytest.fail("no model"))
    writer = ClusterWriter(reader, Connection(bootstrap="127.0.0.1:1"))
    gone = ForgetRequest(
        request_id="3b1f8a6e-2f64-4a57-9d3e-6f0a6a7f1c11",
        memory_ids=tuple(ids[:count]),
        again="ask",
    )
    try:
        with pytest.raises(TransientError):
            writer.ask(gone)
    finally:
        writer.close()
    assert client.owners == [events[0].owner_id]
