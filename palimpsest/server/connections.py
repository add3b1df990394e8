"""HTTP/1.1 connections with time limits for receiving a request and for sending an answer."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any, cast

import h11
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from palimpsest.server.problems import MEDIA_TYPE, ProblemError

HEAD_SECONDS = 10.0
"""Timeout from the connection's start, or a request's first byte, to the end of its headers."""
SEND_SECONDS = 30.0
"""Timeout for a client to read some part of a waiting answer."""


class JoiningTransport:
    """Sends everything written in one turn of the event loop together: an answer's head and body.

    Sent separately, each would be a system call, after which the thread waits for the interpreter
    lock behind the threads that write projections.

    If a client reads nothing of its answer for `patience` seconds, the connection is aborted.
    Otherwise the answer would stay in memory for ever, even after the connection was closed.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, patience: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._patience = patience
        self._written: list[bytes] = []
        self._given = self._taken = 0
        self._watch: asyncio.TimerHandle | None = None

    def write(self, data: bytes) -> None:
        """Send this together with everything else written in this turn, in order."""
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        """Send what was written, then close the connection."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        written, self._written = self._written, []
        if written and not self._transport.is_closing():
            joined = b"".join(written)
            self._given += len(joined)
            self._transport.write(joined)
            if self._watch is None:
                self._look_later()

    def _look_later(self) -> None:
        waiting = self._transport.get_write_buffer_size()
        self._taken = self._given - waiting
        self._watch = self._loop.call_later(self._patience, self._look) if waiting else None

    def _look(self) -> None:
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._given - waiting == self._taken:
            self._watch = None
            self._transport.abort()
        else:
            self._look_later()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with a timeout for headers: uvicorn itself has none once bytes arrive.

    What does not reach the gate is answered with a problem document, too.
    """

    head_seconds = HEAD_SECONDS
    send_seconds = SEND_SECONDS
    _given_up: asyncio.TimerHandle | None = None
    _most: int | None = None

    def connection_made(self, transport: Any) -> None:
        """Start waiting for the first request."""
        joining = JoiningTransport(transport, self.loop, self.send_seconds)
        super().connection_made(cast("asyncio.Transport", joining))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Receive data; once a request's head has begun, the rest of it must follow in time."""
        super().data_received(data)
        idle = self.conn.their_state is h11.IDLE
        if idle and self.conn.trailing_data[0]:
            self._wait()
        elif not idle:
            self._stop_waiting()

    def handle_events(self) -> None:
        """Answer requests, or refuse them if there are too many connections."""
        if self._most is None:
            self._most, self.limit_concurrency = self.limit_concurrency, None
        full = self._most is not None and len(self.connections) >= self._most
        self.app = _refuse if full else self.config.loaded_app
        super().handle_events()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own words
        """Answer what is not HTTP, and close the connection."""
        problem = _problem_of(sys.exception())
        headers = [("content-type", MEDIA_TYPE), ("connection", "close")]
        with suppress(h11.LocalProtocolError):  # half an answer was sent, or a HEAD takes no body
            for event in (
                h11.Response(status_code=problem.status, headers=headers),
                h11.Data(data=problem.body()),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._given_up is None:
            self._given_up = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._given_up is not None:
            self._given_up.cancel()
            self._given_up = None

    def _give_up(self) -> None:
        self._given_up = None
        self.transport.close()


def _problem_of(error: BaseException | None) -> ProblemError:
    """The problem of a request that cannot be parsed."""
    if isinstance(error, h11.ProtocolError) and error.error_status_hint == 431:
        return ProblemError(431, "too_large", "the address or the headers are too long")
    return ProblemError(400, "bad_request", "this is not a valid HTTP/1.1 request")


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    problem = ProblemError(503, "unavailable", "the server is full: try again later")
    headers = {"retry-after": "1", "connection": "close"}
    answer = Response(problem.body(), problem.status, headers, media_type=MEDIA_TYPE)
    await answer(scope, receive, send)
