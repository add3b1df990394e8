"""MCP over standard input and output, for clients that start a process: a proxy of the server.

It forwards one JSON-RPC message per line, unchanged, and keeps only the negotiated version. If the
server ends, it is found or started again, and the request repeated under the same key, so that
nothing is done twice.
"""

from __future__ import annotations

import http.client
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import Any, BinaryIO
from urllib.parse import quote
from uuid import uuid4

import orjson

from palimpsest.contracts.errors import PalimpsestError, TransientError
from palimpsest.server.endpoint import Endpoint
from palimpsest.server.starting import connect

THREADS = 8
"""Maximum number of concurrent requests of one client."""
ANSWER_SECONDS = 120.0
AGAIN_SECONDS = 60.0
"""How long a request is retried while the server is away, or full."""
PAUSE_SECONDS = 0.1
NO_MESSAGE = -32700
NOT_FOUND = -32601
INTERNAL = -32603
BUSY = frozenset({429, 503})
DISCOVER = "server/discover"

JsonObject = dict[str, Any]


class Shim:
    """One client's messages, for one owner. `find` returns the server when it is ready."""

    def __init__(
        self, owner_id: str, find: Callable[[], Endpoint], token: str | None, out: BinaryIO
    ) -> None:
        self._path = f"/mcp/{quote(owner_id, safe='')}"
        self._find = find
        self._token = token
        self._out = out
        self._writing = Lock()
        self._finding = Lock()
        self._endpoint: Endpoint | None = None
        self._version: str | None = None
        self._mine = local()

    def run(self, lines: BinaryIO) -> None:
        """Forward messages until the input ends; requests in progress are finished."""
        self._server(None)
        with ThreadPoolExecutor(THREADS) as threads:
            for line in lines:
                if line.strip():
                    threads.submit(self._forward, line)

    def _forward(self, line: bytes) -> None:
        try:
            answer = self._answer(line)
        except PalimpsestError as error:
            answer = _error(_id_of(line), INTERNAL, str(error))
        except Exception as error:  # noqa: BLE001 - the client waits for an answer
            answer = _error(_id_of(line), INTERNAL, f"a bug: {type(error).__name__}")
        if answer is not None:
            with self._writing:
                self._out.write(orjson.dumps(answer) + b"\n")
                self._out.flush()

    def _answer(self, line: bytes) -> JsonObject | None:
        """The answer for the client; None for a notification."""
        message = _parsed(line)
        if not message:
            return _error(None, NO_MESSAGE, "a line must be one JSON object")
        if message.get("method") == DISCOVER:  # the handshake follows, and is forwarded
            return _error(message.get("id"), NOT_FOUND, "not supported: use the handshake")
        status, body = self._asked(line)
        if not body:
            return None
        answer = _parsed(body)
        if "jsonrpc" not in answer:
            detail = str(answer.get("detail", f"the server says {status}"))
            return _error(message.get("id"), INTERNAL, detail) if "id" in message else None
        if message.get("method") == "initialize" and "result" in answer:
            self._version = answer["result"].get("protocolVersion")
        return answer

    def _asked(self, line: bytes) -> tuple[int, bytes]:
        """The server's answer; while it is away, the request is retried under the same key."""
        key, until = str(uuid4()), time.monotonic() + AGAIN_SECONDS
        failed: Endpoint | None = None
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
                raise TransientError("the server does not answer")
            time.sleep(PAUSE_SECONDS)

    def _server(self, failed: Endpoint | None) -> Endpoint:
        """The server; it is looked up again if the known one has failed."""
        with self._finding:
            if self._endpoint is None or self._endpoint is failed:
                self._endpoint = self._find()
            return self._endpoint

    def _post(self, endpoint: Endpoint, line: bytes, key: str) -> tuple[int, bytes]:
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
        known[1].request("POST", self._path, body=line, headers=headers)
        response = known[1].getresponse()
        return response.status, response.read()


def _parsed(body: bytes) -> JsonObject:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _id_of(line: bytes) -> Any:
    return _parsed(line).get("id")


def _error(of: Any, code: int, message: str) -> JsonObject:
    return {"jsonrpc": "2.0", "id": of, "error": {"code": code, "message": message}}


def speak(owner_id: str, find: Callable[[], Endpoint], token: str | None) -> None:
    """Run an owner's shim on standard input and output until the input ends."""
    Shim(owner_id, find, token, sys.stdout.buffer).run(sys.stdin.buffer)
