"""Partition managers in the test's own process: what they are brought, and what they decided on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import orjson

from palimpsest.contracts.events import Decided
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.cluster.worker.assigned_partition import Delivery
from palimpsest.streams.cluster.worker.manager import PartitionManager
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.policies import load_policy
from tests.cluster.cluster import PARTITIONS
from tests.cluster.verifier import Record as Read
from tests.cluster.verifier import events_of, read_topic
from tests.stub_engine import StubEngine

HOME = partition_of("ann", PARTITIONS)


def row(number: int) -> bytes:
    """The number's candidate of the owner whose partition is `HOME`."""
    said = {"owner_id": "ann", "source": "test", "id": str(number), "text": f"text {number}"}
    return orjson.dumps(said)


def decided(cluster: tuple[Connection, Topics]) -> list[str]:
    """The ids of the owner's candidates in the order in which they were decided on."""
    events = asyncio.run(events_of(*cluster)).get("ann", [])
    return [event.data.candidate.id for event in events if isinstance(event, Decided)]


async def raise_it(error: BaseException) -> None:
    """No test that ends well has a partition whose work ends of something."""
    raise AssertionError from error


def new_manager(
    folder: Path,
    connection: Connection,
    topics: Topics,
    failed: Callable[[BaseException], Awaitable[None]] = raise_it,
    *,
    standing_by: bool = False,
    metrics: Metrics | None = None,
) -> PartitionManager:
    """A manager that has no partitions yet, with the stub embedder."""
    embedder = Embedder(StubEngine())
    return PartitionManager(
        connection,
        topics,
        folder,
        load_policy("standard"),
        lambda _model: embedder,
        lambda: datetime.now(UTC),
        failed,
        metrics or Metrics(),
        standing_by=standing_by,
    )


async def bring(
    manager: PartitionManager, connection: Connection, topics: Topics, offsets: Sequence[int]
) -> list[int]:
    """Let a manager decide on some of the records of `HOME`; the offsets that it acknowledged."""
    done: list[int] = []
    all_done = asyncio.Event()

    def acknowledge(offset: int) -> None:
        done.append(offset)
        if len(done) == len(offsets):
            all_done.set()

    def delivery(read: Read) -> Delivery:
        record = Record(read.topic, read.partition, read.offset, read.value or b"", read.key)
        return Delivery(record, lambda: acknowledge(read.offset))

    read = (await read_topic(connection, topics.name("candidates"), PARTITIONS))[HOME]
    manager.candidates([delivery(read[offset]) for offset in offsets])
    await asyncio.wait_for(all_done.wait(), 60)
    return done
