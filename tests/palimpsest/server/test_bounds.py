"""Bounds of size, depth, number and time: each has its status."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from palimpsest.server.connections import JoiningTransport, PatientProtocol
from palimpsest.server.gate import RequestLimits
from palimpsest.server_process import run
from palimpsest.server_process.run import _config, listening
from tests.palimpsest.server.conftest import HOST, TOKENS, Server, secret, serving

MEMORIES = "/v1/owners/ada/memories"
BY_ADA = f"authorization: Bearer {secret('ada')}\r\n"
CHUNKED = "transfer-encoding: chunked\r\n\r\n"
JSON = {"content-type": "application/json"}


def bounded(folder: Path, limits: RequestLimits, used: Any) -> None:
    async def run() -> None:
        async with serving(folder / "store", TOKENS, limits) as server:
            await used(server)

    asyncio.run(run())


def test_a_body_over_the_bound_is_413_however_it_comes(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        async with server.client() as client:
            declared = await client.post(MEMORIES, content=b"x" * 2_001, headers=JSON)

            async def parts() -> Any:
                for _ in range(3):
                    yield b"x" * 1_000

            chunked = await client.post(MEMORIES, content=parts(), headers=JSON)
            mcp = await client.post("/mcp/ada", content=b"x" * 2_001, headers=JSON)
        assert [one.status_code for one in (declared, chunked, mcp)] == [413, 413, 413]
        assert declared.json()["type"] == "urn:palimpsest:problem:too_large"
        assert declared.headers["connection"] == "close", "the rest of the body is not read"

    bounded(tmp_path, RequestLimits(body_bytes=2_000), used)


def test_a_body_as_long_as_the_bound_is_read_however_it_comes(tmp_path: Path) -> None:
    def longest(text: str) -> bytes:
        return json.dumps({"text": text}).encode().ljust(2_000)

    async def used(server: Server) -> None:
        async with server.client() as client:
            declared = await client.post(MEMORIES, content=longest("one"), headers=JSON)

            async def parts() -> Any:
                whole = longest("two")
                yield whole[:1_000]
                yield whole[1_000:]

            chunked = await client.post(MEMORIES, content=parts(), headers=JSON)
        assert [one.is_success for one in (declared, chunked)] == [True, True]

    bounded(tmp_path, RequestLimits(body_bytes=2_000), used)


def asked() -> dict[str, Any]:
    """The scope that the gate gets for a memory to add."""
    headers = {"host": HOST, "authorization": f"Bearer {secret('ada')}", **JSON}
    return {
        "type": "http",
        "method": "POST",
        "path": MEMORIES,
        "raw_path": MEMORIES.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }


def test_a_body_that_does_not_come_is_408(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        sent: list[Any] = []

        async def never() -> Any:
            await asyncio.sleep(60)

        async def send(message: Any) -> None:
            sent.append(message)

        await server.app.gate(asked(), never, send)
        assert sent[0]["status"] == 408
        assert (b"connection", b"close") in sent[0]["headers"]
        assert (b"x-content-type-options", b"nosniff") in sent[0]["headers"]

    bounded(tmp_path, RequestLimits(body_seconds=0.01), used)


def test_a_token_and_the_server_have_only_so_many_at_once(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        path = "/v1/owners/{}/decisions?wait=20"
        waiting = [
            asyncio.ensure_future(server.ask("GET", path.format(owner), name=owner))
            for owner in ("ada", "ada", "bob")
        ]
        while server.app.gate.running < 3:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.001)
        third = await server.ask("GET", path.format("ada"))
        assert (third.status_code, third.headers["retry-after"]) == (429, "1")
        full = asyncio.ensure_future(server.ask("GET", path.format("bob"), name="bob"))
        while server.app.gate.running < 4:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.001)
        assert (await server.ask("GET", path.format("ada"), name="root")).status_code == 503
        server.app._feeds.end()
        for one in (*waiting, full):
            assert (await one).status_code == 200
        assert server.app.gate.running == 0
        assert not server.app.gate._at_once, "names that nobody uses are not kept"
        server.app.end()
        assert (await server.ask("GET", path.format("ada"))).status_code == 503
        assert (await server.ask("GET", "/readyz", name=None)).status_code == 503
        assert (await server.ask("GET", "/healthz", name=None)).status_code == 200

    bounded(tmp_path, RequestLimits(at_once=4, at_once_by_token=2), used)


def test_a_server_whose_store_was_replaced_is_not_ready(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada has a dog")
        assert (await server.ask("GET", "/readyz", name=None)).text == "ready\n"
        log = server.twin.store.folder / "log.sqlite"
        moved = log.rename(log.with_name("moved"))
        shutil.copyfile(moved, log)
        answer = await server.ask("GET", "/readyz", name=None)
        assert (answer.status_code, answer.text) == (
            503,
            "not ready: the store was moved, deleted or replaced: restart the server\n",
        )
        assert (await server.ask("GET", "/v1/owners/ada/memories")).status_code == 503
        moved.replace(log)
        assert (await server.ask("GET", "/readyz", name=None)).status_code == 200

    bounded(tmp_path, RequestLimits(), used)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatientProtocol, "head_seconds", 0.05)


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("whole", [0, 1])
@pytest.mark.parametrize("begun", [b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nhost: x\r\n"])
def test_a_client_that_does_not_finish_its_headers_is_let_go(
    tmp_path: Path, whole: int, begun: bytes
) -> None:
    async def used(server: Server) -> None:
        with listening("127.0.0.1", 0) as listener:
            running = uvicorn.Server(_config(server.app))
            serving = asyncio.ensure_future(running._serve([listener]))
            port = listener.getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(whole):
                writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                await reader.readuntil(b"alive\n")
            writer.write(begun)
            assert await reader.read() == b""  # the server closed the connection
            writer.close()
            running.should_exit = True
            await serving

    bounded(tmp_path, RequestLimits(), used)


@pytest.mark.usefixtures("_impatient")
def test_a_client_that_says_nothing_is_let_go(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        with listening("127.0.0.1", 0) as listener:
            running = uvicorn.Server(_config(server.app))
            serving = asyncio.ensure_future(running._serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            assert await reader.read() == b""
            writer.close()
            running.should_exit = True
            await serving

    bounded(tmp_path, RequestLimits(), used)


def test_nobody_waits_for_the_headers_of_who_asked_or_left(tmp_path: Path) -> None:
    """A connection may stay open for its next request for longer than headers may take."""

    async def used(server: Server) -> None:
        with listening("127.0.0.1", 0) as listener:
            running = uvicorn.Server(_config(server.app))
            serving = asyncio.ensure_future(running._serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            connections = running.server_state.connections
            while not connections:  # noqa: ASYNC110 - nothing tells it
                await asyncio.sleep(0.001)
            [connection] = connections

            def waits() -> bool:
                """Whether the connection waits for headers."""
                assert isinstance(connection, PatientProtocol)
                return connection._given_up is not None

            assert waits()
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            head = await reader.readuntil(b"alive\n")
            assert b"server:" not in head.lower(), "nobody learns what answers"
            assert not waits()
            writer.write(b"GET /healthz HT")
            while not waits():  # noqa: ASYNC110 - nothing tells it
                await asyncio.sleep(0.001)
            writer.close()
            while connections:  # noqa: ASYNC110 - nothing tells it
                await asyncio.sleep(0.001)
            assert not waits()
            running.should_exit = True
            await serving

    bounded(tmp_path, RequestLimits(), used)


@pytest.mark.parametrize(
    ("sent", "status", "kind"),
    [
        ("GET /healthz?expect=" + "x" * 40_000, 431, "too_large"),
        ("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + "x" * 40_000, 431, "too_large"),
        ("DELETE /v1/owners/ada HTTP/1.1\r\n\r\n", 400, "bad_request"),
        ("GET /h\u00e4 HTTP/1.1\r\nhost: localhost\r\n\r\n", 400, "bad_request"),
        ("GET /h\0 HTTP/1.1\r\nhost: localhost\r\n\r\n", 400, "bad_request"),
        ("GET /v1/owners/%ff HTTP/1.1\r\nhost: localhost\r\n\r\n", 400, "bad_request"),
        ("GET /v1/owners/%00 HTTP/1.1\r\nhost: localhost\r\n\r\n", 401, "unauthorized"),
        ("no HTTP\r\n\r\n", 400, "bad_request"),
        (
            f"POST {MEMORIES} HTTP/1.1\r\nhost: localhost\r\n{BY_ADA}{CHUNKED}no length\r\n",
            400,
            "bad_request",
        ),
        (
            f"POST {MEMORIES} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n",
            400,
            "bad_request",
        ),
        (
            f"HEAD {MEMORIES} HTTP/1.1\r\nhost: localhost\r\n{BY_ADA}{CHUNKED}no length\r\n",
            400,
            "",
        ),
    ],
)
def test_what_is_no_request_is_answered_with_a_problem(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: str, status: int, kind: str
) -> None:
    async def used(server: Server) -> None:
        with listening("127.0.0.1", 0) as listener:
            running = uvicorn.Server(_config(server.app))
            serving = asyncio.ensure_future(running._serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(sent.encode("latin-1"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.split()[1] == str(status).encode()
            assert b"content-type: application/problem+json" in head.lower()
            if kind:  # a HEAD is answered without a body
                assert f"urn:palimpsest:problem:{kind}".encode() in await reader.readuntil(b"}")
            writer.close()
            running.should_exit = True
            await serving

    bounded(tmp_path, RequestLimits(), used)
    assert "Fatal error" not in caplog.text


def test_a_connection_too_many_is_answered_with_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "CONNECTIONS", 1)

    async def used(server: Server) -> None:
        with listening("127.0.0.1", 0) as listener:
            running = uvicorn.Server(_config(server.app))
            serving = asyncio.ensure_future(running._serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            answer = await reader.readuntil(b"}")
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"urn:palimpsest:problem:unavailable" in answer
            writer.close()
            running.should_exit = True
            await serving

    bounded(tmp_path, RequestLimits(), used)


def test_headers_over_the_bound_are_not_read(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        with listening("127.0.0.1", 0) as listener:
            running = uvicorn.Server(_config(server.app))
            serving = asyncio.ensure_future(running._serve([listener]))
            connections = running.server_state.connections
            for size, status in ((30_000, b"200"), (40_000, b"431")):
                reader, writer = await asyncio.open_connection(*listener.getsockname())
                writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * size)
                if status == b"200":
                    while not _unread(connections):  # noqa: ASYNC110 - nothing tells it
                        await asyncio.sleep(0.001)
                    writer.write(b"\r\n\r\n")
                assert (await reader.readline()).split()[1:2] == [status]
                writer.close()
            running.should_exit = True
            await serving

    bounded(tmp_path, RequestLimits(), used)


def _unread(connections: Any) -> bool:
    """Whether the server has received incomplete headers."""
    return any(connection.conn.trailing_data[0] for connection in connections)


def test_a_client_that_does_not_read_its_answer_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the whole answer was handed over, and only the system cannot send it."""
    monkeypatch.setattr(PatientProtocol, "send_seconds", 0.05)

    async def used(server: Server) -> None:
        with listening("127.0.0.1", 0) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
            running = uvicorn.Server(_config(server.app))
            serving = asyncio.ensure_future(running._serve([listener]))
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                client.connect(listener.getsockname())
                asks = f"GET /v1/openapi.json HTTP/1.1\r\nhost: {HOST}\r\n"
                client.sendall(f"{asks}authorization: Bearer {secret('ada')}\r\n\r\n".encode())
                connections = running.server_state.connections
                while not connections:  # noqa: ASYNC110 - nothing tells it
                    await asyncio.sleep(0.001)
                async with asyncio.timeout(30):
                    while connections:  # noqa: ASYNC110 - nothing tells it
                        await asyncio.sleep(0.001)
                assert server.app.gate.running == 0
            running.should_exit = True
            await serving

    bounded(tmp_path, RequestLimits(), used)


def test_an_answer_that_nobody_takes_is_given_up_by_the_gate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """That is the client's fault, so one line says it, without a traceback."""

    async def used(server: Server) -> None:
        async def nothing() -> Any:
            return {"type": "http.request"}

        async def never(_: Any) -> None:
            await asyncio.sleep(60)

        with caplog.at_level(logging.WARNING):
            await server.app.gate(asked(), nothing, never)
        assert server.app.gate.running == 0
        [record] = caplog.records
        assert (record.levelname, record.exc_info) == ("WARNING", None)
        assert record.getMessage() == "POST: a client did not read its answer within 0.01 s"

    bounded(tmp_path, RequestLimits(send_seconds=0.01), used)


def test_a_client_that_takes_its_time_is_served() -> None:
    async def run() -> None:
        below = _Transport()
        transport = JoiningTransport(below, asyncio.get_running_loop(), 0.01)
        below.left = 100
        transport.write(b"x" * 100)
        await asyncio.sleep(0)
        for left in range(90, 0, -10):
            below.left = left
            await looked(transport)
        below.left = 0
        await looked(transport)
        assert (below.aborted, transport._watch) == (False, None), "all is taken"
        below.left = 100
        transport.write(b"x" * 100)
        await asyncio.sleep(0)
        transport.write(b"x" * 100)
        below.left = 200
        await looked(transport)
        assert below.aborted, "more was written, and nothing taken"

    asyncio.run(run())


async def looked(transport: JoiningTransport) -> None:
    """Wait until it has checked once more what the client took."""
    before = transport._watch
    while transport._watch is before:  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0.001)


class _Transport(asyncio.Transport):
    """Keeps what it should send; `left` is what the client has not taken."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed = self.aborted = False
        self.left = 0

    def get_write_buffer_size(self) -> int:
        return self.left

    def abort(self) -> None:
        self.aborted = True

    def write(self, data: Any) -> None:
        assert not self.closed
        self.sent.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def test_the_head_and_the_body_of_an_answer_are_sent_in_one_go() -> None:
    async def run() -> None:
        below = _Transport()
        transport = JoiningTransport(below, asyncio.get_running_loop(), 60.0)
        transport.write(b"head, ")
        transport.write(b"body")
        assert below.sent == []
        await asyncio.sleep(0)
        assert below.sent == [b"head, body"]
        transport.write(b"last")
        transport.close()
        assert (below.sent, below.closed) == ([b"head, body", b"last"], True)
        transport.write(b"too late")
        await asyncio.sleep(0)
        assert below.sent == [b"head, body", b"last"]

    asyncio.run(run())


def test_metrics_count_by_route_and_never_name_an_owner(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada sails")
        await server.ask("GET", "/v1/owners/ada/nothing")
        text = (await server.ask("GET", "/metrics", name="root")).text
        route = 'route="/v1/owners/{owner}/memories",status="200"'
        assert f"palimpsest_requests_total{{{route}}} 1.0" in text
        assert 'palimpsest_requests_total{route="-",status="404"} 1.0' in text
        assert f"palimpsest_request_seconds_count{{{route.partition(',')[0]}}} 1.0" in text
        assert "palimpsest_requests_running 1.0" in text, "this one"
        assert "palimpsest_dedup_checks" in text
        assert "/ada" not in text

    bounded(tmp_path, RequestLimits(), used)


def test_numbers_beyond_their_bounds_are_refused(tmp_path: Path) -> None:
    async def used(server: Server) -> None:
        for path, body in (
            (f"{MEMORIES}/search", {"query": "a", "k": 101}),
            (f"{MEMORIES}/find", {"query": "a", "k": 0}),
            (f"{MEMORIES}/batch", {"memories": [{"text": "a"}] * 101}),
            (f"{MEMORIES}/search", {"query": "a", "as_of": 2**63}),
            (MEMORIES, {"text": "a" * 32_769}),
            (MEMORIES, {"text": "a", "confidence": 1.1}),
        ):
            response = await server.ask("POST", path, body, name="grace")
            assert response.status_code == 422, json.dumps(response.json())
        for query in ("limit=0", "limit=201", "after=-1", "wait=31", "wait=-1"):
            response = await server.ask("GET", f"/v1/owners/ada/decisions?{query}")
            assert response.status_code == 422

    bounded(tmp_path, RequestLimits(), used)


LISTS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/owners/ada/memories", {"text": "x", "topics": [1] * 40_000}),
    ("/v1/owners/ada/memories", {f"unknown {n}": 0 for n in range(40_000)}),
    ("/v1/owners/ada/memories/batch", {"memories": [{}] * 40_000}),
    ("/mem0/v3/memories/add/", {"user_id": "ada", "messages": [{"content": [0] * 40_000}]}),
]


@pytest.mark.parametrize(("path", "body"), LISTS)
def test_of_many_wrong_items_the_first_is_told(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    async def used(server: Server) -> None:
        async with server.client() as client:
            answer = await client.post(path, json=body)
        assert answer.status_code == 422
        assert len(answer.json()["errors"]) == 1
        assert len(answer.content) < 1_000

    bounded(tmp_path, RequestLimits(), used)


@pytest.mark.parametrize("values", [[0] * 300_000, {"a": [[{}] * 9] * 30_000}])
def test_a_body_has_so_many_values_however_deep(tmp_path: Path, values: Any) -> None:
    async def used(server: Server) -> None:
        async with server.client() as client:
            answer = await client.post(MEMORIES, json={"text": "x", "metadata": {"a": values}})
        assert answer.status_code == 413
        assert len(answer.content) < 1_000

    bounded(tmp_path, RequestLimits(), used)
