"""The runtimes that the suite runs on; a new one is a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.runtime import ClusterRuntime
from tests.conformance.embedded import EmbeddedRuntime
from tests.conformance.runtime import Runtime
from tests.conformance.streamed import STREAM, Streamed

Maker = Callable[[Path], Runtime]


def _embedded(_request: pytest.FixtureRequest) -> Maker:
    return EmbeddedRuntime


def _cluster(request: pytest.FixtureRequest) -> Maker:
    bootstrap = request.getfixturevalue("broker")
    forge = request.getfixturevalue("forge")
    return lambda folder: ClusterRuntime(folder, bootstrap, forge)


RUNTIMES = {"embedded": _embedded, "cluster": _cluster}


@pytest.fixture(params=RUNTIMES, scope="module")
def maker(request: pytest.FixtureRequest) -> Maker:
    """Starts runtimes of one kind."""
    return RUNTIMES[request.param](request)


@pytest.fixture
def runtime(maker: Maker, tmp_path: Path) -> Iterator[Runtime]:
    """A runtime of one's own, with an empty log."""
    running = maker(tmp_path)
    yield running
    running.close()


@pytest.fixture(scope="module")
def streamed(maker: Maker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streamed]:
    """A runtime that took the stream."""
    running = maker(tmp_path_factory.mktemp("streamed"))
    yield Streamed(running, running.submit(STREAM))
    running.close()


@pytest.fixture
def shared(streamed: Streamed) -> Runtime:
    """The same runtime, for owners of one's own."""
    return streamed.runtime


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The name of an owner who has said nothing yet."""
    return str(request.node.name)
