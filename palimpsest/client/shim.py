"""MCP over standard input and output, for clients that start a process: a proxy of the server.

It forwards JSON-RPC messages under ids of its own, and gives each answer the id that the client
used, whether a string or a number. Of the session it keeps only the negotiated version. Calls of
tools are forwarded one after the other, so that pipelined writes keep their order. If the server
ends, it is found or started again, and the request is retried under the same key, so that nothing
is done twice.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from math import isfinite
from threading import Lock, local
from typing import Any, BinaryIO, Protocol
from urllib.parse import quote, urlsplit
from uuid import uuid4

from .errors import ClientError, ServerUnreachable

THREADS = 8
"""Maximum number of concurrent requests of one client, apart from calls of tools."""
ANSWER_SECONDS = 120.0
AGAIN_SECONDS = 60.0
"""How long a request is retried while the server is unreachable or busy."""
PAUSE_SECONDS = 0.1
NO_MESSAGE = -32700
INVALID_REQUEST = -32600
NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
UNSUPPORTED_VERSION = -32022
BUSY = frozenset({429, 503})
INITIALIZE = "initialize"
DISCOVER = "server/discover"
CANCELLED = "notifications/cancelled"
WITH_BATCHES = "2025-03-26"
"""The only version that requires servers to accept batches of messages."""
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions that a client can agree on by `initialize`."""

JsonObject = dict[str, Any]


class Address(Protocol):
    """The address of a server, and the secret for agents that it has generated, if any."""

    @property
    def url(self) -> str:
        """Its address; a path in it is a prefix of every request's path."""

    @property
    def agent(self) -> str | None:
        """The secret, if any."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server whose tokens were configured; ClientError if its URL is not an HTTP(S) URL."""

    url: str
    agent: str | None = None

    def __post_init__(self) -> None:
        try:
            at = urlsplit(self.url)
            known = at.scheme in ("http", "https") and at.hostname and at.port != 0
        except ValueError:
            known = False
        if not known:
            raise ClientError(
                f"{self.url} is not the URL of a server: give one such as https://memories.example"
            )


def connect(address: Address, seconds: float) -> http.client.HTTPConnection:
    """A connection to a server, with a timeout for each wait."""
    at = urlsplit(address.url)
    assert at.hostname, "a server's URL has a host"
    kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
    return kind(at.hostname, at.port, timeout=seconds)


@dataclass(eq=False)
class _Request:
    """A message of the client: whether it expects an answer, and whether it was cancelled."""

    message: JsonObject
    cancelled: bool = False

    @property
    def answered(self) -> bool:
        """Whether it expects an answer: it is a request, not a notification or an answer."""
        return "id" in self.message and "method" in self.message

    @property
    def method(self) -> Any:
        """The method that it calls."""
        return self.message.get("method")


class Shim:
    """One client's messages, for one owner. `find` returns the server when it is ready.

    If `find` raises an exception of the type `told`, the client sees its message; any other
    exception is a bug.
    """

    def __init__(
        self,
        owner_id: str,
        find: Callable[[], Address],
        token: str | None,
        out: BinaryIO,
        told: type[Exception] = ClientError,
    ) -> None:
        self._path = f"/mcp/{quote(owner_id, safe='')}"
        self._find = find
        self._token = token
        self._out = out
        self._told = (ClientError, told)
        self._writing = Lock()
        self._finding = Lock()
        self._endpoint: Address | None = None
        self._version: str | None = None
        self._mine = local()
        self._numbers = count(1)
        self._waiting: dict[str, _Request] = {}

    def run(self, lines: BinaryIO) -> None:
        """Forward messages until the input ends; requests in progress are finished."""
        self._server(None)
        with ThreadPoolExecutor(1) as in_order, ThreadPoolExecutor(THREADS) as at_once:
            for line in lines:
                if line.strip():
                    self._take(line, in_order, at_once)

    def _take(self, line: bytes, in_order: Executor, at_once: Executor) -> None:
        try:
            message = json.loads(line.decode())
        except (ValueError, RecursionError):
            self._write(_error(None, NO_MESSAGE, "a line must be one JSON object in UTF-8"))
            return
        if isinstance(message, list) and message and self._version == WITH_BATCHES:
            requests = [self._note_message(item) for item in message]
            in_order.submit(self._answer_all, requests)
            return
        request = self._note_message(message)
        if isinstance(request, _Request):
            turn = in_order if request.method == "tools/call" else at_once
            turn.submit(lambda: self._write(self._answer(request), request))
        elif request is not None:
            self._write(request)

    def _note_message(self, message: Any) -> _Request | JsonObject | None:
        """The request to forward, or its answer if already known; None for a cancellation."""
        if not isinstance(message, dict):
            return _error(None, INVALID_REQUEST, "a message must be a JSON object, not a batch")
        request = _Request(message)
        if "id" in message and not _is_id(message["id"]):
            return _error(None, INVALID_REQUEST, "an id must be a string or a number")
        if request.method == CANCELLED:
            self._cancel(message.get("params"))
            return None
        if request.answered:
            self._waiting[json.dumps(message["id"])] = request
        elif "id" in message and not message.keys() & {"result", "error"}:
            return _error(message["id"], INVALID_REQUEST, "a request must have a method")
        return request

    def _cancel(self, params: Any) -> None:
        """Drop the answer of a cancelled request; one that is still queued is not forwarded."""
        if not isinstance(params, dict):
            return
        with self._writing:
            request = self._waiting.get(json.dumps(params.get("requestId")))
            if request is not None and request.method != INITIALIZE:
                request.cancelled = True

    def _answer_all(self, requests: list[_Request | JsonObject | None]) -> None:
        """Answer a batch in one line, without the requests that were cancelled."""
        answers: list[JsonObject] = []
        for request in requests:
            answer = self._answer(request) if isinstance(request, _Request) else request
            with self._writing:
                cancelled = isinstance(request, _Request) and self._forget(request).cancelled
            if answer is not None and not cancelled:
                answers.append(answer)
        if answers:
            self._write(answers)

    def _forget(self, request: _Request) -> _Request:
        """Forget a request that has its answer: it can no longer be cancelled."""
        if request.answered:
            self._waiting.pop(json.dumps(request.message["id"]), None)
        return request

    def _write(
        self, answer: JsonObject | list[JsonObject] | None, request: _Request | None = None
    ) -> None:
        """Write a line in ASCII: some clients also end lines at U+2028 and U+2029."""
        with self._writing:
            if request is not None and self._forget(request).cancelled:
                return
            if answer is not None:
                self._out.write(json.dumps(answer).encode() + b"\n")
                self._out.flush()

    def _answer(self, request: _Request) -> JsonObject | None:
        """The answer for the client, with its id; None for a notification."""
        if request.cancelled:
            return None
        try:
            answer = self._forwarded(request)
        except self._told as error:
            answer = _error(None, INTERNAL, str(error))
        except Exception as error:  # noqa: BLE001 - the client waits for an answer
            answer = _error(None, INTERNAL, f"a bug: {type(error).__name__}")
        if answer is None or not request.answered:
            return None
        return {**answer, "id": request.message["id"]}

    def _forwarded(self, request: _Request) -> JsonObject | None:
        """The server's answer, or an error in its place."""
        message = request.message
        if request.method == DISCOVER:  # the handshake follows, and is forwarded
            return _error(None, NOT_FOUND, "not supported: use the handshake")
        if (version := _version_of(message)) is not None:
            supported = {"supported": HANDSHAKES, "requested": version}
            return _error(None, UNSUPPORTED_VERSION, "use the handshake", supported)
        own = {"id": next(self._numbers)} if "id" in message else {}
        text = json.dumps({**message, **own}, ensure_ascii=False)
        # Half of a surrogate pair stays an escape: the server says what is wrong with it.
        status, body = self._asked(text.encode(errors="backslashreplace"))
        if not body:
            return None
        answer = _parse(body)
        if "jsonrpc" not in answer:
            code = INVALID_PARAMS if status == 400 else INTERNAL
            detail = answer.get("detail", f"the server answered with status {status}")
            return _error(None, code, str(detail))
        if request.method == INITIALIZE and "result" in answer:
            self._version = answer["result"].get("protocolVersion")
        return answer

    def _asked(self, line: bytes) -> tuple[int, bytes]:
        """The server's answer; while it is unreachable, retry the request under the same key."""
        key, until = str(uuid4()), time.monotonic() + AGAIN_SECONDS
        failed: Address | None = None
        while True:
            endpoint = self._server(failed)
            try:
                status, body = self._post(endpoint, line, key)
            except (OSError, http.client.HTTPException):
                self._mine.connection = None
                failed, status, body = endpoint, 0, b""
            if status == 401 and failed is None:
                failed = endpoint  # a new server has started, with other secrets
            elif status != 0 and status not in BUSY:
                return status, body
            if time.monotonic() > until:
                raise ServerUnreachable("the server is unreachable or busy")
            time.sleep(PAUSE_SECONDS)

    def _server(self, failed: Address | None) -> Address:
        """The server; it is looked up again if the known one has failed."""
        with self._finding:
            if self._endpoint is None or self._endpoint is failed:
                self._endpoint = self._find()
            return self._endpoint

    def _post(self, endpoint: Address, line: bytes, key: str) -> tuple[int, bytes]:
        known = getattr(self._mine, "connection", None)
        if known is None or known[0] is not endpoint:
            known = self._mine.connection = endpoint, connect(endpoint, ANSWER_SECONDS)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {self._token or endpoint.agent or ''}",
            "idempotency-key": key,
        }
        if self._version is not None:
            headers["mcp-protocol-version"] = self._version
        known[1].request(
            "POST", urlsplit(endpoint.url).path.rstrip("/") + self._path, body=line, headers=headers
        )
        response = known[1].getresponse()
        return response.status, response.read()


def _parse(body: bytes) -> JsonObject:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_id(given: Any) -> bool:
    """Whether this is a valid JSON-RPC request id: a string or a number."""
    if isinstance(given, bool):
        return False
    return isinstance(given, str | int) or (isinstance(given, float) and isfinite(given))


def _version_of(message: JsonObject) -> Any:
    """The version that the request itself names, without a handshake (from 2026-07-28 on)."""
    match message:
        case {"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": version}}}:
            return version
        case _:
            return None


def _error(of: Any, code: int, message: str, data: JsonObject | None = None) -> JsonObject:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": of, "error": error}


def speak(
    owner_id: str,
    find: Callable[[], Address],
    token: str | None,
    told: type[Exception] = ClientError,
) -> None:
    """Run an owner's shim on standard input and output until the input ends."""
    Shim(owner_id, find, token, sys.stdout.buffer, told).run(sys.stdin.buffer)
