"""The runtimes that the suite runs on; a new one is a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.runtime import ClusterRuntime
from tests.conformance.embedded import EmbeddedRuntime
from tests.conformance.runtime import Runtime

Maker = Callable[[Path], Runtime]


def _embedded(_request: pytest.FixtureRequest) -> Maker:
    return EmbeddedRuntime


def _cluster(request: pytest.FixtureRequest) -> Maker:
    bootstrap = request.getfixturevalue("broker")
    forge = request.getfixturevalue("cluster_forge")
    return lambda folder: ClusterRuntime(folder, bootstrap, forge)


RUNTIMES = {"embedded": _embedded, "cluster": _cluster}


@pytest.fixture(params=RUNTIMES)
def new(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Runtime]]:
    """Makes runtimes of one kind, each with a log of its own."""
    maker = RUNTIMES[request.param](request)
    made: list[Runtime] = []

    def make() -> Runtime:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(maker(folder))
        return made[-1]

    yield make
    for runtime in made:
        runtime.close()


@pytest.fixture
def runtime(new: Callable[[], Runtime]) -> Runtime:
    """One runtime with an empty log."""
    return new()
