"""Runs a server: opens the store, is ready when the model is, and stops in time."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

import uvicorn

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import ModelError, TransientError, UsageError
from palimpsest.server.connections import PatientProtocol
from palimpsest.server.endpoint import Endpoint, OnlyServer, generate_tokens, write_endpoint
from palimpsest.server.hosts import LOOPBACK, is_loopback
from palimpsest.server_process.app import App
from palimpsest.server_process.settling import settling
from palimpsest.settings.serve import ServeSettings, Token, TokenWatch
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.web.entering import link_path
from palimpsest.web.sessions import LOCAL_OPERATOR

_log = logging.getLogger(__name__)

DRAIN_SECONDS = 5
"""Time for requests in progress; of the ten seconds to stop in, projections get the rest."""
CONNECTIONS = 1024
HEAD_BYTES = 32 * 1024
IDLE_LOOK_SECONDS = 1.0
WARM = "warm"
TURN_SECONDS = 0.0005
"""How long a thread may hold the interpreter while others wait. While projections are written, an
answer waits for the interpreter several times; with Python's default of 5 ms, these waits took
longer than the rest of the answer.
"""


def require_safe(settings: ServeSettings) -> None:
    """UsageError for a server that others could reach without a token, or by any name."""
    if is_loopback(settings.host):
        return
    if not settings.all_tokens():
        raise UsageError("other machines could connect: give tokens (--tokens FILE)")
    if not settings.allowed_hosts:
        raise UsageError("name the hosts that clients use (--allowed-host NAME)")


def listening(host: str, port: int) -> socket.socket:
    """A listening socket; TransientError if there can be none, such as for a port in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        why = str(error.strerror).partition(" (while ")[0]  # Python repeats the address after it
        raise TransientError(f"cannot listen at {host} port {port}: {why}") from None


async def serve(
    opened: Callable[[], Palimpsest],
    only: OnlyServer,
    settings: ServeSettings,
    stop: asyncio.Event,
    *,
    idle: float | None = None,
    judge: JudgeSettings | None = None,
    on_ready: Callable[[Endpoint, str], None],
) -> None:
    """Serve a store until `stop` is set, or for `idle` seconds without a request.

    `only` claims the store when it is open, if not before; another server may start as soon as
    this one ends. The `judge`, if there is one, settles what is pending, and its model extracts
    memories from conversations. Once ready, it calls `on_ready` with its endpoint and a link that
    admits one browser.
    """
    require_safe(settings)
    sys.setswitchinterval(TURN_SECONDS)
    watch = TokenWatch(settings)
    given = settings.all_tokens()
    tokens = given or generate_tokens()
    with listening(settings.host, settings.port) as listener:
        store = await asyncio.to_thread(opened)
        async with AsyncPalimpsest(store, judge=judge) as twin:
            with only:
                app = App(twin, tokens, _hosts(settings), watch=watch)
                async with _plainly(), _answering(app, listener) as answering:
                    await twin.call(_warm)
                    app.ready = True
                    endpoint = _endpoint(listener, () if given else tokens)
                    write_endpoint(store.folder, endpoint)
                    link = link_path(app.sessions.link(LOCAL_OPERATOR))
                    on_ready(endpoint, at(endpoint.url, settings, link))
                    if idle is None:  # a server for an agent does this when a reviewer comes
                        app.board.begin()
                    async with settling(twin, judge):
                        await _until(stop, app, answering, idle)


@asynccontextmanager
async def _plainly() -> AsyncIterator[None]:
    """Raise the block's own error if task groups wrapped only that."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


@asynccontextmanager
async def _answering(app: App, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Answer requests while the context is open; at its end, finish those in progress."""
    server = _Server(_config(app))
    async with app.running():
        answering = asyncio.create_task(server.serve([listener]))
        try:
            yield answering
        finally:
            app.end()
            server.should_exit = True
            await answering


def _warm(store: Palimpsest) -> None:
    """Load the model; if that fails and the policy continues without it, log a warning."""
    try:
        store.reader.embedder().embed_now(WARM)
    except ModelError as error:
        if store.policy.embedder_fails == "stop":
            raise
        _log.warning("there is no model: memories are found by words (%s)", error)


async def _until(
    stop: asyncio.Event, app: App, answering: asyncio.Task[None], idle: float | None
) -> None:
    while not stop.is_set() and not answering.done():
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_LOOK_SECONDS):
                await stop.wait()
        quiet = time.monotonic() - app.gate.asked_at
        if idle is not None and quiet > idle and not app.gate.running:
            _log.info("no request for %.0f s", quiet)
            return


def at(url: str, settings: ServeSettings, path: str) -> str:
    """The URL of a page for a browser: with a host name that the server allows."""
    if is_loopback(settings.host):
        return url + path
    return f"https://{settings.allowed_hosts[0]}{path}"


def _hosts(settings: ServeSettings) -> Sequence[str]:
    return [*settings.allowed_hosts, *(LOOPBACK if is_loopback(settings.host) else ())]


def _endpoint(listener: socket.socket, generated: Sequence[Token]) -> Endpoint:
    host, port = listener.getsockname()[:2]
    secrets = {token.role: token.secret.get_secret_value() for token in generated}
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return Endpoint(
        url=url, pid=os.getpid(), agent=secrets.get("agent"), operator=secrets.get("operator")
    )


def _config(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app.gate,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, for a process that has its own signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield
