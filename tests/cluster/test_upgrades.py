"""The rolling upgrade of docs/cluster.md loses nothing; another order stops, and loses nothing.

The next version is this one with a kind of event more (newer.py).
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from uuid import uuid4

import pytest

from palimpsest.contracts.requests import SessionRequest
from palimpsest.contracts.wire import VERSION
from tests.cluster import verifier
from tests.cluster.cluster import Cluster, ended, eventually, is_ready, stderr_of
from tests.cluster.load import Load
from tests.cluster.newer import FORESEE, KIND
from tests.cluster.shell import Shell
from tests.cluster.verifier import read_topic, settled
from tests.reliability.processes import Child, Forge
from tests.reliability.rows import rows
from tests.streams.write.runtime import inputs

SENTENCE = f"({KIND}) needs Palimpsest 9.2 or newer, and this is {VERSION}: upgrade this one"
FIRST = rows(60, owners=9, seed=3)
"""What every owner says before anything is upgraded; the load says it, too."""


def decisions(cluster: Cluster) -> list[list[verifier.Record]]:
    name, partitions = cluster.topics.name("decisions"), cluster.topics.partitions
    return cluster.run(read_topic(cluster.connection, name, partitions))


def foreseen(cluster: Cluster) -> list[set[str]]:
    """The ids of the next version's events in each partition."""
    found = [[json.loads(one.value or b"") for one in some] for some in decisions(cluster)]
    return [{event["id"] for event in some if event["type"] == KIND} for some in found]


def foresee(cluster: Cluster) -> None:
    """Ask for what only the next version does, of an owner in each partition."""
    for owner in {row["owner_id"] for row in FIRST}:
        asked = SessionRequest(
            request="compact",
            request_id=str(uuid4()),
            owner_id=owner,
            session_id="monday",
            because=FORESEE,
        )
        assert "done" in cluster.ask(asked)


def require_nothing_lost(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put inputs and decisions side by side, without what this version cannot read."""
    real = verifier.read_topic

    async def known(*asked: object) -> Sequence[Sequence[verifier.Record]]:
        found = await real(*asked)  # type: ignore[arg-type]
        return [[one for one in some if KIND.encode() not in (one.value or b"")] for some in found]

    monkeypatch.setattr(verifier, "read_topic", known)
    settled(cluster)


def require_shown(cluster: Cluster, newer: Forge) -> None:
    """The next version's store has every event of the topic, and its projections are the log's."""
    cluster.followed()
    assert set(ended(cluster.children)) <= {0}
    export = cluster.folder / "log.jsonl"
    store = cluster.folder / "store"
    ran = newer.run(store, ["log", "export", str(export)], ["verify"])
    assert ran.statuses() == [0, 0], ran.printed(1, 2)
    held = [json.loads(line)["id"] for line in export.read_bytes().splitlines()]
    topic = [json.loads(one.value or b"")["id"] for some in decisions(cluster) for one in some]
    assert sorted(held) == sorted(set(topic))
    assert set().union(*foreseen(cluster)) <= set(held)


def replace(cluster: Cluster, worker: Child, name: str, newer: Forge) -> Child:
    worker.kill(signal.SIGTERM)
    assert worker.wait() == 0, worker.printed(0, 2)
    cluster.children.remove(worker)
    upgraded = cluster.worker(name, forge=newer, taken=16)
    eventually(lambda: is_ready(upgraded), f"{name} is ready again")
    return upgraded


def test_the_rolling_upgrade_of_the_docs_loses_nothing(
    cluster: Cluster, newer: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = {name: cluster.worker(name, taken=16) for name in ("one", "two")}
    projector = cluster.projector()
    cluster.publish(inputs(FIRST))
    with Load(cluster.connection, cluster.topics, pause=0.3):
        eventually(lambda: all(map(is_ready, workers.values())), "the workers are ready")
        projector.kill(signal.SIGTERM)
        assert projector.wait() == 0, projector.printed(0, 2)
        cluster.children.remove(projector)
        cluster.projector(forge=newer)
        for name, worker in workers.items():
            replace(cluster, worker, name, newer)
        foresee(cluster)
    assert all(foreseen(cluster))
    require_nothing_lost(cluster, monkeypatch)
    require_shown(cluster, newer)


def test_in_another_order_older_processes_stop_and_nothing_is_lost(
    cluster: Cluster, forge: Forge, newer: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(cluster.folder, cluster.connection, forge)
    cluster.publish(inputs(FIRST))
    upgraded = cluster.worker("one", forge=newer, taken=16)
    eventually(lambda: is_ready(upgraded), "the upgraded worker is ready")
    cluster.decided()
    projector = shell.start("project")
    with Load(cluster.connection, cluster.topics, pause=0.3):
        foresee(cluster)
        assert projector.wait() == 4, stderr_of(projector)
        older = shell.start("worker", "--instance", "two", "--standby")
        eventually(lambda: SENTENCE in stderr_of(older), "a standby says what it needs")
        upgraded.kill()
        assert upgraded.wait() == -signal.SIGKILL
        assert older.wait() == 4, stderr_of(older)
        before = [len(some) for some in decisions(cluster)]
    for child in (projector, older):
        assert SENTENCE in " ".join(stderr_of(child).split()), stderr_of(child)
        assert "Traceback" not in stderr_of(child)
    assert [len(some) for some in decisions(cluster)] == before, "it decided on nothing"
    cluster.children.clear()
    cluster.worker("two", forge=newer, taken=16)
    cluster.projector(forge=newer)
    require_nothing_lost(cluster, monkeypatch)
    require_shown(cluster, newer)
