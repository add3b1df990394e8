"""A worker whose disk is full waits, says so in one sentence, and goes on when there is room."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import orjson

from palimpsest.contracts.events import Decided
from tests.cluster.cluster import Cluster, ended, eventually, stderr_of
from tests.cluster.load import publish
from tests.cluster.managers import HOME
from tests.cluster.verifier import events_of

COUNT = 400


def row(number: int) -> bytes:
    said = {"owner_id": "ann", "source": "test", "id": str(number), "text": f"text {number}"}
    return orjson.dumps(said | {"note": f"{number} " * 500})


def test_a_worker_waits_for_room_and_loses_nothing(
    cluster: Cluster, small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("size=1500k")
    worker = cluster.worker("disk")
    publish(
        cluster.connection,
        cluster.topics,
        [(HOME, b"ann", row(number), []) for number in range(COUNT)],
    )
    eventually(lambda: "is full" in stderr_of(worker), "it says that the disk is full")
    assert not worker.has_ended(), stderr_of(worker)
    subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
    cluster.decided()
    assert ended([worker]) == [0], stderr_of(worker)
    assert stderr_of(worker).count("is full: the worker waits") == 1
    assert "Traceback" not in stderr_of(worker)
    events = cluster.run(events_of(cluster.connection, cluster.topics))["ann"]
    found = [event.data.candidate.id for event in events if isinstance(event, Decided)]
    assert found == [str(number) for number in range(COUNT)]
