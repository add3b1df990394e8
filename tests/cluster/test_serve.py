"""A server whose store follows a cluster: a worker decides what its clients ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from palimpsest import AsyncPalimpsest
from palimpsest.api import store
from palimpsest.server_process.app import App
from palimpsest.streams.cluster.connection import Connection
from tests.cluster.cluster import PATIENCE, Cluster, eventually, is_ready, pauses
from tests.palimpsest.server.conftest import TOKENS, Server
from tests.palimpsest.server.test_mcp import call, client
from tests.stub_engine import load_stub

MEMORIES = "/v1/owners/ada/memories"


@asynccontextmanager
async def serving(folder: Path, connection: Connection) -> AsyncIterator[Server]:
    """A server on a store that follows a cluster."""
    async with await AsyncPalimpsest.open(folder, cluster=connection, by="person") as twin:
        app = App(twin, TOKENS, ["localhost"])
        app.ready = True
        async with app.running():
            yield Server(app, twin)


Use = Callable[[Callable[[Server], Awaitable[None]]], None]


@pytest.fixture
def served(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Run a coroutine on a server, with a worker and a projector behind it."""
    monkeypatch.setattr(store, "load_engine", load_stub)
    worker = cluster.worker()
    cluster.projector()
    eventually(lambda: is_ready(worker), "the worker decides")
    eventually((cluster.folder / "store" / "log.sqlite").exists, "there is a store")

    def use(used: Callable[[Server], Awaitable[None]]) -> None:
        async def run() -> None:
            async with serving(cluster.folder / "store", cluster.connection) as server:
                await used(server)

        asyncio.run(run())

    return use


async def shown(server: Server, added: dict[str, Any]) -> str:
    """The memory of a candidate that was published, once the store shows it."""
    assert added["result"] == "published"
    path = f"{MEMORIES}/{added['candidate_id']}"
    for pause in pauses("the store shows what was added", PATIENCE):
        found = await server.ask("GET", path)
        if found.status_code == 200:
            return str(found.json()["memory_id"])
        await asyncio.sleep(pause)
    raise AssertionError("pauses end by an error")


async def faces(server: Server, query: str) -> list[str]:
    found = await server.ask("POST", f"{MEMORIES}/search", {"query": query})
    return [memory["face"] for memory in found.json()["memories"]]


def test_a_worker_decides_what_is_asked_for_over_http(served: Use) -> None:
    async def used(server: Server) -> None:
        one = await shown(server, await server.add("Ada works at Google", id="one"))
        again = await server.add("Ada works at Google", id="one")
        assert await shown(server, again) == one, "the same id is the same candidate"
        changed = await server.ask("PATCH", f"{MEMORIES}/{one}", {"text": "Ada works at Meta"})
        assert changed.status_code == 200, changed.text
        assert await faces(server, "where does Ada work") == ["Ada works at Meta"]
        late = {"text": "Ada works at IBM", "expect": changed.json()["was"]}
        refused = await server.ask("PATCH", f"{MEMORIES}/{one}", late)
        assert (refused.status_code, refused.json()["reason"]) == (409, "moved_on")
        undo = {"id": changed.json()["decision_id"]}
        assert (await server.ask("POST", "/v1/owners/ada/undo", undo)).status_code == 200
        assert await faces(server, "where does Ada work") == ["Ada works at Google"]
        plan = (await server.ask("POST", f"{MEMORIES}/find", {"query": "Google"})).json()
        found = {"memory_ids": [hit["memory_id"] for hit in plan["hits"]], "token": plan["token"]}
        gone = await server.ask("POST", f"{MEMORIES}/forget", found)
        assert gone.status_code == 200, gone.text
        assert await faces(server, "where does Ada work") == []
        for name, sees in (("ada", False), ("grace", True)):
            told = await server.ask("GET", f"{MEMORIES}/{one}/history", name=name)
            assert ("Google" in told.text) == sees, "an agent sees no forgotten text"
        back = {"forgotten": gone.json()["forgotten"]}
        restored = await server.ask("POST", "/v1/owners/ada/restore", back, name="grace")
        assert restored.status_code == 200, restored.text
        assert await faces(server, "where does Ada work") == ["Ada works at Google"]

    served(used)


def test_a_worker_decides_what_is_asked_for_over_mcp(served: Use) -> None:
    async def used(server: Server) -> None:
        async with client(server) as made:
            one = await shown(server, await call(made, "add_memory", text="Ada rows a boat"))
            same = await call(made, "add_memory", text="Ada rows a boat.")
            assert await shown(server, same) == one
            [found] = (await call(made, "search_memories", query="boat"))["memories"]
            assert found["face"] == "Ada rows a boat"
            changed = await call(made, "update_memory", memory_id=one, text="Ada sails")
            assert changed["displaced"]["text"] == "Ada rows a boat"
            shows = await call(made, "undo", id=changed["decision_id"])
            done = await call(made, "undo", id=changed["decision_id"], token=shows["token"])
            assert done["done"]
            assert (await call(made, "get_memory", memory_id=one))["face"] == "Ada rows a boat"
            gone = await call(made, "delete_memory", memory_id=one)
            assert len(gone["candidates"]) == 2
            assert (await call(made, "get_memories"))["memories"] == []

    served(used)
