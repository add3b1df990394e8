"""Topics of its own for each test, on the broker that all share (shared.py), and no broker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from infra.broker import distribution_with_archive
from infra.distribution import NotAvailableError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.setup import create
from palimpsest.streams.cluster.topics import Topics
from tests.cluster.cluster import PATIENCE, Cluster
from tests.cluster.shared import no_cluster
from tests.reliability.processes import Forge

PARTITIONS = 4


@pytest.fixture(scope="session")
def startable(wanted: None) -> None:
    """That a broker can be started: asked for by tests that start one of their own."""
    try:
        distribution_with_archive()
    except NotAvailableError as error:
        no_cluster(str(error))


@pytest.fixture
def prefix() -> str:
    """What stands before this test's topics, groups, transactional ids and local copies."""
    return f"test-{uuid4().hex}."


@pytest.fixture
def connection(broker: str, prefix: str) -> Connection:
    """The way to the broker, with nothing of this test's there yet."""
    return Connection(bootstrap=broker, prefix=prefix)


@pytest.fixture
def topics(connection: Connection) -> Topics:
    """This test's topics, made with four partitions."""
    found = asyncio.run(create(connection, PARTITIONS))
    assert [finding.state for finding in found] == ["made"] * len(found)
    return Topics(connection.prefix, PARTITIONS)


@pytest.fixture
def cluster(tmp_path: Path, broker: str, forge: Forge) -> Iterator[Cluster]:
    """Topics of this test's own, and its workers and projectors, killed at its end."""
    made = Cluster(tmp_path, broker, forge)
    yield made
    made.close()


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        yield listening
