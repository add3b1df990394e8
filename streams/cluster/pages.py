"""The worker's pages: /metrics, /healthz and /readyz, on Faust's web server and the loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import faust
from faust import web
from faust.types import TP

from streams.cluster.health import PAGES, TEXT, Page
from streams.cluster.metrics import Metrics
from streams.cluster.station import Station

STUCK_SECONDS = 60.0
"""Input waits and nothing was acknowledged for so long: the worker does not get on."""
TICK_SECONDS = 0.1
"""How often the event loop is asked how late it is."""


class Watch:
    """What was acknowledged, and what waits."""

    def __init__(self, app: faust.App, station: Station, metrics: Metrics) -> None:
        self._app = app
        self._station = station
        self.metrics = metrics
        self._done: dict[TP, int] = {}
        self._progress = time.time()

    def acknowledging(self, event: Any) -> Callable[[], object]:
        """What acknowledges an event, and notes it."""
        self._done.setdefault(event.message.tp, event.message.offset)

        def acknowledge() -> None:
            event.ack()
            self._done[event.message.tp] = event.message.offset + 1
            self._progress = time.time()

        return acknowledge

    def ready(self) -> bool:
        """Whether the worker decides for everything that the group gave it."""
        assigned = {tp.partition for tp in self._app.consumer.assignment()}
        return bool(assigned) and assigned == set(self._station.partitions)

    def begin(self) -> None:
        """Partitions are assigned anew: others may have had them meanwhile."""
        self._done.clear()

    def stuck(self) -> bool:
        """Whether input waits, and nothing happens; catching up is told by `ready`.

        The last offset of a topic may be the marker of a producer's transaction, which nobody can
        acknowledge.
        """
        waits = self.held > 0 or any(waiting > 1 for waiting in self.lag().values())
        return waits and self.ready() and time.time() - self._progress > STUCK_SECONDS

    @property
    def held(self) -> int:
        """How many records came from the brokers and are not acknowledged."""
        return len(self._app.consumer.unacked)

    def lag(self) -> dict[TP, int]:
        """How many records of each partition wait, as far as the brokers have told."""
        consumer = self._app.consumer
        ends = {tp: consumer.highwater(tp) for tp in consumer.assignment()}
        return {
            tp: max(end - self._done[tp], 0) if tp in self._done else 0
            for tp, end in ends.items()
            if end is not None
        }

    async def watch_loop(self) -> None:
        """Note how late the event loop is, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self.metrics.late(max(loop.time() - due, 0.0))

    def figures(self) -> bytes:
        """All figures as they are now."""
        self.metrics.set("palimpsest_partitions", len(self._station.partitions))
        self.metrics.set("palimpsest_owners_in_memory", self._station.owners_in_memory)
        self.metrics.set("palimpsest_records_held", self.held)
        self.metrics.set("palimpsest_progress_timestamp_seconds", self._progress)
        self.metrics.forget_lag()
        for tp, waiting in self.lag().items():
            self.metrics.set("palimpsest_lag", waiting, tp.topic, str(tp.partition))
        return self.metrics.text()


def add_pages(app: faust.App, watch: Watch) -> None:
    """Put the pages on Faust's web server, and watch the event loop."""
    app.task(watch.watch_loop)
    for name, told in PAGES.items():
        _add_page(app, name, partial(told, watch))


def _add_page(app: faust.App, name: str, told: Callable[[], Page]) -> None:
    async def page(view: web.View, _request: web.Request) -> web.Response:
        said = told()
        return view.bytes(said.body, content_type=TEXT, status=said.status)

    app.page(f"/{name}", name=name)(page)
