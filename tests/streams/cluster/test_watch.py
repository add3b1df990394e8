"""When a worker is ready, when it is held to be stuck, and what it ends of by itself."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.errors import GroupAuthorizationFailedError
from aiokafka.structs import OffsetAndMetadata
from faust.types import TP

from palimpsest.contracts.errors import PalimpsestError, StoreError, TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker import watch as watch_module
from palimpsest.streams.cluster.worker.consumer import Member
from palimpsest.streams.cluster.worker.metrics import Flood, Metrics
from palimpsest.streams.cluster.worker.watch import (
    LOOK_SECONDS,
    STUCK_SECONDS,
    Backlog,
    Watch,
    ask_waiting,
)

AT = TP("memory.candidates", 0)
LOOKS = int(STUCK_SECONDS / LOOK_SECONDS)


class Group:
    """A member of a group, and the brokers; both say what a test sets."""

    def __init__(self) -> None:
        self.assigned = {AT}
        self.fetched = {AT: 3}
        self.unacknowledged = 0
        self.gone: BaseException | None = None
        self.lag = 7
        self.identities = {AT.topic: "first"}
        self.away: BaseException | None = None
        self.waiting: dict[str, Any] = {}

    def assignment(self) -> set[TP]:
        return self.assigned

    def positions(self) -> dict[TP, int]:
        return self.fetched

    def held(self) -> int:
        return self.unacknowledged

    def trouble(self) -> BaseException | None:
        return self.gone

    async def ask(self) -> Backlog:
        if self.away is not None:
            raise self.away
        return Backlog({AT: 10}, {AT: self.lag}, self.identities, **self.waiting)


async def end(error: BaseException) -> None:
    raise AssertionError from error


def watch(group: Any, *, ready: bool = True) -> Watch:
    manager: Any = SimpleNamespace(partitions=[0] if ready else [], owners_in_memory=0)
    return Watch(group, manager, Metrics(), group.ask, end)


def look(watching: Watch, times: int = LOOKS + 1) -> Watch:
    """Look so often; the first look only finds where things are."""
    for _ in range(times):
        asyncio.run(watching.look())
    return watching


def figure(watching: Watch, name: str) -> float:
    told = watching.figures().decode().splitlines()
    return float(next(line for line in told if line.startswith(name)).rpartition(" ")[2])


def test_a_consumer_that_stands_still_is_stuck_and_its_lag_is_reported() -> None:
    watching = look(watch(Group()), LOOKS)
    assert not watching.stuck()
    assert look(watching, 1).stuck()
    assert figure(watching, "palimpsest_lag{") == 7


def test_what_is_held_waits_though_all_was_fetched() -> None:
    group = Group()
    group.fetched = {AT: 10}
    assert not look(watch(group)).stuck()  # what is left are markers, or was given up
    group.unacknowledged = 1
    assert look(watch(group)).stuck()


def test_lag_is_reported_for_every_partition_and_before_it_is_ready() -> None:
    group = Group()
    group.assigned = set()
    watching = look(watch(group, ready=False))
    assert figure(watching, "palimpsest_lag{") == 7
    assert not watching.stuck()
    assert not watching.ready()


def test_it_is_ready_once_it_decides_for_all_that_it_was_given() -> None:
    group = Group()
    watching = watch(group)
    assert watching.ready()
    group.assigned = {AT, TP("memory.candidates", 1)}
    assert not watching.ready()


def test_what_another_has_acknowledged_does_not_wait_though_it_was_not_fetched() -> None:
    group = Group()
    group.fetched, group.lag = {}, 0
    assert not look(watch(group)).stuck()


def test_deleted_decisions_and_settings_that_delete_are_told_once_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = Group()
    watching = watch(group)
    group.waiting = {"decisions_begin": {0: 0, 1: 9}, "expiring": ["retention.ms is 1"]}
    look(watching, 2)
    assert figure(watching, 'palimpsest_decisions_begin{partition="1"}') == 9
    assert figure(watching, "palimpsest_decisions_expire") == 1
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert "partitions 1: stop the workers" in caplog.text
    group.waiting = {"decisions_begin": {0: 0}, "expiring": []}
    assert figure(look(watching, 1), "palimpsest_decisions_expire") == 0


def test_of_a_topic_that_is_gone_no_lag_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    watching = look(watch(Group()), 1)
    assert figure(watching, "palimpsest_lag{") == 7
    monkeypatch.setattr(watching, "_ask", AsyncMock(return_value=Backlog({}, {}, {})))
    assert "palimpsest_lag{" not in look(watching, 1).figures().decode()


def test_it_is_not_stuck_while_anything_is_done() -> None:
    watching = watch(Group())
    for _ in range(LOOKS + 1):
        with watching.metrics.stage("embed"):
            look(watching, 1)
    assert not watching.stuck()


@pytest.mark.parametrize("away", [TransientError("away"), asyncio.CancelledError()])
def test_time_without_brokers_does_not_count(away: BaseException) -> None:
    group = Group()
    watching = look(watch(group))
    group.away = away
    assert not look(watching, 1).stuck()
    assert figure(watching, "palimpsest_lag{") == 7
    group.away = None
    assert not look(watching, 1).stuck()


def test_it_ends_when_it_is_stuck_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "GIVE_UP_SECONDS", 30.0)
    watching = look(watch(Group()), 3)
    with pytest.raises(TransientError, match="without progress for 30 s"):
        look(watching, 1)


def test_it_ends_when_a_topic_was_recreated_but_not_while_it_is_gone() -> None:
    group = Group()
    watching = look(watch(group), 2)
    group.identities = {}
    look(watching, 1)
    group.identities = {AT.topic: "second"}
    with pytest.raises(StoreError, match="recreated"):
        look(watching, 1)


def test_it_ends_when_its_part_in_the_group_has_ended() -> None:
    """Faust never asks aiokafka for what the coordinator has to say, which waits for that."""
    group = Group()
    group.gone = GroupAuthorizationFailedError()
    with pytest.raises(TransientError, match="GroupAuthorizationFailedError"):
        look(watch(group), 1)


def test_the_worker_reports_what_it_ends_of() -> None:
    told: list[BaseException] = []

    async def failed(error: BaseException) -> None:
        told.append(error)

    group: Any = Group()
    group.gone = GroupAuthorizationFailedError()
    manager: Any = SimpleNamespace(partitions=[], owners_in_memory=0)
    asyncio.run(Watch(group, manager, Metrics(), group.ask, failed).look_loop())
    assert [isinstance(error, PalimpsestError) for error in told] == [True]


class Client:
    """A client of brokers, which its connection knows."""

    def __init__(self) -> None:
        self.itself = self


def test_the_clients_of_a_look_are_freed_though_the_collector_rests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_module, "LOOK_SECONDS", 0)
    clients: list[weakref.ref[Client]] = []

    async def run() -> None:
        freed = asyncio.Event()

        async def ask() -> Backlog:
            if clients and clients[0]() is None:
                freed.set()
            clients.append(weakref.ref(Client()))
            return Backlog({AT: 10}, {AT: 0}, {})

        async def failed(error: BaseException) -> None:
            raise AssertionError from error

        manager: Any = SimpleNamespace(partitions=[], owners_in_memory=0)
        group: Any = Group()
        looking = asyncio.create_task(Watch(group, manager, Metrics(), ask, failed).look_loop())
        await asyncio.wait_for(freed.wait(), 10)
        looking.cancel()

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


def test_an_acknowledgement_is_progress() -> None:
    watching = watch(Group())
    event: Any = SimpleNamespace(ack=lambda: None)
    before = watching.metrics.steps
    watching.acknowledging(event)()
    assert watching.metrics.steps > before


# -- what is asked of the member -------------------------------------------------------------------


def member(consumer: Any) -> Member:
    """Of an app with as much of Faust's and aiokafka's consumers as is asked for."""
    app: Any = SimpleNamespace(consumer=consumer, consumer_generation_id=2)
    return Member(app)


def message(generation: int, *, acked: bool = False) -> Any:
    return SimpleNamespace(generation_id=generation, acked=acked)


def test_held_are_those_of_the_present_assignment_that_are_not_acknowledged() -> None:
    """Faust keeps the last one of an earlier assignment, which nobody acknowledges."""
    unacked = [message(1), message(2), message(2, acked=True)]
    assert member(SimpleNamespace(unacked=unacked)).held() == 1


def test_before_it_has_begun_it_has_nothing_and_no_trouble() -> None:
    new = member(SimpleNamespace(unacked=()))
    assert (new.assignment(), new.positions(), new.held(), new.trouble()) == (set(), {}, 0, None)


def test_a_partition_that_was_never_fetched_has_no_position() -> None:

    async def positions() -> Mapping[TP, int]:
        states = SubscriptionState()
        states.assign_from_user([AT, TP("memory.candidates", 1)])
        states.subscription.assignment.state_value(AT).seek(3)
        thread = SimpleNamespace(_consumer=SimpleNamespace(_subscription=states))
        return member(SimpleNamespace(_thread=thread)).positions()

    assert asyncio.run(positions()) == {AT: 3}


def test_trouble_is_what_the_coordinator_would_raise_if_it_were_asked() -> None:
    async def find(pending: BaseException | None, *, ends: bool) -> BaseException | None:
        async def run() -> None:
            if ends:
                raise ValueError
            await asyncio.sleep(60)

        running = asyncio.create_task(run())
        await asyncio.sleep(0)
        coordinator = SimpleNamespace(_pending_exception=pending, _coordination_task=running)
        thread = SimpleNamespace(_consumer=SimpleNamespace(_coordinator=coordinator))
        found = member(SimpleNamespace(_thread=thread)).trouble()
        running.cancel()
        return found

    fenced = GroupAuthorizationFailedError()
    assert asyncio.run(find(None, ends=False)) is None
    assert asyncio.run(find(fenced, ends=False)) is fenced
    assert isinstance(asyncio.run(find(None, ends=True)), ValueError)


def test_a_flood_is_more_than_so_many_within_a_minute() -> None:
    now = [0.0]
    flood = Flood(2, lambda: now[0])
    for _ in range(2):
        flood.count_one()
    assert not flood.is_on()
    flood.count_one()
    assert flood.is_on()
    now[0] = 59.0
    assert flood.is_on()
    now[0] = 60.0
    assert not flood.is_on()


def asked(
    monkeypatch: pytest.MonkeyPatch, *, begin: int, end: int, acknowledged: int | None = None
) -> Backlog:
    """What waits where only the first partition of the topic of candidates has been worked on."""
    topics = Topics("", 2)
    done = {}
    if acknowledged is not None:
        done = {topics.at("candidates", 0): OffsetAndMetadata(acknowledged, "first")}
    brokers = SimpleNamespace(
        end_offsets=AsyncMock(side_effect=lambda asked: dict.fromkeys(asked, end)),
        beginning_offsets=AsyncMock(side_effect=lambda asked: dict.fromkeys(asked, begin)),
    )
    there = SimpleNamespace(topics={"memory.candidates": SimpleNamespace(topic_id="first")})
    monkeypatch.setattr(watch_module, "read_metadata", AsyncMock(return_value=there))
    monkeypatch.setattr(watch_module, "answering", lambda _: nullcontext())
    monkeypatch.setattr(watch_module, "reader", lambda _: nullcontext(brokers))
    monkeypatch.setattr(watch_module, "acknowledged", AsyncMock(return_value=done))
    return asyncio.run(ask_waiting(Connection(bootstrap="nobody:1"), topics))


def test_of_a_topic_that_is_gone_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = asked(monkeypatch, begin=3, end=3)
    assert {(at.topic, at.partition) for at in waiting.ends} == {
        ("memory.candidates", partition) for partition in (0, 1)
    }
    assert waiting.identities == {"memory.candidates": "first"}


@pytest.mark.parametrize(
    ("acknowledged", "lags"),
    [
        pytest.param(None, [6, 6], id="what retention deleted does not wait"),
        pytest.param(7, [3, 6], id="what was acknowledged does not wait"),
        pytest.param(2, [6, 6], id="acknowledged before retention deleted more"),
        pytest.param(12, [0, 6], id="never less than nothing"),
    ],
)
def test_what_waits_can_still_be_read(
    monkeypatch: pytest.MonkeyPatch, acknowledged: int | None, lags: list[int]
) -> None:
    waiting = asked(monkeypatch, begin=4, end=10, acknowledged=acknowledged)
    assert [waiting.lag[at] for at in sorted(waiting.lag)] == lags
