"""What a worker and a restoration say of how far they have come."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock
from uuid import uuid4

import pytest
from aiokafka.errors import KafkaTimeoutError

from palimpsest.contracts.errors import TransientError, UsageError
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster.client import import_log, restore
from palimpsest.streams.cluster.client.restore import Copy, _Plan, _require_reached
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import ExistingTopic
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.manager import PartitionManager
from palimpsest.streams.core.record import policy_event
from palimpsest.streams.policies import load_policy

NOBODY = Connection(bootstrap="nobody:1")


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


def test_a_policy_is_restored_to_every_partition() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    policy = policy_event(load_policy("standard"), str(uuid4()), None, at)
    copy = Copy(lambda: [encode(policy)], {}, Path("kept"))
    there = ExistingTopic("an id", 3, 1, operations=0)
    plan = _Plan(NOBODY, Topics("", 3), there, copy)
    plan.deleted = {1: 7, 2: 7}
    found = [(partition, event.id) for partition, event, _ in plan._from_copy()]
    assert found == [(1, policy.id), (2, policy.id)]


@pytest.mark.parametrize(
    ("stage", "advice"), [("_require_empty", "repeat"), ("_publish", "recreate the topics")]
)
def test_brokers_that_go_away_during_an_import_are_no_bug(
    monkeypatch: pytest.MonkeyPatch, stage: str, advice: str
) -> None:
    """Topics that nobody has looked into may have decisions: they are not to be recreated."""
    for name in ("_require_empty", "_publish"):
        monkeypatch.setattr(import_log, name, AsyncMock())
    monkeypatch.setattr(import_log, "PartitionProducer", MagicMock(return_value=AsyncMock()))
    monkeypatch.setattr(import_log, stage, AsyncMock(side_effect=KafkaTimeoutError))
    imported = import_log.import_lines(NOBODY, Topics("", 1), list, print)
    with pytest.raises(TransientError, match=rf"KafkaTimeoutError\): {advice}"):
        asyncio.run(imported)


def test_brokers_that_go_away_during_a_restoration_are_no_bug(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(restore, "_require_no_workers", AsyncMock(side_effect=KafkaTimeoutError))
    with pytest.raises(TransientError, match=r"KafkaTimeoutError.*repeat the command"):
        asyncio.run(restore.restore(NOBODY, Copy(list, {}, Path("kept")), print))
