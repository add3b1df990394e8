"""What is the consumer's is done on the consumer's own thread, also where Faust does otherwise."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.errors import NodeNotReadyError
from faust.types import TP

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker import worker
from palimpsest.streams.cluster.worker.consumer import CommittedConsumerThread
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.policies import load_policy
from tests.stub_engine import StubEngine

NOWHERE = "nowhere:1"


def without_brokers(folder: Path, embedder: Embedder) -> worker.WorkerSettings:
    nowhere = Connection(bootstrap=NOWHERE)
    return worker.WorkerSettings(
        nowhere, Topics(), folder, load_policy("standard"), lambda: embedder
    )


def test_its_group_is_looked_up_again_while_no_broker_is_known(tmp_path: Path) -> None:
    """aiokafka's own error, which it retries; its assertion ended the worker."""
    embedder = Embedder(StubEngine())
    settings = without_brokers(tmp_path, embedder)

    async def look_up() -> None:
        app = worker.build_app(settings)
        thread: Any = vars(app.consumer)["_thread"]
        consumer = thread._create_worker_consumer(app.transport)
        try:
            await vars(consumer)["_client"].coordinator_lookup(CoordinationType.GROUP, "workers")
        finally:
            await consumer.stop()
            thread.thread_loop.close()

    with pytest.raises(NodeNotReadyError):
        asyncio.run(look_up())
    embedder.close()


def test_a_rebalance_while_it_ends_closes_nothing_from_another_thread(tmp_path: Path) -> None:
    """A connection closed beneath the thread that reads from it ended the process by SIGSEGV.

    What is left to do there is not to join the group again, and to close when it is told to.
    """
    closed_on: list[threading.Thread] = []
    embedder = Embedder(StubEngine())
    settings = without_brokers(tmp_path, embedder)

    async def close() -> None:
        closed_on.append(threading.current_thread())

    async def begin() -> Any:
        coordinator = GroupCoordinator(
            AIOKafkaClient(bootstrap_servers=NOWHERE), SubscriptionState()
        )
        return SimpleNamespace(_coordinator=coordinator, _client=SimpleNamespace(close=close))

    async def join_and_end(coordinator: Any) -> Any:
        joined, _ = await asyncio.gather(coordinator._do_rejoin_group(None), coordinator.close())
        return joined

    async def rebalance() -> Any:
        app = worker.build_app(settings)
        thread: Any = vars(app.consumer)["_thread"]
        runs = thread.thread_loop.run_until_complete
        vars(thread)["_consumer"] = consumer = await asyncio.to_thread(runs, begin())
        app._on_rebalance_when_stopped()
        joined = await asyncio.to_thread(runs, join_and_end(vars(consumer)["_coordinator"]))
        thread.thread_loop.close()
        return joined

    assert asyncio.run(rebalance()) is False
    assert not closed_on
    embedder.close()


FULL, EMPTY = TP("candidates", 0), TP("candidates", 1)


@pytest.mark.parametrize(
    ("full", "asked"), [({FULL}, [{EMPTY}]), ({FULL, EMPTY}, []), (set(), [{FULL, EMPTY}])]
)
def test_nothing_is_fetched_of_a_partition_of_which_enough_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: set[TP], asked: list[set[TP]]
) -> None:
    """And Faust's own set is left as it is: what it fetched before would be dropped."""
    fetched: list[set[TP]] = []
    active = {FULL, EMPTY}
    embedder = Embedder(StubEngine())

    async def fetch(
        _thread: Any, active_partitions: set[TP], _timeout: float
    ) -> dict[TP, list[Any]]:
        fetched.append(active_partitions)
        return {}

    async def take() -> None:
        app = worker.build_app(without_brokers(tmp_path, embedder))
        thread: Any = vars(app.consumer)["_thread"]
        vars(app)["manager"] = SimpleNamespace(full=lambda: full)
        await thread.getmany(active, 1.0)
        thread.thread_loop.close()

    monkeypatch.setattr(CommittedConsumerThread.__base__, "getmany", fetch)
    asyncio.run(take())
    assert fetched == asked
    assert active == {FULL, EMPTY}
    embedder.close()
