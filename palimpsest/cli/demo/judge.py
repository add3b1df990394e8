"""A local server that speaks the protocols of judges, for documentation, demonstrations and tests.

It answers by rules on words instead of a model, and can be told to fail in every way in which a
real service may. Clients use the real SDKs; only the base URL differs.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import orjson

from palimpsest.cli.demo.wires import WIRES, error, routed

HOST = "127.0.0.1"

Change = Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class Fault:
    """A failure of one request.

    A `status` other than 200 is an error of the service, sent with `headers`; `change` turns the
    right message into another, and `body` sends these bytes instead of either. `delay` is a pause
    before the answer, in seconds; `dribble` is one before each byte of an answer that never ends.
    `hang_up` closes the connection without an answer, `cut` in the middle of one.
    """

    status: int = 200
    kind: str = "api_error"
    message: str = "told to fail"
    headers: Mapping[str, str] = field(default_factory=dict)
    change: Change | None = None
    body: bytes | None = None
    delay: float = 0.0
    dribble: float = 0.0
    hang_up: bool = False
    cut: bool = False


class JudgeServer:
    """The server; runs while the context is open, on any free port unless one is given.

    `delay` seconds pass before each answer. Each fault of `fail` is used for one request; `always`
    is used for all until it is None again, and `rule` chooses the fault of each request, if any.
    `calls` counts requests, `most_at_once` is their highest concurrency, and `requests` has their
    contents if `keep` is true.
    """

    def __init__(self, port: int = 0, delay: float = 0.0, *, keep: bool = True) -> None:
        self.delay = delay
        self.always: Fault | None = None
        self.rule: Callable[[dict[str, Any]], Fault | None] = lambda _: None
        self.requests: deque[dict[str, Any]] = deque(maxlen=None if keep else 0)
        self.calls = 0
        self.most_at_once = 0
        self._under_way = 0
        self._next: deque[Fault] = deque()
        self._lock = threading.Lock()
        self._port = port
        self._http: _JudgeServer | None = None

    @property
    def url(self) -> str:
        """The base URL, for any protocol."""
        return f"http://{HOST}:{self._port}"

    def fail(self, *faults: Fault) -> None:
        """Make the next requests fail, one per fault."""
        self._next.extend(faults)

    def start(self) -> None:
        """Accept requests; after `stop`, on the same port."""
        self._http = _JudgeServer((HOST, self._port), _Handler)
        self._http.judge = self
        self._port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Refuse new connections, and close the open ones."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http.end_connections()
            self._http = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def took(self, request: dict[str, Any]) -> Iterator[Fault]:
        """Record a request while it is answered; yields its fault, or an empty one."""
        with self._lock:
            self.calls += 1
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            self.requests.append(request)
            always = self.rule(request) or self.always or Fault()
            fault = self._next.popleft() if self._next else always
        try:
            yield fault
        finally:
            with self._lock:
                self._under_way -= 1


class _JudgeServer(ThreadingHTTPServer):
    """Keeps its connections, so that they can be closed with it."""

    judge: JudgeServer
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, *arguments: Any) -> None:
        self._connections: set[Any] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        for connection in list(self._connections):
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that hangs up."""


class _Handler(BaseHTTPRequestHandler):
    """One connection, reused for further requests."""

    server: _JudgeServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer a request of any protocol."""
        length = int(self.headers.get("content-length", 0))
        path, request = routed(self.path, orjson.loads(self.rfile.read(length)))
        if path not in WIRES:
            body = error(path, 404, "not_found_error", f"there is no {path}")
            self._send(404, orjson.dumps(body))
            return
        with self.server.judge.took(request) as fault:
            time.sleep(fault.delay or self.server.judge.delay)
        self._answer(path, request, fault)

    def _answer(self, path: str, request: dict[str, Any], fault: Fault) -> None:
        if fault.hang_up:
            self.close_connection = True
        elif fault.dribble:
            self._dribble(fault.dribble)
        else:
            body = fault.body or orjson.dumps(self._body(path, request, fault))
            self._send(fault.status, body, fault.headers, cut=fault.cut)

    def _body(self, path: str, request: dict[str, Any], fault: Fault) -> object:
        if fault.status != 200:
            return error(path, fault.status, fault.kind, fault.message)
        body = WIRES[path](request)
        return body if fault.change is None else fault.change(body)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.close_connection = self.close_connection or cut
        self.wfile.write(body[: len(body) // 2] if cut else body)

    def _dribble(self, seconds: float) -> None:
        """Send blanks until the client gives up: a JSON parser ignores them."""
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.close_connection = True
        while True:
            self.wfile.write(b" ")
            time.sleep(seconds)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's own name
        """Log nothing: requests contain memories."""
