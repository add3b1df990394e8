"""The gate before every door: authentication, host names, limits, and the access log.

A request is read completely or refused: its body is read within limits of size and time, and parsed
once. The access log has the route, never the path, query, body or an error's message.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote_to_bytes

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import Message, Receive, Scope, Send

from palimpsest.contracts.model import (
    NOT_UNICODE,
    deeper_than,
    is_not_unicode,
    more_than,
    read_json,
)
from palimpsest.process.logs import loggable
from palimpsest.process.output import one_line
from palimpsest.server.callers import Authenticator, Caller
from palimpsest.server.hosts import Hosts
from palimpsest.server.problems import MEDIA_TYPE, ProblemError, problem_of

if TYPE_CHECKING:
    from palimpsest.server.health import RequestFigures
_log = logging.getLogger(__name__)

KEY = "palimpsest"
"""The key of `Admitted` in a request's scope."""
OPEN = frozenset({"/healthz", "/readyz"})
"""Paths that need no token: a supervisor requests them."""
DEEPEST = 40
"""Maximum depth of JSON: metadata may have 32 levels."""
MOST_VALUES = 50_000
"""Maximum number of values in a body, at any depth. A value that breaks a rule costs 10 µs."""
PAGES = "/review"
"""Below this path a cookie identifies the caller, and tokens are ignored; elsewhere vice versa."""
NO_ROUTE = "-"
"""Logged in place of an unknown path, which could contain anything."""


@dataclass(frozen=True)
class RequestLimits:
    """The limits of a client's requests; each time is for one wait, in seconds."""

    body_bytes: int = 1024 * 1024
    body_seconds: float = 10.0
    send_seconds: float = 30.0
    at_once: int = 256
    at_once_by_token: int = 64


@dataclass(frozen=True)
class Admitted:
    """A request that was admitted: its caller, and its body, parsed if it is JSON."""

    caller: Caller
    body: bytes = b""
    document: Any = None


class Visitors(Protocol):
    """Identifies people by their cookies."""

    def caller(self, headers: Headers) -> Caller:
        """The visitor of a page; without a cookie, a caller who may see nothing."""

    def revoke(self, names: Collection[str]) -> None:
        """End the sessions of tokens that are no longer known."""


def admitted(request: Request) -> Admitted:
    """The admitted request in a request's scope."""
    found = request.scope[KEY]
    assert isinstance(found, Admitted)
    return found


class Gate:
    """The application around all doors."""

    def __init__(
        self,
        app: Router,
        hosts: Hosts,
        authenticator: Authenticator,
        visitors: Visitors,
        figures: RequestFigures,
        limits: RequestLimits | None = None,
    ) -> None:
        self._app = app
        self.routes = [route for route in app.routes if isinstance(route, Route)]
        self._templates: dict[object, str] = {route.endpoint: route.path for route in self.routes}
        self._hosts = hosts
        self._authenticator = authenticator
        self._visitors = visitors
        self._figures = figures
        self._limits = limits or RequestLimits()
        self._at_once: Counter[str] = Counter()
        self.asked_at = time.monotonic()
        self.draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the server closes the connection of a client that does not read."""
        assert scope["type"] == "http", "nothing else is switched on"
        try:
            await self._answer(scope, receive, send)
        except _UnreadError as error:
            _log.warning("%s: %s", scope["method"], error)

    @property
    def running(self) -> int:
        """The number of requests that are being answered."""
        return self._at_once.total()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = self.asked_at = time.monotonic()
        # An owner's id may have a slash: paths are matched as received, and unquoted afterwards.
        path = scope["raw_path"].decode("ascii", "backslashreplace")
        scope = {**scope, "path": path, "root_path": "", "app": self}
        answer = _Response(send, self._limits.send_seconds)
        caller = "-"
        try:
            headers = Headers(scope=scope)
            self._hosts.require(headers.get("host"), headers.get("origin"))
            _require_utf8(scope["raw_path"], scope["query_string"])
            if scope["path"] in OPEN:
                await self._app(scope, receive, answer)
                return
            who = self._who(scope["path"], headers)
            caller = who.name or "-"
            await self._let_in(who, scope, receive, answer)
        except _UnreadError:
            raise
        except Exception as error:  # noqa: BLE001 - the client gets it, and the log without its text
            await self._send_problem(error, scope, answer)
        finally:
            seconds = time.monotonic() - begun
            route = self._templates.get(scope.get("endpoint"), NO_ROUTE)
            self._figures.note(route, answer.status, seconds)
            _log.info(
                "%s %s %d %.1f ms %s", scope["method"], route, answer.status, seconds * 1e3, caller
            )

    def _who(self, path: str, headers: Headers) -> Caller:
        self._visitors.revoke(self._authenticator.refresh())
        if path == PAGES or path.startswith(f"{PAGES}/"):
            return self._visitors.caller(headers)
        return self._authenticator.caller(headers.get("authorization"))

    async def _let_in(self, who: Caller, scope: Scope, receive: Receive, answer: _Response) -> None:
        limits = self._limits
        if self.draining or self._at_once.total() >= limits.at_once:
            raise ProblemError(
                503, "unavailable", "the server is stopping, or full", headers={"retry-after": "1"}
            )
        if self._at_once[who.name] >= limits.at_once_by_token:
            raise ProblemError(
                429, "too_many", "wait for your other requests", headers={"retry-after": "1"}
            )
        self._at_once[who.name] += 1
        try:
            body = await self._body(scope, receive)
            scope[KEY] = replace(Admitted(who), body=body, document=document_of(scope, body))
            await self._app(scope, _replay(body, receive), answer)
        finally:
            self._at_once[who.name] -= 1
            self._at_once += Counter()  # drops callers without requests in progress

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        most = self._limits.body_bytes
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > most:
            raise _too_large(most)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise ProblemError(400, "bad_request", "the client has disconnected")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise _too_large(most)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise ProblemError(
                408, "timeout", "the body did not come in time", headers={"connection": "close"}
            ) from None

    async def _send_problem(self, error: Exception, scope: Scope, answer: _Response) -> None:
        problem = problem_of(error)
        headers = problem.headers
        if problem.status == 405:
            headers = {"allow": ", ".join(self._methods(scope))}
        if problem.status >= 500 and not isinstance(error, ProblemError):
            _log.error("a request failed: %s", loggable(error), exc_info=error)
        if answer.status != _Response.NONE:
            raise error  # half an answer was sent: the connection is closed
        response = Response(problem.body(), problem.status, headers, media_type=MEDIA_TYPE)
        await response({"type": "http"}, _nothing, answer)

    def _methods(self, scope: Scope) -> list[str]:
        """All methods of a resource: each of its routes knows only its own."""
        found = [route for route in self.routes if route.matches(scope)[0] is not Match.NONE]
        path = min((route.path for route in found), key=lambda path: path.count("{"))
        return sorted({m for route in found if route.path == path for m in route.methods or ()})


def _require_utf8(*parts: bytes) -> None:
    """Refuse an address that is not UTF-8: decoded with replacements, two owners could be one."""
    try:
        for part in parts:
            unquote_to_bytes(part.decode("ascii")).decode()
    except UnicodeDecodeError:
        raise ProblemError(
            400, "bad_request", "the address must be UTF-8, with its bytes percent-encoded"
        ) from None


class _UnreadError(Exception):
    """A client does not read its answer."""


class _Response:
    """A `send` that records the status. Raises _UnreadError if a client does not read in time.

    JSON is sent without raw line separators, because some clients would split it there.
    """

    NONE = 0

    def __init__(self, send: Send, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._head: Message | None = None
        self.status = self.NONE

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            self._head = {**message, "headers": headers}
            return
        head, self._head = self._head, None
        try:
            async with asyncio.timeout(self._seconds):
                if head is not None:
                    head, message = _escaped(head, message)
                    await self._send(head)
                await self._send(message)
        except TimeoutError:
            raise _UnreadError(
                f"a client did not read its answer within {self._seconds:g} s"
            ) from None


def _escaped(head: Message, body: Message) -> tuple[Message, Message]:
    """An answer's head and first part of its body, escaped if that is the whole body and JSON."""
    headers = MutableHeaders(raw=[*head["headers"]])
    if body.get("more_body", False) or "json" not in headers.get("content-type", ""):
        return head, body
    escaped = one_line(body.get("body", b""))
    headers["content-length"] = str(len(escaped))
    return {**head, "headers": headers.raw}, {**body, "body": escaped}


def document_of(scope: Scope, body: bytes) -> Any:
    """Parse a JSON body; None for an empty body, and for any other content type.

    Raises ProblemError: 400 if it is compressed, not JSON or too deep, 413 if it has too many
    values.
    """
    headers = Headers(scope=scope)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body or kind not in ("application/json", "application/merge-patch+json"):
        return None
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise ProblemError(400, "bad_request", "the body must not be compressed")
    try:
        found = read_json(body)
    except orjson.JSONDecodeError as error:
        what = NOT_UNICODE if is_not_unicode(error) else "is not JSON"
        raise ProblemError(400, "bad_request", f"the body {what}") from None
    if deeper_than(found, DEEPEST):
        raise ProblemError(
            400, "bad_request", f"the body is nested more than {DEEPEST} levels deep"
        )
    if more_than(found, MOST_VALUES):
        raise ProblemError(413, "too_large", f"a body has at most {MOST_VALUES} values")
    return found


def _too_large(most: int) -> ProblemError:
    return ProblemError(
        413, "too_large", f"a body has at most {most} bytes", headers={"connection": "close"}
    )


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that replays the body that was read, then passes on what the client sends."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
