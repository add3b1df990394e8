"""When a worker is ready, and when it is held to be stuck."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP

from streams.cluster import pages
from streams.cluster.metrics import Flood, Metrics
from streams.cluster.pages import Watch

AT = TP("memory.candidates", 0)


class Consumer:
    """As much of Faust's as is asked for its state."""

    def __init__(self) -> None:
        self.end = 10
        self.unacked: set[int] = set()

    def assignment(self) -> set[TP]:
        return {AT}

    def highwater(self, _tp: TP) -> int:
        return self.end


def watch(consumer: Consumer, *, ready: bool = True) -> Watch:
    app: Any = SimpleNamespace(consumer=consumer)
    station: Any = SimpleNamespace(partitions=[0] if ready else [], owners_in_memory=0)
    return Watch(app, station, Metrics())


def event(offset: int) -> Any:
    message = SimpleNamespace(tp=AT, offset=offset)
    return SimpleNamespace(message=message, ack=lambda: None)


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was done, was done too long ago."""
    monkeypatch.setattr(pages, "STUCK_SECONDS", -1.0)


@pytest.mark.usefixtures("long_ago")
def test_it_is_stuck_where_input_waits_and_nothing_is_acknowledged() -> None:
    watching = watch(Consumer())
    assert not watching.stuck()
    acknowledge = watching.acknowledging(event(5))
    assert watching.lag() == {AT: 5}
    assert watching.stuck()
    acknowledge()
    assert watching.lag() == {AT: 4}
    watching.acknowledging(event(8))()
    assert not watching.stuck()


@pytest.mark.usefixtures("long_ago")
def test_what_is_held_waits_too_but_not_before_it_is_ready() -> None:
    consumer = Consumer()
    consumer.unacked.add(1)
    assert watch(consumer).stuck()
    assert not watch(consumer, ready=False).stuck()


def test_it_is_well_while_it_makes_progress() -> None:
    consumer = Consumer()
    consumer.unacked.add(1)
    assert not watch(consumer).stuck()


@pytest.mark.usefixtures("long_ago")
def test_an_assignment_forgets_what_others_may_have_done_meanwhile() -> None:
    watching = watch(Consumer())
    watching.acknowledging(event(2))()
    watching.begin()
    assert watching.lag() == {AT: 0}
    assert not watching.stuck()


def test_a_flood_is_more_than_so_many_within_a_minute() -> None:
    now = [0.0]
    flood = Flood(2, lambda: now[0])
    for _ in range(2):
        flood.came()
    assert not flood.is_on()
    flood.came()
    assert flood.is_on()
    now[0] = 61.0
    assert not flood.is_on()
