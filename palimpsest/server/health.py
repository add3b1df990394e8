"""Health and metrics endpoints: /healthz, /readyz, /metrics."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.server.gate import admitted
from palimpsest.streams.cluster.registry import Board, Figure

PROMETHEUS = "text/plain; version=0.0.4"
REPLACED = "not ready: the store was moved, deleted or replaced: restart the server\n"

FIGURES = (
    Figure(
        "palimpsest_requests",
        "counter",
        "Requests that were answered, by route and status.",
        "Alarm on the share of 5xx, and on 429: a client exceeds the limit of its token.",
        ("route", "status"),
    ),
    Figure(
        "palimpsest_request_seconds",
        "histogram",
        "Seconds from a request's first byte to the last of its answer, by route.",
        "Writes share commits: under load each takes longer, and many finish together.",
        ("route",),
    ),
    Figure(
        "palimpsest_requests_running",
        "gauge",
        "Requests that are being answered.",
        "High and steady: the server is at its limit.",
    ),
)


class RequestFigures:
    """Counts requests by the route's template, because a path would reveal owners."""

    def __init__(self) -> None:
        self._board = Board(FIGURES)

    def note(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._board.count("palimpsest_requests", 1.0, route, str(status))
        self._board.observe("palimpsest_request_seconds", seconds, route)

    def text(self, running: int) -> bytes:
        """All metrics in Prometheus' text format."""
        self._board.set("palimpsest_requests_running", running)
        return self._board.text()


def routes(
    store: AsyncPalimpsest,
    figures: RequestFigures,
    running: Callable[[], int],
    ready: Callable[[], bool],
) -> list[BaseRoute]:
    """The routes of these endpoints; the first two need no token."""
    log = store.store.reader.log  # here, because `reader` waits for the store's calls

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def readyz(_request: Request) -> Response:
        if not ready():
            return PlainTextResponse("not ready: starting, or stopping\n", 503)
        if not log.in_place:
            return PlainTextResponse(REPLACED, 503)
        return PlainTextResponse("ready\n")

    async def metrics(request: Request) -> Response:
        admitted(request).caller.require_role("operator")
        text = figures.text(running()) + (await store.metrics()).encode()
        return Response(text, media_type=PROMETHEUS)

    return [
        Route("/healthz", healthz, methods=["GET"]),
        Route("/readyz", readyz, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
    ]
