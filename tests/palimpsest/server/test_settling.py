"""A server with a judge leaves nothing pending; without one it says that questions wait."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import subprocess
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.cli.main import app
from palimpsest.client import shim
from palimpsest.server.endpoint import Endpoint, OnlyServer
from palimpsest.server_process import settling
from palimpsest.server_process.run import serve
from palimpsest.settings.serve import ServeSettings
from palimpsest.settings.settings import NO_JUDGE, read_settings
from palimpsest.streams.judge.settings import JudgeSettings
from tests.long import long_but
from tests.palimpsest.server.child import PROGRAM
from tests.streams.judge.conftest import server

BOATS = [f"Ada paints {n} wooden boats in the harbour" for n in range(2, 8)]

__all__ = ["server"]


class Client:
    """A client of a running server, for the owner ada."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def add(self, text: str) -> str:
        """The decision on a text."""
        answer = await self._http.post("/v1/owners/ada/memories", json={"text": text})
        return str(answer.raise_for_status().json()["decision"])

    async def memories(self) -> int:
        """The number of memories."""
        answer = await self._http.get("/v1/owners/ada/memories")
        return int(answer.raise_for_status().json()["total"])


def run(
    folder: Path, judge: JudgeSettings | None, use: Callable[[Client], Awaitable[object]]
) -> None:
    """Serve a store while it is used."""

    async def served() -> None:
        ready: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        serving = asyncio.create_task(
            serve(
                partial(Palimpsest.open, folder),
                OnlyServer(folder),
                ServeSettings(port=0),
                stop,
                judge=judge,
                on_ready=lambda endpoint, _: ready.set_result(endpoint),
            )
        )
        endpoint = await ready
        headers = {"authorization": f"Bearer {endpoint.agent}"}
        try:
            async with httpx2.AsyncClient(base_url=endpoint.url, headers=headers) as http:
                await use(Client(http))
        finally:
            stop.set()
            await serving

    asyncio.run(served())


def waiting(folder: Path) -> int:
    with Palimpsest.open(folder) as memories:
        return int(memories.status()["judge"]["waiting"])


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(600):
        if await holds():
            return
        await asyncio.sleep(0.1)
    pytest.fail("it never held")


def asking(server: JudgeServer, **settings: Any) -> JudgeSettings:
    return JudgeSettings(base_url=server.url, retries=0, calls_per_second=1000, **settings)


def test_what_is_pending_is_settled_while_others_are_served(
    tmp_path: Path, server: JudgeServer
) -> None:
    async def use(client: Client) -> None:
        decisions = [await client.add(text) for text in BOATS]
        assert decisions == ["stored", *["pending"] * 5]
        await until(lambda: settled(client))

    async def settled(client: Client) -> bool:
        await client.memories()
        return server.calls > 0 and waiting(tmp_path) == 0

    run(tmp_path, asking(server), use)
    assert waiting(tmp_path) == 0
    assert server.calls > 0


def test_what_waited_before_the_server_began_is_settled_too(
    tmp_path: Path, server: JudgeServer
) -> None:
    with Palimpsest.open(tmp_path) as memories:
        memories.submit([{"owner_id": "ada", "text": text} for text in BOATS])
    assert waiting(tmp_path) == 5

    async def settled() -> bool:
        return waiting(tmp_path) == 0

    run(tmp_path, asking(server), lambda _: until(settled))


@pytest.mark.parametrize("reason", ["no judge", "no key", "a wrong key"])
def test_a_server_whose_judge_cannot_be_asked_says_so_and_serves(
    reason: str,
    tmp_path: Path,
    server: JudgeServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    judge: JudgeSettings | None = asking(server)
    said = {
        "no judge": f"{NO_JUDGE} (0 wait now)",
        "no key": "the judge needs a key",
        "a wrong key": "the service refuses the key",
    }[reason]
    if reason == "no judge":
        judge = None
    elif reason == "no key":
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    else:
        server.always = Fault(status=401, kind="authentication_error")

    async def use(client: Client) -> None:
        for text in BOATS[:2]:
            await client.add(text)

        async def told() -> bool:
            return said in caplog.text

        await until(told)
        assert await client.memories() == 2

    with caplog.at_level(logging.WARNING):
        run(tmp_path, judge, use)
    assert waiting(tmp_path) == 1


@pytest.mark.parametrize("status", long_but(401, of=[401, 403, 404]))
def test_a_server_asks_again_a_judge_that_refused_it(
    status: int, tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then `status` says why nothing is asked."""
    monkeypatch.setattr(settling, "FIRST_PAUSE_SECONDS", 0.05)
    server.always = Fault(status=status, kind="authentication_error")

    def refused() -> Any:
        with Palimpsest.open(tmp_path) as memories:
            return memories.status()["judge"]["refused"]

    async def is_refused() -> bool:
        return refused() is not None

    async def settled() -> bool:
        return waiting(tmp_path) == 0

    async def use(client: Client) -> None:
        for text in BOATS[:2]:
            await client.add(text)
        await until(is_refused)
        assert f"status {status}" in refused()["why"]
        server.always = None
        await until(settled)

    run(tmp_path, asking(server), use)
    assert refused() is None


def test_a_key_alone_is_no_consent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    assert read_settings().judge_of_server is None
    monkeypatch.setenv("PALIMPSEST_JUDGE_PROTOCOL", "anthropic")
    assert read_settings().judge_of_server == JudgeSettings()


@pytest.mark.parametrize("configured", [True, False])
def test_mcp_says_at_its_start_that_questions_wait(
    configured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shim, "speak", lambda *_: None)
    if configured:
        monkeypatch.setenv("PALIMPSEST_JUDGE_PROTOCOL", "anthropic")
    began = CliRunner().invoke(app, ["--store", str(tmp_path), "mcp", "--owner", "ada"])
    assert began.exit_code == 0
    assert (NO_JUDGE in began.stderr) != configured
    assert began.stdout == ""


@pytest.mark.parametrize("configured", long_but(True, of=[True, False]))
def test_the_process_of_a_server_settles_or_says_that_questions_wait(
    configured: bool, tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command itself, configured only by the environment."""
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    monkeypatch.chdir(tmp_path)
    if configured:
        monkeypatch.setenv("PALIMPSEST_JUDGE_PROTOCOL", "anthropic")
        monkeypatch.setenv("PALIMPSEST_JUDGE_BASE_URL", server.url)
    store = tmp_path / "store"
    said = tmp_path / "said.log"

    async def pending() -> None:
        endpoint = json.loads((store / "serve.json").read_text())
        headers = {"authorization": f"Bearer {endpoint['agent']}"}
        url = endpoint["url"]
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as http:
            decisions = [await Client(http).add(text) for text in BOATS]
        assert decisions == ["stored", *["pending"] * 5]

    async def ready() -> bool:
        return (store / "serve.json").exists()

    async def done() -> bool:
        if configured:
            return server.calls > 0 and waiting(store) == 0
        return NO_JUDGE in said.read_text() and waiting(store) == 5

    async def use() -> None:
        await until(ready)
        await pending()
        await until(done)

    with said.open("w") as log:
        words = (*PROGRAM, "--store", str(store), "serve", "--port", "0")
        process = subprocess.Popen(words, stderr=log, stdout=log)
    try:
        asyncio.run(use())
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
