"""Killed at each step of the pattern, the first time it comes to it, the second and the third.

The steps are the effects that workers and projectors tell; one that no test kills at is a failure.
At all of the projections' own, an ingest is killed in tests/reliability.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from uuid import uuid4

import orjson
import pytest

from palimpsest.contracts.events import Joined, Ran
from palimpsest.contracts.requests import RunRequest
from tests.cluster.cluster import PATIENCE, Cluster, ended, eventually, is_ready
from tests.cluster.verifier import check_followed, equal_to_embedded, events_of, settled
from tests.long import long_but
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


@pytest.mark.parametrize(
    "effect",  # another test kills at each of them
    long_but("log:append", "transaction:sent", "transaction:committed", of=WORKER),
)
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


def test_a_run_that_two_schedulers_ask_for_is_done_once_wherever_it_is_killed(
    cluster: Cluster,
) -> None:
    """Each kill leaves it to the next worker; both schedulers wait for the same answer."""
    started = cluster.worker(policy="importance")
    cluster.publish(inputs([*map(orjson.dumps, alike())]))
    cluster.decided()
    assert ended([started]) == [0], started.printed(0, 2)
    due = datetime(2026, 1, 2, 3, tzinfo=UTC)
    run = partial(RunRequest, owner_id="ada", step="dedupe", due=due)
    with ThreadPoolExecutor(2) as schedulers:
        asked = [schedulers.submit(cluster.ask, run(request_id=str(uuid4()))) for _ in range(2)]
        for effect in WORKER:
            worker = cluster.worker(policy="importance", crash=[effect, 1])
            assert worker.wait() == KILLED, worker.printed(0, 2)
        last = cluster.worker(policy="importance")
        answers = [one.result(PATIENCE)["done"] for one in asked]
        eventually(lambda: is_ready(last), "it can be told to end: all may be done already")
    assert ended([last]) == [0], last.printed(0, 2)
    events = cluster.run(events_of(cluster.connection, cluster.topics))["ada"]
    [ran] = [event for event in events if isinstance(event, Ran)]
    joins = [event.id for event in events if isinstance(event, Joined)]
    assert len(joins) == len(set(joins)) == ran.data.figures["removed_count"] == PAIRS
    assert [answer["figures"] for answer in answers] == [ran.data.figures] * 2
    assert any(answer.get("done_before") for answer in answers)


PAIRS = 6


def alike() -> Iterator[dict[str, object]]:
    """Memories of one owner, two and two of them near each other, of which one is important."""
    for pair in range(PAIRS):
        words = " ".join(f"word{pair}x{n}" for n in range(8))
        for more, importance in (("", 0.8), (" more", 0.3)):
            yield {"owner_id": "ada", "text": words + more, "importance": importance}


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
