"""What a worker and a restoration say of how far they have come."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.cluster.client.restore import _require_reached
from palimpsest.streams.cluster.worker.manager import PartitionManager


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
