"""The published designs as suites: each test is a rule of the document, on both runtimes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.batches.conftest import ada, asking, installation, opened, server
from tests.cluster.runtime import ClusterRuntime
from tests.conformance.embedded import EmbeddedRuntime
from tests.conformance.runtime import Runtime
from tests.designs.owners import Owner

__all__ = ["ada", "asking", "installation", "opened", "server"]


@pytest.fixture(scope="module", params=["embedded", "cluster"])
def runtime(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runtime]:
    """One runtime for all rules of a document: each test has an owner of its own in it."""
    folder = tmp_path_factory.mktemp(str(request.param))
    running: Runtime
    if request.param == "embedded":
        running = EmbeddedRuntime(folder)
    else:
        bootstrap = request.getfixturevalue("broker")
        forge = request.getfixturevalue("cluster_forge")
        running = ClusterRuntime(folder, bootstrap, forge)
    yield running
    running.close()


@pytest.fixture
def owner(runtime: Runtime, request: pytest.FixtureRequest) -> Owner:
    """Somebody with no memories yet, under the policy that the module names `POLICY`."""
    return Owner(runtime, request.node.name, request.module.POLICY)
