"""All doors of one store behind one gate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.routing import BaseRoute, Router

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.integrations.mem0 import door as mem0
from palimpsest.server import health as pages
from palimpsest.server.callers import Authenticator
from palimpsest.server.gate import Gate, RequestLimits
from palimpsest.server.hosts import Hosts
from palimpsest.server.http import v1
from palimpsest.server.http.feed import Feeds
from palimpsest.server.mcp.door import McpDoor
from palimpsest.settings.serve import Token, TokenWatch
from palimpsest.web import app as web
from palimpsest.web.board.board import ReviewBoard
from palimpsest.web.sessions import Sessions


class App:
    """The ASGI application; the process sets `ready`, and calls `end` when it stops.

    A new door is a function that returns routes for a store; add it in `__init__`.
    """

    def __init__(
        self,
        store: AsyncPalimpsest,
        tokens: Iterable[Token],
        hosts: Iterable[str],
        limits: RequestLimits | None = None,
        watch: TokenWatch | None = None,
    ) -> None:
        self.ready = False
        self._feeds = Feeds(store)
        self._mcp = McpDoor(store)
        self.sessions = Sessions()
        self.board = ReviewBoard(store)
        self.authenticator = authenticator = Authenticator(tokens, watch=watch)
        figures = pages.RequestFigures()
        routes: list[BaseRoute] = [
            *pages.routes(store, figures, lambda: self.gate.running, lambda: self.ready),
            *v1.routes(store, self._feeds),
            *self._mcp.routes(),
            *mem0.routes(store),
            *web.routes(store, self.sessions, authenticator, self.board),
        ]
        router = Router(routes, redirect_slashes=False)
        self.gate = Gate(router, Hosts(hosts), authenticator, self.sessions, figures, limits)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests while the context is open; can be entered once."""
        async with self._mcp.running():
            yield

    def end(self) -> None:
        """Accept no more requests; those that wait for news are answered at once."""
        self.ready = False
        self.gate.draining = True
        self._feeds.end()
        self.board.end()
