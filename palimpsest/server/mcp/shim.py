"""MCP over standard input and output, for clients that start a process: it forwards to the server.

One JSON-RPC message a line, as it came. Nothing is kept here but the version that was agreed on: a
server that ended meanwhile is found or started again, and asked again under the same key, so that
what it had done is not done twice.
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
"""Requests of one client at once."""
ANSWER_SECONDS = 120.0
AGAIN_SECONDS = 60.0
"""For how long a request is tried again while the server is away, or full."""
PAUSE_SECONDS = 0.1
NO_MESSAGE = -32700
NOT_FOUND = -32601
INTERNAL = -32603
BUSY = frozenset({429, 503})
DISCOVER = "server/discover"

JsonObject = dict[str, Any]


class Shim:
    """One client's messages, of one owner. `find` gives the server, ready."""

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
        """Forward messages until there are no more; those that were begun are finished."""
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
        """What the client gets; nothing about a notification."""
        message = _parsed(line)
        if not message:
            return _error(None, NO_MESSAGE, "a line is one object of JSON")
        if message.get("method") == DISCOVER:  # it is followed by the handshake, which is forwarded
            return _error(message.get("id"), NOT_FOUND, "there is a handshake instead")
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
        """The server's answer; it is asked again, under the same key, while it is away."""
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
                failed = endpoint  # another server has come, with other secrets
            elif status != 0 and status not in BUSY:
                return status, body
            if time.monotonic() > until:
                raise TransientError("the server does not answer")
            time.sleep(PAUSE_SECONDS)

    def _server(self, failed: Endpoint | None) -> Endpoint:
        """The server; looked for again where the known one has failed."""
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
    """Be the shim of an owner on this process's standard input and output, until the input ends."""
    Shim(owner_id, find, token, sys.stdout.buffer).run(sys.stdin.buffer)
