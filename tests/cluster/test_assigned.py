"""A partition's work ends with a word, whatever it ends of."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from typing import Any

import pytest

from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.cluster.tasks import OneThread
from palimpsest.streams.cluster.worker.assigned_partition import AssignedPartition, Delivery, Missed


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
        one = AssignedPartition(producer, writer, OneThread("decider"), missed, fail)
        record = Record("memory.commands", 0, 0, b"")
        await one.commands([Delivery(record, lambda: done.append(0))])
        await asyncio.wait_for(failed.wait(), 10)

    asyncio.run(run())
    assert [type(one) for one in told] == [
        ValueError if isinstance(error, ValueError) else TransientError
    ]
    assert done == []
