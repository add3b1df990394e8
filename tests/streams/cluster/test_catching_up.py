"""What a worker and a restoration say of how far they have come."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.evidence import RecordedJudge
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster.client.restore import Copy, _Plan, _require_reached
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import ExistingTopic
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.manager import PartitionManager
from palimpsest.streams.core.record import judge_event, policy_event
from palimpsest.streams.policies import load_policy


def test_a_worker_that_catches_up_is_alive() -> None:
    """Else a supervisor that looks at the metric would end it while it fills its replicas."""
    noted: list[str] = []
    metrics = SimpleNamespace(progress=lambda: noted.append("progress"))
    PartitionManager._report(cast("Any", SimpleNamespace(_metrics=metrics)), 1, 2)
    assert noted == ["progress"]


def test_a_store_meets_a_topic_where_it_ends_or_later() -> None:
    _require_reached(0, 7, 7)
    _require_reached(0, 8, 7)
    with pytest.raises(UsageError, match="before offset 6, and the topic begins at 7"):
        _require_reached(0, 6, 7)


def test_a_judge_is_restored_to_every_partition_like_a_policy() -> None:
    """Each partition has its own: without it, it would record the same judge as another one."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    judge = judge_event(RecordedJudge(protocol="python", model="mine"), str(uuid4()), at, None)
    policy = policy_event(load_policy("standard"), str(uuid4()), None, at)
    copy = Copy(lambda: [encode(policy), encode(judge)], {}, Path("kept"))
    there = ExistingTopic("an id", 3, 1)
    plan = _Plan(Connection(bootstrap="nobody:1"), Topics("", 3), there, copy)
    plan.deleted = {1: 7, 2: 7}
    found = [(partition, event.id) for partition, event, _ in plan._from_copy()]
    assert found == [(p, event.id) for event in (policy, judge) for p in (1, 2)]
