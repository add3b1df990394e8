"""MCP over standard input and output: the server is found or started, and no write is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, cast

import orjson
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from palimpsest import Palimpsest
from palimpsest.client import shim as shims
from palimpsest.client.shim import Shim
from palimpsest.server.endpoint import Endpoint, read_endpoint
from palimpsest.server.starting import ready_server
from tests.long import long_but
from tests.palimpsest.server.child import PROGRAM
from tests.palimpsest.server.script import Script
from tests.palimpsest.server.test_mcp import call

ROOT = Path(__file__).parents[3]
NOWHERE = sys.__stderr__ or sys.stderr
WRITES = 200 if int(os.environ.get("PALIMPSEST_KILLS", "0")) >= 100 else 5
"""Writes of each client; the full number in `make test-crash`."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A store's folder; its server is ended after the test."""
    store = tmp_path / "store"
    yield store
    end(store)


def end(store: Path) -> None:
    found = read_endpoint(store)
    if found is not None:
        os.kill(found.pid, signal.SIGTERM)
        last = time.monotonic() + 30
        while read_endpoint(store) is not None:
            assert time.monotonic() < last, "the server does not end"
            time.sleep(0.02)


def parameters(store: Path, owner: str) -> StdioServerParameters:
    words = [*PROGRAM[1:], "--store", str(store), "mcp", "--owner", owner]
    return StdioServerParameters(command=PROGRAM[0], args=words, cwd=ROOT, env={**os.environ})


@asynccontextmanager
async def shim(store: Path, owner: str = "ada") -> AsyncIterator[Client]:
    """The SDK's client with its own process."""
    async with Client(stdio_client(parameters(store, owner), errlog=NOWHERE)) as made:
        yield made


@pytest.mark.crash
@pytest.mark.parametrize("clients", long_but(4, of=[4, 8]))
def test_many_processes_start_one_server_and_every_write_survives(
    folder: Path, clients: int
) -> None:
    async def write(number: int) -> list[str]:
        async with shim(folder, f"owner {number % 4}") as made:
            notes = [f"process {number} writes note {n} {number}x{n}" for n in range(WRITES)]
            done = [await call(made, "add_memory", text=note) for note in notes]
            return [str(one["candidate_id"]) for one in done]

    async def all_write() -> list[list[str]]:
        return await asyncio.gather(*(write(number) for number in range(clients)))

    acknowledged = [one for some in asyncio.run(all_write()) for one in some]
    endpoint = read_endpoint(folder)
    assert endpoint is not None
    assert (folder / "serve.json").stat().st_mode & 0o777 == 0o600
    end(folder)
    with Palimpsest.open(folder) as store:
        store.wait_for(store.position)  # the server may still be writing its views
        rows = store.sql("SELECT candidate_id FROM candidates")
    assert sorted(row["candidate_id"] for row in rows) == sorted(acknowledged)
    assert len(acknowledged) == clients * WRITES


def test_a_server_that_died_is_started_again_and_what_it_did_is_not_done_twice(
    folder: Path,
) -> None:
    async def used() -> list[Any]:
        async with shim(folder) as made:
            first = await call(made, "add_memory", text="before the end")
            found = read_endpoint(folder)
            assert found is not None
            os.kill(found.pid, signal.SIGKILL)
            second = await call(made, "add_memory", text="after the end")
            page = await call(made, "get_memories")
            assert {memory["face"] for memory in page["memories"]} == {
                "before the end",
                "after the end",
            }
            started = ready_server(folder)
            assert started is not None
            assert started.pid != found.pid
            return [first, second]

    for added in asyncio.run(used()):
        assert added["result"] == "decided"


def test_owners_are_apart_and_a_name_may_have_a_slash(folder: Path) -> None:
    async def used() -> None:
        async with shim(folder, "team/ada 1") as ada, shim(folder, "team") as other:
            await call(ada, "add_memory", text="Ada has a boat")
            assert (await call(other, "get_memories"))["memories"] == []
            [memory] = (await call(ada, "get_memories"))["memories"]
            assert memory["face"] == "Ada has a boat"
            wrong = await ada.call_tool("search_memories", {"query": ""})
            assert wrong.is_error

    asyncio.run(used())


@pytest.mark.parametrize(
    ("line", "of", "code"),
    [
        (b"nonsense", None, -32700),
        (b'{"id": 1, "method": "ping\xff"}', None, -32700),
        (b"[" * 2_000, None, -32700),
        (b'"initialize"', None, -32600),
        (b"[1]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":"no method"}', "no method", -32600),
        ((b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":'
         b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}'), 3, -32022),
    ],
)  # fmt: skip
def test_a_line_that_is_no_message_is_answered_and_asked_of_nobody(
    line: bytes, of: Any, code: int
) -> None:
    out = BytesIO()
    endpoint = Endpoint(url="http://127.0.0.1:9", pid=1)
    Shim("ada", lambda: endpoint, None, out).run(BytesIO(line + b"\n"))
    answer = orjson.loads(out.getvalue())
    assert (answer["id"], answer["error"]["code"]) == (of, code)


@pytest.mark.parametrize(
    "of", [0, -1, 1.5, 2**70, "", "7", "ünïcode", "half \ud83d", "line\u2028", "x" * 5_000]
)
def test_every_id_comes_back_as_it_was(monkeypatch: pytest.MonkeyPatch, of: Any) -> None:
    script = Script((200, PONG), (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":1}}'))
    line = json.dumps({"jsonrpc": "2.0", "id": of, "method": "ping"}).encode() + b"\n"
    assert [one["id"] for one in said(monkeypatch, script, line, line)] == [of, of]


PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}\n'
PONG = b'{"jsonrpc":"2.0","id":7,"result":{}}'


def said(
    monkeypatch: pytest.MonkeyPatch, script: Script, *lines: bytes, token: str | None = None
) -> list[Any]:
    """The answers to a client that sends these lines in turn to a scripted server."""
    monkeypatch.setattr(shims, "connect", script.connect)
    monkeypatch.setattr(shims, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(shims, "THREADS", 1)
    found = (Endpoint(url=f"http://server-{n}", pid=n, agent=f"secret {n}") for n in range(9))
    out = BytesIO()
    Shim("team/ada", lambda: next(found), token, out).run(BytesIO(b"".join(lines)))
    assert out.getvalue().isascii(), "no line separator that only some clients know"
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_server_that_is_full_or_away_is_asked_again_under_the_same_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = Script((429, b"{}"), (503, b"{}"), ConnectionResetError(), (200, PONG), (200, PONG))
    assert [one["id"] for one in said(monkeypatch, script, PING, PING)] == [7, 7]
    *first, second = script.asked
    assert len({one["idempotency-key"] for one in first}) == 1
    assert second["idempotency-key"] != first[0]["idempotency-key"]
    urls = [one["url"].rpartition("-")[2] for one in script.asked]
    assert urls == ["0", "0", "0", "1", "1"], "looked for again where the connection is lost"
    assert {one["path"] for one in script.asked} == {"/mcp/team%2Fada"}


def test_another_server_is_looked_for_once_where_the_secret_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unknown = (401, b'{"detail": "this server does not know the token"}')
    script = Script(unknown, (200, PONG), unknown, unknown)
    known, refused = said(monkeypatch, script, PING, PING)
    assert known["result"] == {}
    assert refused["error"]["message"] == "this server does not know the token"
    shown = [one["authorization"] for one in script.asked]
    assert shown == [f"Bearer secret {n}" for n in (0, 1, 1, 2)]


def test_a_token_of_ones_own_goes_before_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script((200, PONG))
    said(monkeypatch, script, PING, token="my own")
    assert script.asked[0]["authorization"] == "Bearer my own"


def test_a_notification_and_an_empty_line_are_never_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = Script((202, b""), (400, b'{"detail": "no"}'), (400, b'{"detail": "no"}'), (500, b"x"))
    notification = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    told = said(monkeypatch, script, notification, b"  \n", notification, PING, PING)
    assert [(one["id"], one["error"]["message"]) for one in told] == [
        (7, "no"),
        (7, "the server answered with status 500"),
    ]


def test_half_of_a_surrogate_pair_reaches_the_server_which_refuses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = Script((400, b'{"detail": "no"}'))
    line = b'{"jsonrpc":"2.0","id":4,"method":"ping","params":{"a":"cut \\udc4d"}}\n'
    [told] = said(monkeypatch, script, line)
    assert (told["id"], told["error"]) == (4, {"code": -32602, "message": "no"})
    assert b'"cut \\udc4d"' in script.asked[0]["body"]


def test_the_version_that_was_agreed_on_is_said_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agreed = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}'
    script = Script((200, agreed), (200, PONG))
    begin = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    said(monkeypatch, script, begin, PING)
    versions = [one.get("mcp-protocol-version") for one in script.asked]
    assert versions == [None, "2025-06-18"]


def test_a_server_that_stays_away_is_an_error_of_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shims, "AGAIN_SECONDS", -1.0)
    [told] = said(monkeypatch, Script((503, b"{}")), PING)
    assert (told["id"], told["error"]["message"]) == (7, "the server is unreachable or busy")


def test_who_asks_what_this_server_can_is_told_to_shake_hands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [told] = said(monkeypatch, Script(), b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}\n')
    assert (told["id"], told["error"]["code"]) == (1, -32601)


def tool_call(number: int) -> bytes:
    params = {"name": "add_memory", "arguments": {"text": f"note {number}"}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode() + b"\n"


def test_pipelined_calls_are_forwarded_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(*[(200, PONG)] * 30)
    lines = [tool_call(number) for number in range(30)]
    assert [one["id"] for one in said(monkeypatch, script, *lines)] == [*range(30)]
    sent = [json.loads(one["body"])["params"]["arguments"]["text"] for one in script.asked]
    assert sent == [f"note {number}" for number in range(30)]


class Paced:
    """Lines of a client that sends the next only after an event."""

    def __init__(self, *lines: bytes | Event) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            if isinstance(line, Event):
                assert line.wait(30)
            else:
                yield line


class Slow(Script):
    """A server whose first answer comes only when the client has continued."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        super().__init__(*answers)
        self.begun, self.go_on = Event(), Event()

    def request(self, *args: Any, **more: Any) -> None:
        """Note that the first request has arrived, and wait."""
        super().request(*args, **more)
        self.begun.set()
        assert self.go_on.wait(30)


def cancel(of: Any) -> bytes:
    params = {"requestId": of}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    return json.dumps(message).encode() + b"\n"


def test_a_cancelled_call_is_not_answered_nor_sent_if_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script, out = Slow((200, PONG), (200, PONG)), BytesIO()
    monkeypatch.setattr(shims, "connect", script.connect)
    endpoint = Endpoint(url="http://server", pid=1, agent="secret")

    class Done(Event):
        """Lets the server answer, once the client has cancelled."""

        def wait(self, timeout: float | None = None) -> bool:
            script.go_on.set()
            return True

    lines = Paced(
        *(tool_call(number) for number in (1, 2, 3)),
        script.begun,
        *map(cancel, (1, 2, "3", None, [], 99)),
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}\n',
        Done(),
    )
    Shim("ada", lambda: endpoint, None, out).run(cast("BinaryIO", lines))
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == [3]
    assert [json.loads(one["body"])["params"]["arguments"]["text"] for one in script.asked] == [
        "note 1",
        "note 3",
    ]


def test_a_batch_is_answered_if_the_agreed_version_demands_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agreed = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}'
    script, out = Script((200, agreed), (200, PONG), (202, b""), (200, PONG)), BytesIO()
    monkeypatch.setattr(shims, "connect", script.connect)
    endpoint = Endpoint(url="http://server", pid=1, agent="secret")
    begin = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    calls = [json.loads(tool_call(number)) for number in (2, 3)]
    batch = json.dumps([calls[0], notification, 5, calls[1]]).encode() + b"\n"

    def lines() -> Iterator[bytes]:
        yield begin
        last = time.monotonic() + 30
        while not out.getvalue():
            assert time.monotonic() < last
            time.sleep(0.01)
        yield batch

    Shim("ada", lambda: endpoint, None, out).run(cast("BinaryIO", lines()))
    _, answers = map(json.loads, out.getvalue().splitlines())
    assert [(answer["id"], "result" in answer) for answer in answers] == [
        (2, True),
        (None, False),
        (3, True),
    ]
