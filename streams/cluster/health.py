"""The endpoints /metrics, /healthz and /readyz of a worker and of the projector.

The projector serves its own on the loopback; a worker's are on Faust's web server.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from aiohttp import web
from aiokafka.errors import KafkaError

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import Offsets, TopicPartition, reader
from palimpsest.streams.cluster.registry import Board, Figure

NOT_WELL = 503
TEXT = "text/plain"


class Watched(Protocol):
    """A process that can report its health."""

    def stuck(self) -> bool:
        """Whether work waits and no progress is made."""

    def ready(self) -> bool:
        """Whether it is ready to work."""

    def figures(self) -> bytes:
        """All current metrics."""


@dataclass(frozen=True, slots=True)
class HealthPage:
    """A page's text and HTTP status."""

    body: bytes
    status: int = 200


def _metrics(watched: Watched) -> HealthPage:
    return HealthPage(watched.figures())


def _healthz(watched: Watched) -> HealthPage:
    if watched.stuck():
        return HealthPage(b"stuck: something waits, and nothing is done\n", NOT_WELL)
    return HealthPage(b"alive\n")


def _readyz(watched: Watched) -> HealthPage:
    if not watched.ready():
        return HealthPage(b"not ready: nothing assigned, or not caught up\n", NOT_WELL)
    return HealthPage(b"ready\n")


PAGES: Mapping[str, Callable[[Watched], HealthPage]] = {
    "metrics": _metrics,
    "healthz": _healthz,
    "readyz": _readyz,
}


_log = logging.getLogger(__name__)

STUCK_SECONDS = 60.0
"""If records wait for this long and none is taken, /healthz reports the projector as stuck."""
LOOK_SECONDS = 1.0
"""Interval of asking the brokers for the ends of the topics. A separate client asks, because one
that reads records may report stale ends."""
LOOPBACK = "127.0.0.1"

FOLLOWED = (
    Figure(
        "palimpsest_followed",
        "counter",
        "Records that the store has taken over.",
        "Its rate is the projector's throughput; compare it with what the workers decide.",
    ),
    Figure(
        "palimpsest_lag",
        "gauge",
        "Records of a partition that the store does not have yet.",
        "Alert when it grows for minutes: recall is that far behind. Check the disk.",
        ("topic", "partition"),
    ),
    Figure(
        "palimpsest_progress_timestamp_seconds",
        "gauge",
        "When the store last took over a record, in seconds since 1970.",
        "Old while there is lag: the projector is stuck, and /healthz says so; restart it.",
    ),
)


class FollowerWatch:
    """How far a store has followed its topics, and where these end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._board = Board(FOLLOWED)
        self._at: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._progress = time.time()
        self._waits_since = 0.0
        self._caught_up = False

    def took(self, records: int, at: Offsets) -> None:
        """Count records that the store took over, and note its new offsets."""
        self._board.count("palimpsest_followed", records)
        self._at |= at
        self._progress = time.time()

    def saw(self, ends: Offsets) -> None:
        """Note the current ends of the topics."""
        if not any(self.lag().values()):
            self._waits_since = time.time()
        self._ends = dict(ends)
        self._caught_up |= not any(self.lag().values())

    def lag(self) -> dict[TopicPartition, int]:
        """The number of waiting records per partition, as far as the brokers have reported."""
        return {at: max(end - self._at[at], 0) for at, end in self._ends.items()}

    def ready(self) -> bool:
        """Whether the store has caught up since the process started."""
        return self._caught_up

    def stuck(self) -> bool:
        """Whether records have waited too long; repairs before the store follows do not count."""
        waits = any(self.lag().values())
        return waits and time.time() - max(self._progress, self._waits_since) > STUCK_SECONDS

    async def look_loop(self) -> None:
        """Ask for the ends of the topics, for ever; until an answer comes, the last one counts."""
        has_warned = False
        while True:
            try:
                async with reader(self._connection) as consumer:
                    while True:
                        if self._at:
                            self.saw(await consumer.end_offsets(list(self._at)))
                            has_warned = False
                        await asyncio.sleep(LOOK_SECONDS)
            except KafkaError as error:
                if not has_warned:
                    _log.warning("the brokers do not say where the topics end: %s", error)
                has_warned = True
                await asyncio.sleep(LOOK_SECONDS)

    def figures(self) -> bytes:
        """All current metrics."""
        self._board.set("palimpsest_progress_timestamp_seconds", self._progress)
        for at, waiting in self.lag().items():
            self._board.set("palimpsest_lag", waiting, at.topic, str(at.partition))
        return self._board.text()


@asynccontextmanager
async def watching(watch: FollowerWatch, port: int | None) -> AsyncIterator[None]:
    """While the block runs, serve the pages on the loopback at `port`; without a port, do nothing.

    Raises OSError if the port is taken.
    """
    if port is None:
        yield
        return
    app = web.Application()
    app.add_routes([_route(name, partial(render, watch)) for name, render in PAGES.items()])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    looking = asyncio.create_task(watch.look_loop())
    try:
        await web.TCPSite(runner, LOOPBACK, port).start()
        yield
    finally:
        looking.cancel()
        await asyncio.wait({looking})
        await runner.cleanup()


def _route(name: str, render: Callable[[], HealthPage]) -> web.RouteDef:
    async def page(_request: web.Request) -> web.Response:
        found = render()
        return web.Response(body=found.body, status=found.status, content_type=TEXT)

    return web.get(f"/{name}", page)
