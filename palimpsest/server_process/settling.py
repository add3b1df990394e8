"""Asks the judge within the server, so that nothing pending waits for another process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.backends.cluster import ClusterWriter
from palimpsest.contracts.errors import PalimpsestError
from palimpsest.jobs.questions import TableQuestions, TableReading, settle
from palimpsest.settings.settings import NO_JUDGE
from palimpsest.streams.judge.service import open_exchange
from palimpsest.streams.judge.settings import JudgeSettings

_log = logging.getLogger(__name__)


@asynccontextmanager
async def settling(store: AsyncPalimpsest, judge: JudgeSettings | None) -> AsyncIterator[None]:
    """Ask the judge about what is pending while the context is open, as `palimpsest verifier` does.

    Without a judge, or with one that cannot be used, a line of the log says that questions wait;
    everything else is served. A cluster has verifiers of its own.
    """
    if isinstance(store.store.writer, ClusterWriter):
        yield
        return
    reading = await store.call(lambda opened: TableReading(opened.writer))
    questions = TableQuestions(reading, lambda ask: store.call(lambda _: ask()))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_settle(store, questions, judge, stop))
        try:
            yield
        finally:
            stop.set()


async def _settle(
    store: AsyncPalimpsest,
    questions: TableQuestions,
    judge: JudgeSettings | None,
    stop: asyncio.Event,
) -> None:
    if judge is None:
        _log.warning("%s (%d wait now)", NO_JUDGE, await questions.waiting())
        return
    try:
        await open_exchange(judge).close()  # fails now if it cannot be used
        _log.info("asks the judge: protocol %s", judge.protocol)
        await settle(questions, store.store.folder, judge, stop)
    except PalimpsestError as error:
        _log.warning("the judge is not asked, and its questions wait: %s", error)
