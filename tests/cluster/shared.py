"""What all tests of a process share, wherever they are: a broker, processes, a store that follows.

A plugin (tests/conftest.py), because each conftest that imports a fixture has one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from palimpsest.paths import PROJECTIONS_FOLDER
from projections.analysts import views_file
from tests.cluster.conftest import broker, cluster_forge
from tests.cluster.runtime import Cluster, eventually
from tests.reliability.processes import Forge

__all__ = ["broker", "cluster_forge"]


@pytest.fixture(scope="session")
def followed(
    broker: str, cluster_forge: Forge, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A worker, and a store that follows it: whoever uses it has owners of one's own.

    The policy is one for all: a test begins by setting the one that it wants.
    """
    cluster = Cluster(tmp_path_factory.mktemp("followed"), broker, cluster_forge)
    cluster.worker()
    cluster.projector(idle=0.01)
    views = views_file(cluster.folder / "store" / PROJECTIONS_FOLDER)
    eventually(views.is_file, "the store is there")
    cluster.followed()
    yield cluster
    cluster.close()
