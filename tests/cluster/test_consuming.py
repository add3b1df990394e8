"""What is the consumer's is done on the consumer's own thread, also where Faust does otherwise."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState

from palimpsest.streams.cluster import worker
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.policies import load_policy
from tests.stub_engine import StubEngine

NOWHERE = "nowhere:1"


def test_a_rebalance_while_it_ends_closes_nothing_from_another_thread(tmp_path: Path) -> None:
    """A connection closed beneath the thread that reads from it ended the process by SIGSEGV.

    What is left to do there is not to join the group again, and to close when it is told to.
    """
    closed_on: list[threading.Thread] = []
    embedder, nowhere = Embedder(StubEngine()), Connection(bootstrap=NOWHERE)
    settings = worker.WorkerSettings(
        nowhere, Topics(), tmp_path, load_policy("standard"), lambda: embedder
    )

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
