"""A worker behind a slow embedder holds little, keeps its session, and poison does not stop it."""

from __future__ import annotations

import time
from typing import Any
from urllib.request import urlopen

import orjson
import pytest

from infra.broker import free_port
from palimpsest.streams.cluster.topics import partition_of
from palimpsest.streams.cluster.worker.assigned_partition import AHEAD
from tests.cluster.child import SESSION_SECONDS
from tests.cluster.cluster import PARTITIONS, Cluster, ended, eventually, is_ready, stderr_of
from tests.cluster.load import publish
from tests.cluster.verifier import equal_to_embedded, read_topic, settled
from tests.reliability.rows import lines, rows
from tests.streams.write.runtime import inputs

Raw = tuple[int, bytes | None, Any, Any]
TAKEN = 16
FEW, MANY = 600, 1_500
"""Rows: more than may be held."""
POISON = 150
LARGE = 500_000
FETCHED = 1024 * 1024
"""Bytes that are fetched of a partition at once."""
HELD = (2 + 1) * TAKEN + PARTITIONS * (AHEAD + 1 + 2) * TAKEN
"""Faust's buffer and what is being taken from it; in each partition batches that are open, and what
waits to be opened: not much more than one batch."""


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.outage)])
def test_behind_a_slow_embedder_little_is_held_and_the_session_goes_on(
    cluster: Cluster, count: int
) -> None:
    port = free_port()
    cluster.publish(inputs(lines(rows(count, owners=9, seed=3))))
    poison: list[Raw] = [(3, None, b"poison %d" % number, []) for number in range(POISON)]
    publish(cluster.connection, cluster.topics, poison)
    small = {"taken": TAKEN, "buffered": 2 * TAKEN, "embedding": 1.2 * SESSION_SECONDS}
    slow = cluster.worker("slow", web_port=port, **small)
    eventually(lambda: is_ready(slow), "it is ready")
    eventually(lambda: figures(port)["palimpsest_candidates_total"] > 0, "a batch is decided on")
    told = figures(port)
    assert 0 < told["palimpsest_records_held"] <= HELD
    assert sum(n for name, n in told.items() if name.startswith("palimpsest_lag{")) > count // 2
    assert stderr_of(slow).count("ready: partitions") == 1, stderr_of(slow)

    quick = cluster.worker("quick")
    eventually(lambda: is_ready(quick), "another one gets its part while a batch is embedded")
    assert ended([slow]) == [0], stderr_of(slow)
    settled(cluster)
    equal_to_embedded(cluster)
    assert ended([quick]) == [0], stderr_of(quick)


def test_of_large_records_few_are_held(cluster: Cluster) -> None:
    """Whatever their number: a worker would be out of memory before Faust's buffer is full."""
    port = free_port()
    large = [
        {
            "owner_id": "ann",
            "source": "test",
            "id": str(n),
            "text": f"text {n}",
            "note": "x" * LARGE,
        }
        for n in range(40)
    ]
    publish(cluster.connection, cluster.topics, [home(row) for row in large])
    slow = cluster.worker("slow", web_port=port, held=4 * LARGE, embedding=3 * SESSION_SECONDS)
    eventually(lambda: is_ready(slow), "it is ready")
    eventually(lambda: figures(port)["palimpsest_records_held"] > 0, "some came")
    most = 0.0
    for _ in range(20):
        most = max(most, figures(port)["palimpsest_records_held"])
        time.sleep(0.1)
    assert most <= 4 + FETCHED // LARGE + 1
    slow.kill()
    quick = cluster.worker("quick", held=4 * LARGE)
    cluster.decided()
    settled(cluster)
    equal_to_embedded(cluster)
    assert ended([quick]) == [0], stderr_of(quick)


def home(row: dict[str, Any]) -> Raw:
    """A candidate as a record in its owner's partition."""
    owner: str = row["owner_id"]
    return partition_of(owner, PARTITIONS), owner.encode(), orjson.dumps(row), []


def test_a_flood_of_poison_raises_the_alarm_and_good_owners_go_on(cluster: Cluster) -> None:
    """The bytes are the same in all: each counts, and has a letter."""
    port = free_port()
    worker = cluster.worker(web_port=port)
    good = inputs(lines(rows(40), []))
    cluster.publish(good[:20])
    cluster.decided()
    assert figures(port)["palimpsest_dead_letters_flood"] == 0
    poison: list[Raw] = [(n % PARTITIONS, b"ann", b"poison", []) for n in range(POISON)]
    publish(cluster.connection, cluster.topics, poison)
    cluster.publish(good[20:])
    cluster.decided()
    told = figures(port)
    assert told["palimpsest_dead_letters_flood"] == 1
    assert told['palimpsest_dead_letters_total{reason="not_json"}'] == POISON
    assert told["palimpsest_candidates_total"] == len(good)
    assert told["palimpsest_event_loop_lag_seconds_count"] > 0
    settled(cluster)
    topic = cluster.topics.name("dead_letters")
    letters = cluster.run(read_topic(cluster.connection, topic, PARTITIONS))
    places = {dict(one.headers)["palimpsest-origin"] for some in letters for one in some}
    assert len(places) == POISON
    assert ended([worker]) == [0], stderr_of(worker)


def figures(port: int) -> dict[str, float]:
    """What /metrics says."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    told = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in told}
