"""Asks the judge within the server, so that nothing pending waits for another process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.backends.cluster import ClusterWriter
from palimpsest.contracts.errors import PalimpsestError
from palimpsest.jobs.questions import TableQuestions, TableReading, settle
from palimpsest.settings.settings import NO_JUDGE
from palimpsest.streams.judge.service import open_exchange
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.worker import Tally

_log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 30 * 60.0
"""A judge that cannot be used, for example because its key is refused, is tried after pauses of
one minute to half an hour."""


@asynccontextmanager
async def settling(store: AsyncPalimpsest, judge: JudgeSettings | None) -> AsyncIterator[None]:
    """Ask the judge about what is pending while the context is open, as `palimpsest verifier` does.

    Without a judge, or while it cannot be used, a line of the log says that questions wait, and
    everything else is served. A cluster has verifiers of its own.
    """
    if isinstance(store.store.writer, ClusterWriter):
        yield
        return
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_settle(store, judge, stop))
        try:
            yield
        finally:
            stop.set()


async def _settle(store: AsyncPalimpsest, judge: JudgeSettings | None, stop: asyncio.Event) -> None:
    """Ask the judge until `stop` is set; after a failure again, with growing pauses."""
    if judge is None:
        _log.warning("%s (%d wait now)", NO_JUDGE, await (await _questions(store)).waiting())
        return
    pause = FIRST_PAUSE_SECONDS
    while not stop.is_set():
        answered = False

        def report(tally: Tally, _down: bool) -> None:
            nonlocal answered
            answered = answered or tally.calls > 0

        try:
            await open_exchange(judge).close()  # fails now if it cannot be used
            _log.info("asks the judge: protocol %s", judge.protocol)
            await settle(await _questions(store), store.store.folder, judge, stop, report=report)
        except PalimpsestError as error:
            pause = FIRST_PAUSE_SECONDS if answered else pause
            _log.warning(
                "the judge is not asked, and its questions wait: %s; next attempt in %.0f s",
                error,
                pause,
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def _questions(store: AsyncPalimpsest) -> TableQuestions:
    """The pending questions, none of which is taken yet."""
    reading = await store.call(lambda opened: TableReading(opened.writer))
    return TableQuestions(reading, lambda ask: store.call(lambda _: ask()))
