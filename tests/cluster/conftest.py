"""A real broker, and topics of its own for each test.

All processes of pytest-xdist share one broker, which takes a twentieth of a core while idle;
`KAFKA_BOOTSTRAP` names one that runs already. Where neither can be, these tests are skipped and say
why, and with `PALIMPSEST_REQUIRE_CLUSTER=1` they fail.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from infra.broker import BrokerError, distribution_with_archive
from infra.distribution import NotAvailableError
from streams.cluster.connection import Connection
from streams.cluster.setup import create
from streams.cluster.topics import Topics
from tests.cluster.runtime import Cluster
from tests.cluster.shared_broker import shared_broker
from tests.reliability.processes import Forge

PARTITIONS = 4


def no_cluster(reason: str) -> None:
    """Say why there is no broker: as a skipped test, or a failed one where it must be there."""
    if os.environ.get("PALIMPSEST_REQUIRE_CLUSTER") == "1":
        pytest.fail(f"the cluster tests have to run: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def startable() -> None:
    """That a broker can be started: asked for by tests that start one of their own."""
    try:
        distribution_with_archive()
    except NotAvailableError as error:
        no_cluster(str(error))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap address of a broker that all tests share: kill others."""
    if named := os.environ.get("KAFKA_BOOTSTRAP"):
        yield named
        return
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all processes
    (shared := folder / "broker").mkdir(exist_ok=True)
    try:
        with shared_broker(shared) as bootstrap:
            yield bootstrap
    except (NotAvailableError, BrokerError) as error:
        no_cluster(str(error))


@pytest.fixture(scope="session")
def cluster_forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """Starts workers and projectors."""
    forge = Forge(tmp_path_factory.mktemp("cluster"), "tests.cluster.child")
    yield forge
    forge.close()


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
def cluster(tmp_path: Path, broker: str, cluster_forge: Forge) -> Iterator[Cluster]:
    """Topics of this test's own, and its workers and projectors, killed at its end."""
    made = Cluster(tmp_path, broker, cluster_forge)
    yield made
    made.close()
