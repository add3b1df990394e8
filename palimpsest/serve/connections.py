"""Connections of HTTP/1.1 that do not wait for ever for a request to begin or to be whole."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""From the connection's beginning, or a request's first byte, to the end of its headers."""


class JoiningTransport:
    """Sends in one go what is written in one turn of the event loop: an answer's head and body.

    Each of them sent alone is a call of the system, after which the thread takes its turn at the
    interpreter again, behind those that write projections.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send it with whatever else is written in this turn, in order."""
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)

    def close(self) -> None:
        """Send what was written, and close the connection then."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        written, self._written = self._written, []
        if written and not self._transport.is_closing():
            self._transport.write(b"".join(written))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class PatientProtocol(H11Protocol):
    """uvicorn's, which waits for headers as long as somebody sends some of them."""

    head_seconds = HEAD_SECONDS
    _given_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        joining = JoiningTransport(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", joining))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; where it is a part of a request's head, the rest has to follow."""
        super().data_received(data)
        idle = self.conn.their_state is h11.IDLE
        if idle and self.conn.trailing_data[0]:
            self._wait()
        elif not idle:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
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
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
