"""The published designs as suites: each test is a rule of the document, on both runtimes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.batches.conftest import ada, asking, installation, opened, server
from tests.cluster.runtime import ClusterRuntime
from tests.conformance.embedded import EmbeddedRuntime
from tests.conformance.runtime import Runtime
from tests.designs.owners import Owner

__all__ = ["ada", "asking", "installation", "opened", "server"]

Request: TypeAlias = pytest.FixtureRequest


RUNTIMES = ("embedded", "cluster")


def running(request: Request, folder: Path, history: Sequence[bytes] = ()) -> Runtime:
    """A runtime of the kind that the fixture's parameter names."""
    if request.param == "embedded":
        return EmbeddedRuntime(folder, history)
    bootstrap = request.getfixturevalue("broker")
    return ClusterRuntime(folder, bootstrap, request.getfixturevalue("forge"), history)


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request: Request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """One runtime for all rules of a document: each test has an owner of its own in it."""
    started = running(request, tmp_path_factory.mktemp(str(request.param)))
    yield started
    started.close()


@pytest.fixture
def owner(runtime: Runtime, request: Request) -> Owner:
    """Somebody with no memories yet, under the policy that the module names `POLICY`."""
    return Owner(runtime, request.node.name, request.module.POLICY)
