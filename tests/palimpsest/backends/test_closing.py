"""What fails while a store is closed leaves no thread and no file open."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaTimeoutError

from palimpsest import StoreError, TransientError
from palimpsest.backends import cluster_client, projector_service
from palimpsest.backends.cluster import ClusterWriter, log_that_follows
from palimpsest.backends.reader import Reader
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.policies import load_policy
from tests.streams.cluster.followed import Unprojected

CONNECTION = Connection(bootstrap="127.0.0.1:1")


class Unsent:
    """A client whose last records no broker accepts."""

    async def stop(self) -> None:
        raise KafkaTimeoutError


@pytest.fixture(autouse=True)
def _without_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connected(*_: object) -> Any:
        return Unsent()

    monkeypatch.setattr(cluster_client, "_connected", connected)


def test_a_client_that_cannot_send_the_rest_ends_its_thread() -> None:
    client = cluster_client.ClusterClient(CONNECTION, {})
    with pytest.raises(TransientError, match="KafkaTimeoutError"):
        client.close()
    assert "cluster" not in {thread.name for thread in threading.enumerate()}


def test_a_client_that_cannot_connect_ends_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> Any:
        raise TransientError("no broker answers")

    monkeypatch.setattr(cluster_client, "_connected", refused)
    with pytest.raises(TransientError):
        cluster_client.ClusterClient(CONNECTION, {})
    assert "cluster" not in {thread.name for thread in threading.enumerate()}


def test_a_writer_that_cannot_disconnect_closes_the_log(tmp_path: Path) -> None:
    log = log_that_follows(tmp_path, needed=False)
    reader = Reader(tmp_path, log, load_policy("standard"), lambda: pytest.fail("no model"))
    writer = ClusterWriter(reader, CONNECTION)
    assert writer._client() is writer._connected
    with pytest.raises(TransientError):
        writer.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        log.head()


def test_a_followed_store_whose_rows_cannot_be_written_closes_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(projector_service, "Projector", Unprojected)
    monkeypatch.setattr(Unprojected, "close", full)
    replica = projector_service.ProjectedReplica(tmp_path, Topics("", 1))
    with pytest.raises(StoreError, match="full"):
        replica.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        replica.log.head()
