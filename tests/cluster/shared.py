"""What tests share, wherever they are: a real broker, a forge of processes, a store that follows.

And the order in which they come, so that few processes do it for many tests.

A plugin (tests/conftest.py), because each conftest that imports a fixture has one of its own.

All processes of pytest-xdist share one broker, which takes a twentieth of a core while idle;
`KAFKA_BOOTSTRAP` names one that runs already. Where neither can be, tests with a cluster are
skipped and say why, and with `PALIMPSEST_REQUIRE_CLUSTER=1` they fail. With 0 they are skipped
wherever they run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import chain, groupby, islice
from pathlib import Path

import pytest

from infra.broker import BrokerError
from infra.distribution import NotAvailableError
from palimpsest.backends.paths import PROJECTIONS_FOLDER
from palimpsest.projections.duckdb.queries import views_file
from tests.cluster.cluster import Cluster, eventually
from tests.cluster.newer import NEWER
from tests.cluster.secured import Listeners, let_in_by_scram
from tests.cluster.shared_broker import shared_broker
from tests.reliability.processes import Forge


def no_cluster(reason: str) -> None:
    """Say why there is no broker: as a skipped test, or a failed one where it must be there."""
    if os.environ.get("PALIMPSEST_REQUIRE_CLUSTER") == "1":
        pytest.fail(f"the cluster tests have to run: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def wanted() -> None:
    """Skips tests that need a broker if none is wanted."""
    if os.environ.get("PALIMPSEST_REQUIRE_CLUSTER") == "0":
        pytest.skip("no cluster is wanted: PALIMPSEST_REQUIRE_CLUSTER=0")


@pytest.fixture(scope="session")
def broker(wanted: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap address of a broker that all tests share: kill others."""
    if named := os.environ.get("KAFKA_BOOTSTRAP"):
        yield named
        return
    with _ours(tmp_path_factory) as listeners:
        yield listeners["bootstrap"]


@pytest.fixture(scope="session")
def secured(wanted: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listeners]:
    """Where that broker wants TLS and a password or a certificate; one of ours in any case."""
    with _ours(tmp_path_factory) as listeners:
        if "ssl" not in listeners:
            no_cluster("no openssl: there is nothing to make certificates with")
        let_in_by_scram(listeners["bootstrap"])
        yield Listeners(**listeners)


@contextmanager
def _ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all processes
    (shared := folder / "broker").mkdir(exist_ok=True)
    try:
        with shared_broker(shared) as listeners:
            yield listeners
    except (NotAvailableError, BrokerError) as error:
        no_cluster(str(error))


@pytest.fixture(scope="session")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """Starts workers, projectors, and commands: one for all, as it takes seconds to start."""
    made = Forge(tmp_path_factory.mktemp("children"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """Starts what a next version of Palimpsest would be."""
    made = Forge(tmp_path_factory.mktemp("newer"), NEWER)
    yield made
    made.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A disk in memory, mounted with the given options; only root can have one."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mounted(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if os.geteuid() or shutil.which("mount") is None:
            pytest.skip("only root can mount a disk")
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("disks cannot be mounted here")
        return folder

    yield mounted
    subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)


_followed: list[Cluster] = []


@pytest.fixture
def followed(broker: str, forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A worker, and a store that follows it: whoever uses it has owners of one's own.

    The policy is one for all: a test begins by setting the one that it wants.
    """
    if not _followed:
        cluster = Cluster(tmp_path_factory.mktemp("followed"), broker, forge)
        cluster.worker()
        cluster.projector(idle=0.01)
        views = views_file(cluster.folder / "store" / PROJECTIONS_FOLDER)
        eventually(views.is_file, "the store is there")
        cluster.followed()
        _followed.append(cluster)
    return _followed[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """End the worker and its follower after the last test in a row that uses them.

    While they wait they take a fortieth of a core, and the broker as much for them.
    """
    result = yield
    if _followed and not (nextitem and _follows(nextitem)):
        _followed.pop().close()
    return result


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests of a store that follows a cluster: one process of pytest-xdist has them.

    Each further one would run a worker and a follower of its own.

    Half of the processes begin with modules that wait for other processes, while the others keep
    the cores busy; what is stolen at the end does not wait.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    waiting = sorted(filter(_waits, items), key=lambda item: not _follows(item))
    others = iter([item for item in items if not _waits(item)])
    parts: list[list[pytest.Item]] = [[] for _ in range(processes)]
    for number, (_, module) in enumerate(groupby(waiting, _module)):
        parts[number % ((processes + 1) // 2)] += module
    for number, part in enumerate(parts):  # as pytest-xdist deals them out
        size = (len(items) - sum(map(len, parts[:number]))) // (processes - number)
        part.extend(islice(others, max(size - len(part), 0)))
    items[:] = [*chain(*parts), *others]


def _module(item: pytest.Item) -> object:
    return _follows(item) or item.path


def _waits(item: pytest.Item) -> bool:
    """Whether it waits for other processes, told by its name alone."""
    return "cluster" in item.nodeid or "tests/reliability" in item.nodeid


def _follows(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    return called is not None and called.params.get("installation") == "cluster"
