"""A partition whose texts cannot be embedded, beside others and a `policy set`, on real brokers."""

from __future__ import annotations

from uuid import uuid4

from palimpsest.contracts.requests import PolicyRequest
from palimpsest.streams.cluster.topics import partition_of
from palimpsest.streams.cluster.worker.assigned_partition import AHEAD
from palimpsest.streams.policies import load_policy
from tests.cluster.cluster import PARTITIONS, Cluster, ended, eventually, is_ready, stderr_of
from tests.cluster.verifier import settled
from tests.reliability.rows import Row, lines
from tests.streams.write.runtime import inputs

TAKEN = 16
WORD = "unreadable"
STUCK, *OTHERS = (
    next(name for name in map(str, range(100)) if partition_of(name, PARTITIONS) == p)
    for p in range(PARTITIONS)
)
"""An owner of each partition."""


def say(owner: str, number: int, text: str) -> Row:
    return {"id": f"{owner}-{number}", "source": "test", "owner_id": owner, "text": text}


def test_a_policy_that_needs_no_model_cures_a_partition_that_is_full_without_one(
    cluster: Cluster,
) -> None:
    worker = cluster.worker(taken=TAKEN, buffered=2 * TAKEN, unreadable=WORD)
    eventually(lambda: is_ready(worker), "it is ready")
    count = 10 * (AHEAD + 2) * TAKEN
    cluster.publish(
        inputs(lines([say(STUCK, number, f"{WORD} {number}") for number in range(count)]))
    )
    eventually(lambda: "waits for the model" in stderr_of(worker), "it waits for the model")
    others = [say(owner, number, f"text {number}") for number in range(99) for owner in OTHERS]
    cluster.publish(inputs(lines(others)))
    without = load_policy("standard").model_copy(update={"embedder_fails": "store"})
    rules = without.model_dump(mode="json")
    answer = cluster.ask(PolicyRequest(request_id=str(uuid4()), policy=rules))
    assert "done" in answer
    cluster.decided()
    settled(cluster)
    assert ended([worker]) == [0], stderr_of(worker)
