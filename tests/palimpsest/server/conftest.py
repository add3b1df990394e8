"""A server's application in this process, on a store without a model, and clients with tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from pydantic import SecretStr

from palimpsest import AsyncPalimpsest
from palimpsest.api import store
from palimpsest.server.gate import RequestLimits
from palimpsest.server_process.app import App
from palimpsest.settings.serve import Role, Token
from tests.stub_engine import load_stub

Answer = TypeVar("Answer")
HOST = "localhost:7077"


@pytest.fixture(autouse=True, scope="module")
def _without_a_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "load_engine", load_stub)
        yield


def secret(name: str) -> str:
    return f"{name}-{name}-0123456789abcdef"


def token(name: str, owners: str, role: Role = "agent", **fields: Any) -> Token:
    return Token(name=name, secret=SecretStr(secret(name)), owners=owners, role=role, **fields)


TOKENS = (
    token("ada", "ada"),
    token("bob", "bob"),
    token("grace", "ada|bob", "reviewer"),
    token("root", ".*", "operator"),
)


class Server:
    """An application with clients."""

    def __init__(self, app: App, twin: AsyncPalimpsest) -> None:
        self.app = app
        self.twin = twin

    def client(self, name: str | None = "ada", **headers: str) -> httpx2.AsyncClient:
        """A client with a named token, or with none."""
        if name is not None:
            headers.setdefault("authorization", f"Bearer {secret(name)}")
        transport = httpx2.ASGITransport(app=self.app.gate, raise_app_exceptions=False)
        return httpx2.AsyncClient(
            transport=transport, base_url=f"http://{HOST}", headers={"host": HOST, **headers}
        )

    async def ask(
        self, method: str, path: str, document: Any = None, *, name: str | None = "ada", **more: Any
    ) -> httpx2.Response:
        """One request."""
        async with self.client(name) as client:
            return await client.request(method, path, json=document, **more)

    async def add(self, text: str, owner: str = "ada", **fields: Any) -> dict[str, Any]:
        """Add a memory as its owner."""
        path = f"/v1/owners/{owner}/memories"
        response = await self.ask("POST", path, {"text": text, **fields}, name=owner)
        assert response.status_code == 200, response.text
        added: dict[str, Any] = response.json()
        return added


async def displaced(server: Server) -> None:
    """Give ada a memory, whose update has displaced another one."""
    path = "/v1/owners/ada"
    memory = (await server.add("Ada works at Google"))["memory_id"]
    changed = [
        await server.ask("PATCH", f"{path}/memories/{memory}", {"text": f"Ada works at {where}"})
        for where in ("Meta", "Apple")
    ]
    await server.add("Ada works at Meta")
    await server.ask("POST", f"{path}/undo", {"id": changed[0].json()["decision_id"]})
    for former, wanted in ((False, 1), (True, 2)):
        assert (await server.twin.list("ada", former=former))["total"] == wanted


@asynccontextmanager
async def serving(
    folder: Path, tokens: tuple[Token, ...] = TOKENS, limits: RequestLimits | None = None
) -> AsyncIterator[Server]:
    """A server on a store, ready."""
    async with await AsyncPalimpsest.open(folder, by="person") as twin:
        app = App(twin, tokens, ["localhost"], limits)
        app.ready = True
        async with app.running():
            yield Server(app, twin)


Use = Callable[[Callable[[Server], Awaitable[Answer]]], Answer]


@pytest.fixture
def served(tmp_path: Path) -> Use[Any]:
    """Runs a coroutine on its own server."""

    def use(used: Callable[[Server], Awaitable[Answer]]) -> Answer:
        async def run() -> Answer:
            async with serving(tmp_path / "store") as server:
                return await used(server)

        return asyncio.run(run())

    return use
