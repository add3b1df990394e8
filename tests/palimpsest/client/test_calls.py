"""The client's calls are the server's operations, and all tries of one call are done once."""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.client import CALLS, written
from palimpsest.client import (
    AsyncPalimpsestClient,
    ClientError,
    PalimpsestClient,
    ServerProblem,
    ServerUnreachable,
)
from palimpsest.client import exchange as exchanges
from palimpsest.client.calls import AsyncCalls, Calls
from tests.palimpsest.server.conftest import HOST, Server, Use, secret

OF_POSIX = frozenset("fcntl grp pty pwd resource syslog termios tty".split())
FOLDER = CALLS.parent
SAMPLES: dict[str, Any] = {
    "str": "id",
    "int": 1,
    "bool": False,
    "float": 0.5,
    "dict": {"session_id": "s"},
}


def test_the_calls_are_those_that_the_openapi_document_describes() -> None:
    assert CALLS.read_text(encoding="utf-8") == written(), "run `python -m infra.client`"


def test_both_distributions_have_one_version() -> None:
    root = FOLDER.parents[1]
    versions = {
        tomllib.loads((root / file).read_text(encoding="utf-8"))["project"]["version"]
        for file in ("pyproject.toml", "client/pyproject.toml")
    }
    assert len(versions) == 1


def test_both_clients_have_the_same_calls() -> None:
    one, other = (
        {name: inspect.signature(call) for name, call in vars(kind).items() if name[0] != "_"}
        for kind in (Calls, AsyncCalls)
    )
    assert one == other
    assert len(one) > 25


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_a_module_imports_neither_ours_nor_what_only_posix_has(file: Path) -> None:
    """Under its other name the folder must work alone, on any system."""
    imported = {*imports(ast.parse(file.read_text(encoding="utf-8")))}
    assert imported <= {*sys.stdlib_module_names} - OF_POSIX | {"httpx"}


def imports(tree: ast.Module) -> Iterator[str]:
    """The imported packages, except the folder's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def client(server: Server, name: str, **options: Any) -> AsyncPalimpsestClient:
    transport = httpx.ASGITransport(app=server.app.gate, raise_app_exceptions=False)
    return AsyncPalimpsestClient(
        f"http://{HOST}", secret(name), transport=transport, patience=0, **options
    )


def test_a_memory_is_added_found_changed_and_undone(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        async with client(server, "ada") as memories:
            added = await memories.add_memory(
                "ada",
                text="Ada lives in Paris",
                occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
                metadata={"room": "a/b"},
            )
            found = await memories.search_memories("ada", query="Ada lives", k=1)
            assert [hit["face"] for hit in found["memories"]] == ["Ada lives in Paris"]
            memory = str(added["memory_id"])
            changed = await memories.update_memory("ada", memory, text="Ada lives in Rome")
            await memories.undo("ada", id=changed["undo"])
            assert (await memories.get_memory("ada", memory))["face"] == "Ada lives in Paris"
            since = datetime(2026, 2, 1, tzinfo=UTC)
            assert (await memories.list_memories("ada", since=since, limit=1))["total"] == 1
            forgotten = await memories.forget_memory("ada", memory, because="a test")
            assert (await memories.list_memories("ada"))["total"] == 0
        async with client(server, "grace") as person:
            await person.restore("ada", forgotten=forgotten["forgotten"])
            assert (await person.list_memories("ada"))["total"] == 1

    served(used)


def test_a_key_is_done_once_and_without_one_each_call_is_its_own(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        async with client(server, "ada") as memories:
            one = await memories.add_memory("ada", text="Ada skis", key="1")
            assert await memories.add_memory("ada", text="Ada skis", key="1") == one
            other = await memories.add_memory("ada", text="Ada skis")
            assert (other["result"], other["decision"]) == ("decided", "hash_exact")
            with pytest.raises(ServerProblem) as refused:
                await memories.add_memory("ada", text="Ada rows", key="1")
            assert (refused.value.status, refused.value.reason) == (422, "id_conflict")

    served(used)


def test_problems_say_what_the_server_says(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        async with client(server, "ada") as memories:
            for call, status, kind in (
                (memories.get_memory("ada", "a/b?c"), 404, "not_found"),
                (memories.list_memories("bob"), 403, "forbidden"),
                (memories.show_status(), 403, "forbidden"),
            ):
                with pytest.raises(ServerProblem) as raised:
                    await call
                assert (raised.value.status, raised.value.kind) == (status, kind)
            with pytest.raises(ServerProblem, match="k: "):
                await memories.search_memories("ada", query="a", k=0)

    served(used)


@pytest.mark.parametrize("name", sorted(name for name in vars(Calls) if name[0] != "_"))
def test_the_server_knows_each_call_with_all_its_fields(name: str, served: Use[None]) -> None:
    """The answer may be that no such memory exists, but never that no such field does."""

    async def used(server: Server) -> None:
        async with client(server, "root") as memories:
            call = getattr(memories, name)
            fields = inspect.signature(call).parameters.items()
            given = {field: sample(str(of.annotation)) for field, of in fields if field != "key"}
            for problem in await asyncio.gather(call(**given), return_exceptions=True):
                if not isinstance(problem, BaseException):
                    continue
                assert isinstance(problem, ServerProblem)
                assert not any("unknown here" in error["rule"] for error in problem.errors)
                assert problem.detail != "there is no such resource"
                assert problem.status not in (405, 500)

    served(used)


def sample(kind: str) -> Any:
    """A value of a type, by its name."""
    if kind.startswith("Literal["):
        [first, *_] = kind.removeprefix("Literal[").partition("]")[0].split(",")
        return ast.literal_eval(first)
    if kind.startswith("list["):
        return [sample(kind[5:])]
    if kind.startswith("datetime"):
        return "2026-03-01T00:00:00Z"
    if kind.startswith("NewMemory"):
        return {"text": "Ada skis"}
    if kind.startswith("SaidMessage"):
        return {"role": "user", "content": "Ada skis"}
    if kind.startswith("Own"):
        return {"source": "somewhere"}
    return SAMPLES[kind.partition(" ")[0].partition("[")[0].rstrip("]")]


Answer = Callable[[httpx.Request], httpx.Response]


def scripted(*answers: httpx.Response | Exception) -> tuple[list[httpx.Request], Answer]:
    """The received requests, and a server that gives these answers in turn."""
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        answer = answers[len(asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return asked, handle


def add(handle: Answer, *, blocking: bool, patience: float) -> Any:
    transport = httpx.MockTransport(handle)
    options: dict[str, Any] = {"transport": transport, "patience": patience}
    if blocking:
        with PalimpsestClient("http://server", "secret", **options) as memories:
            return memories.add_memory("a/b", text="Ada skis")

    async def added() -> Any:
        async with AsyncPalimpsestClient("http://server", "secret", **options) as memories:
            return await memories.add_memory("a/b", text="Ada skis")

    return asyncio.run(added())


@pytest.mark.parametrize("blocking", [True, False])
def test_a_write_is_tried_again_under_its_key(
    blocking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "FIRST_PAUSE", 0.0)
    away, full = httpx.ConnectError("away"), httpx.Response(503, headers={"retry-after": "0"})
    lost = httpx.ReadError("the answer is lost")
    asked, handle = scripted(away, full, lost, httpx.Response(200, json={"result": "decided"}))
    assert add(handle, blocking=blocking, patience=60) == {"result": "decided"}
    assert len({request.headers["idempotency-key"] for request in asked}) == 1
    assert {request.url.raw_path for request in asked} == {b"/v1/owners/a%2Fb/memories"}
    assert {request.content for request in asked} == {b'{"text": "Ada skis"}'}


@pytest.mark.parametrize("client", [PalimpsestClient, AsyncPalimpsestClient])
@pytest.mark.parametrize("url", ["localhost:8080", "memories.example", "ftp://memories.example"])
def test_an_address_that_no_call_can_reach_is_refused_at_once(
    client: type[PalimpsestClient | AsyncPalimpsestClient], url: str
) -> None:
    with pytest.raises(ClientError, match="is not the URL of a server"):
        client(url, "secret")


def test_a_pause_that_is_no_number_is_not_waited_for() -> None:
    assert exchanges.Tries(60).pause("busy", {"retry-after": "²"}) == exchanges.FIRST_PAUSE


@pytest.mark.parametrize("blocking", [True, False])
def test_what_stays_away_is_said_and_what_is_refused_is_not_tried_again(blocking: bool) -> None:
    asked, handle = scripted(httpx.Response(503, headers={"retry-after": "9"}))
    with pytest.raises(ServerUnreachable, match="status 503"):
        add(handle, blocking=blocking, patience=1)
    problem = {"type": "urn:palimpsest:problem:refused", "detail": "no", "reason": "moved_on"}
    asked, handle = scripted(httpx.Response(409, json=problem))
    with pytest.raises(ServerProblem, match="moved_on: no") as refused:
        add(handle, blocking=blocking, patience=60)
    assert (refused.value.kind, len(asked)) == ("refused", 1)
    unusable = {"type": "urn:palimpsest:problem:model", "detail": "nothing is stored"}
    asked, handle = scripted(httpx.Response(502, json=unusable))
    with pytest.raises(ServerProblem, match="nothing is stored") as paid:
        add(handle, blocking=blocking, patience=60)
    assert (paid.value.kind, len(asked)) == ("model", 1)
    another = {"detail": [{"loc": ["body"], "msg": "missing"}]}  # a server of somebody else
    _, handle = scripted(httpx.Response(422, json=another))
    with pytest.raises(ServerProblem, match="missing"):
        add(handle, blocking=blocking, patience=60)
    _, handle = scripted(httpx.Response(200, text="<html>"))
    with pytest.raises(ServerProblem, match="status 200"):
        add(handle, blocking=blocking, patience=60)
