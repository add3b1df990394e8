"""Killed at each step of the pattern, the first time it comes to it, the second and the third.

The steps are the effects that workers and projectors tell; one that no test kills at is a failure.
At all of the projections' own, an ingest is killed in tests/reliability.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from itertools import chain

import pytest

from tests.cluster.cluster import Cluster, ended
from tests.cluster.verifier import check_followed, equal_to_embedded, settled
from tests.reliability.rows import lines, rows
from tests.reliability.test_crashes import POINTS
from tests.streams.write.runtime import inputs

WORKER = (
    "log:append",
    "transaction:begin",
    "transaction:sent",
    "transaction:committed",
    "log:committed",
)
"""Before deciding is published, inside the brokers' transaction, and before it is acknowledged."""
PROJECTOR = ("replica:append", "replica:committed")
PROJECTIONS = ("segment:renamed", "lancedb:position")
"""Between the two projections, and before the second says how far it is."""
STREAM: Sequence[bytes] = [*lines(rows(72, owners=5))]
SMALL = {"taken": 6}
KILLED = -signal.SIGKILL


@pytest.mark.parametrize("effect", WORKER)
def test_a_worker_killed_at_any_step_leaves_it_to_the_next(cluster: Cluster, effect: str) -> None:
    """The same one comes again, then another takes over, and a last one finishes."""
    cluster.publish(inputs(STREAM))
    for name, number in (("one", 1), ("one", 2), ("two", 3)):
        worker = cluster.worker(name, crash=[effect, number], **SMALL)
        assert worker.wait() == KILLED, worker.printed(0, 2)
    last = cluster.worker("two", record=str(cluster.folder / "effects"), **SMALL)
    settled(cluster)
    equal_to_embedded(cluster)
    assert ended([last]) == [0], last.printed(0, 2)
    assert effects(cluster) <= {*WORKER}


def effects(cluster: Cluster) -> set[str]:
    return {*(cluster.folder / "effects").read_text().split("\n")} - {""}


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.outage)])
def test_a_projector_killed_at_any_step_neither_loses_nor_doubles(
    cluster: Cluster, *, whole: bool
) -> None:
    cluster.publish(inputs(STREAM))
    worker = cluster.worker()
    cluster.decided()
    small = {"at_once": 9, "batch": 4}
    recorded = cluster.projector("whole", record=str(cluster.folder / "effects"), **small)
    cluster.followed("whole")
    assert ended([recorded]) == [0], recorded.printed(0, 2)
    told = effects(cluster)
    assert {*PROJECTOR, *PROJECTIONS} <= told <= {*PROJECTOR, *chain(*POINTS.values())}
    for effect in sorted(told) if whole else (*PROJECTOR, *PROJECTIONS):
        for number in (1, 2, 3) if effect in PROJECTOR else (1,):
            crashed = cluster.projector(effect, crash=[effect, number], **small)
            assert crashed.wait() == KILLED, crashed.printed(0, 2)
        finisher = cluster.projector(effect, **small)
        cluster.followed(effect)
        assert ended([finisher]) == [0], finisher.printed(0, 2)
        check_followed(cluster, effect)
    assert ended([worker]) == [0]
