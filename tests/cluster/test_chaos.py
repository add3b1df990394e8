"""Nothing lost, nothing doubled, each owner's order kept, whatever is killed and when.

PALIMPSEST_KILLS says how often (`make test-cluster-chaos`: 100); PALIMPSEST_SEED repeats a run's
choices, though not the machine's.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from infra.broker import Broker
from tests.cluster.cluster import PATIENCE, Cluster, ended, eventually, is_ready, stderr_of
from tests.cluster.load import Load
from tests.cluster.verifier import check_followed, equal_to_embedded, settled
from tests.reliability.processes import Child, Forge
from tests.reliability.rows import lines, rows
from tests.streams.write.runtime import inputs

KILLS = int(os.environ.get("PALIMPSEST_KILLS", "5"))
SEED = int(os.environ.get("PALIMPSEST_SEED") or int.from_bytes(os.urandom(4), "big"))
PAUSE = 0.0006 * max(KILLS, 100)
"""Seconds between what the load sends, so that it has rows until the last kill."""
BEYOND_SESSION = 4.5
BEYOND_ALL = 75.0
"""Longer than a transaction may take (60 s), and an answer (40 s), and a rebalance."""


@pytest.mark.long
@pytest.mark.chaos
@pytest.mark.timeout(3600)
def test_killed_at_random_moments_under_load(cluster: Cluster) -> None:
    print(f"PALIMPSEST_SEED={SEED}")
    chance = random.Random(SEED)
    names = ["one", "two", "three"]
    workers = {name: cluster.worker(name, taken=16) for name in names}
    projector = cluster.projector()
    with Load(cluster.connection, cluster.topics, pause=PAUSE):
        eventually(lambda: any(map(is_ready, workers.values())), "a worker is ready")
        for _ in range(KILLS):
            time.sleep(chance.choice((0.2, 1.0, 2.5)) * chance.random())
            name = chance.choice([*names, "projector"])
            if name == "projector":
                projector.kill()
                assert projector.wait() == -signal.SIGKILL, projector.printed(0, 2)
                projector = cluster.projector()
                continue
            workers[name].kill()
            assert workers[name].wait() == -signal.SIGKILL, workers[name].printed(0, 2)
            workers[name] = cluster.worker(name, taken=16)
    report = settled(cluster, PATIENCE + 3 * KILLS)  # what waits was offered while they died
    print(f"{report}, kills {KILLS}")
    equal_to_embedded(cluster)
    cluster.followed()
    assert ended([*workers.values(), projector]) == [0] * 4
    check_followed(cluster)


def test_workers_that_join_and_leave_lose_nothing(cluster: Cluster) -> None:
    workers = {name: cluster.worker(name, taken=16) for name in ("one", "two")}
    with Load(cluster.connection, cluster.topics, pause=0.3):
        eventually(lambda: any(map(is_ready, workers.values())), "a worker is ready")
        late = cluster.worker("three", taken=16)
        for name, worker in workers.items():
            worker.kill(signal.SIGTERM)
            assert worker.wait() == 0, worker.printed(0, 2)
            workers[name] = cluster.worker(name, taken=16)
            eventually(lambda name=name: is_ready(workers[name]), "it is ready again")
    settled(cluster)
    equal_to_embedded(cluster)
    assert ended([*workers.values(), late]) == [0, 0, 0]


@pytest.mark.outage
def test_one_that_was_stopped_beyond_its_session_does_no_harm(cluster: Cluster) -> None:
    zombie, other = cluster.worker("one", taken=16), cluster.worker("two", taken=16)
    with Load(cluster.connection, cluster.topics) as load:
        eventually(lambda: is_ready(zombie) and is_ready(other), "both are ready")
        time.sleep(0.5)
        zombie.kill(signal.SIGSTOP)
        time.sleep(BEYOND_SESSION)
        zombie.kill(signal.SIGCONT)
        sent = load.sent
        eventually(lambda: load.sent > sent + 200, "the load goes on")
    restarted = cluster.worker("three", taken=16)
    settled(cluster)
    equal_to_embedded(cluster)
    statuses = ended([zombie, other, restarted])
    was_fenced = "has another writer" in stderr_of(
        zombie
    )  # where it was deciding when it fell asleep
    assert statuses == [int(was_fenced), 0, 0], stderr_of(zombie)


@pytest.mark.outage
@pytest.mark.timeout(600)
@pytest.mark.parametrize("away", [BEYOND_SESSION, BEYOND_ALL])
@pytest.mark.parametrize("hangs", [False, True], ids=["killed", "hung"])
def test_a_broker_that_is_killed_or_hangs_for_longer_than_time_outs(
    tmp_path: Path, startable: None, forge: Forge, *, hangs: bool, away: float
) -> None:
    with Broker(tmp_path / "broker") as broker:
        cluster = Cluster(tmp_path, broker.bootstrap, forge)
        try:
            workers = {name: cluster.worker(name, taken=16) for name in ("one", "two")}
            projector = cluster.projector()
            with Load(cluster.connection, cluster.topics):
                eventually(lambda: any(map(is_ready, workers.values())), "a worker is ready")
                time.sleep(1)
                (hang if hangs else Broker.kill)(broker)
                time.sleep(away)
                (wake if hangs else Broker.start)(broker)
                time.sleep(1)

            def is_decided() -> bool:
                """Whether the workers are done; one whose client gave up is started again.

                It has ended with 1, and so a unit does (`Restart=on-failure`).
                """
                for name in [name for name, worker in workers.items() if worker.has_ended()]:
                    assert workers[name].wait() == 1, stderr_of(workers[name])
                    workers[name] = cluster.worker(name, taken=16)
                return cluster.is_decided()

            eventually(is_decided, "all is decided")
            settled(cluster)
            equal_to_embedded(cluster)
            cluster.followed()
            assert set(ended([*workers.values(), projector])) <= {0, 1}
            check_followed(cluster)
        finally:
            cluster.close()


def hang(broker: Broker) -> None:
    """It keeps its connections, and answers nothing."""
    assert broker.pid is not None
    os.kill(broker.pid, signal.SIGSTOP)


def wake(broker: Broker) -> None:
    assert broker.pid is not None
    os.kill(broker.pid, signal.SIGCONT)


@pytest.mark.outage
def test_a_rebalance_in_the_middle_of_a_long_rebuild(cluster: Cluster) -> None:
    """Others join, leave and are killed while replicas are filled a few records at a time."""
    cluster.publish(inputs(lines(rows(100, owners=9, seed=3))))
    first = cluster.worker("first")
    cluster.decided()
    assert ended([first]) == [0], stderr_of(first)
    slow = {"at_once": 4, "slow": 0.1, "taken": 16}
    with Load(cluster.connection, cluster.topics):
        one = cluster.worker("one", **slow)
        eventually(lambda: is_rebuilding(one), "the first rebuilds")
        two = cluster.worker("two", **slow)
        eventually(lambda: is_rebuilding(two), "the second rebuilds")
        assert "given up" in stderr_of(one)
        three = cluster.worker("three", **slow)
        time.sleep(1)
        two.kill()
        assert two.wait() == -signal.SIGKILL, stderr_of(two)
        eventually(lambda: is_rebuilding(three), "the third rebuilds")
        one.kill(signal.SIGTERM)
        assert one.wait() == 0, stderr_of(one)
        eventually(lambda: is_ready(three), "the third is ready")
        time.sleep(1)
    settled(cluster)
    equal_to_embedded(cluster)
    assert ended([three]) == [0], stderr_of(three)


def is_rebuilding(child: Child) -> bool:
    return "catching up: " in stderr_of(child)
