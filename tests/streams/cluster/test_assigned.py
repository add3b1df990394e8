"""A partition's work ends with a word, whatever it ends of, and its turns are short."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import CancelledError
from threading import Event
from typing import Any

import pytest

from palimpsest.contracts.errors import DiskFullError, TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.cluster.tasks import OneThread
from palimpsest.streams.cluster.worker import assigned_partition
from palimpsest.streams.cluster.worker.assigned_partition import AssignedPartition, Delivery, Missed
from palimpsest.streams.cluster.worker.fibers import Fiber
from palimpsest.streams.cluster.worker.partition_writer import Opened
from palimpsest.streams.write.windows import WINDOW_BYTES, Window


class Writer:
    """One whose client gives up what it was asked, as aiokafka's do when a connection breaks."""

    ending = False

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def carry_out(self, _record: Record) -> None:
        raise self._error


@pytest.mark.parametrize("error", [CancelledError(), asyncio.CancelledError(), ValueError()])
def test_what_a_client_gives_up_is_a_failure(error: BaseException) -> None:
    told: list[BaseException] = []
    done: list[int] = []

    async def run() -> None:
        failed = asyncio.Event()

        async def fail(error: BaseException) -> None:
            told.append(error)
            failed.set()

        writer: Any = Writer(error)
        producer: Any = None
        missed = Missed(Connection(bootstrap="127.0.0.1:1"), {})
        one = AssignedPartition(producer, writer, Fiber(OneThread("decider")), missed, set(), fail)
        record = Record("memory.commands", 0, 0, b"")
        one.commands([Delivery(record, lambda: done.append(0))])
        await asyncio.wait_for(failed.wait(), 10)

    asyncio.run(run())
    assert [type(one) for one in told] == [
        ValueError if isinstance(error, ValueError) else TransientError
    ]
    assert done == []


class Recording:
    """A writer that records how many candidates it decided on at a time."""

    ending = uses_wait = False

    def __init__(self, decided: list[int]) -> None:
        self._decided = decided
        self.log: Any = self

    def open(self, records: Sequence[Record]) -> Opened:
        return Opened(records, Window((), (), None))

    def close(self, opened: Opened | None = None) -> None:
        if opened is not None:
            self._decided.append(len(opened.records))

    async def stop(self) -> None:
        """As the producer that it stands for, too."""


def test_who_reads_skipped_records_no_longer_has_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    has_client = True

    async def read_range(*_: object) -> AsyncGenerator[list[Any], None]:
        nonlocal has_client
        try:
            yield []
        finally:
            await asyncio.sleep(0)
            has_client = False

    monkeypatch.setattr(assigned_partition, "read_range", read_range)

    async def run() -> bool:
        missed = Missed(Connection(bootstrap="127.0.0.1:1"), {"memory.candidates": 0})
        reading = missed.before(Record("memory.candidates", 0, 9, b""))
        await anext(reading)
        await reading.aclose()
        return has_client

    assert not asyncio.run(run())


def test_only_the_first_failure_is_told() -> None:
    """What follows from it must not end a worker that waits until its disk has room."""
    told: list[BaseException] = []

    class Full(Writer):
        def open(self, _records: Sequence[Record]) -> None:
            raise TransientError("the last commit may be at the brokers")

    async def run() -> None:
        async def fail(error: BaseException) -> None:
            told.append(error)

        deciding, go_on = OneThread("decider"), Event()
        writer: Any = Full(DiskFullError("the disk is full"))
        producer: Any = None
        missed = Missed(Connection(bootstrap="127.0.0.1:1"), {})
        one = AssignedPartition(producer, writer, Fiber(deciding), missed, set(), fail)
        deciding.submit(go_on.wait, 10)
        for accept in (one.commands, one.candidates):
            accept([Delivery(Record("memory", 0, 0, b""), lambda: None)])
            for _ in range(9):
                await asyncio.sleep(0)
        go_on.set()
        await deciding.run(lambda: None)
        for _ in range(9):
            await asyncio.sleep(0)

    asyncio.run(run())
    assert [type(error) for error in told] == [DiskFullError]


def test_a_turn_ends_after_a_window_s_bytes() -> None:
    """One decides at a time: a batch of all that waits in one partition would hold the others."""
    decided: list[int] = []

    async def run() -> None:
        async def fail(error: BaseException) -> None:
            raise AssertionError from error

        missed = Missed(Connection(bootstrap="127.0.0.1:1"), {})
        done = asyncio.Semaphore(0)
        writer: Any = Recording(decided)
        one = AssignedPartition(writer, writer, Fiber(OneThread("decider")), missed, set(), fail)
        records = [Record("memory.candidates", 0, n, b"x" * 10_000) for n in range(100)]
        one.candidates([Delivery(record, done.release) for record in records])
        async with asyncio.timeout(10):
            for _ in records:
                await done.acquire()
        await one.close()

    asyncio.run(run())
    assert sum(decided) == 100
    assert max(decided) * 10_000 <= WINDOW_BYTES + 10_000
