"""If a server cannot start, the caller gets the server's own reason."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import nullcontext
from errno import EADDRINUSE
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.cli.main import app
from palimpsest.contracts.errors import ModelError, TransientError
from palimpsest.server import starting
from palimpsest.server.endpoint import (
    SERVER_LOCK,
    STARTING_LOCK,
    Endpoint,
    OnlyServer,
    read_endpoint,
    write_endpoint,
)
from palimpsest.server.starting import _not_started
from palimpsest.server_process import run
from palimpsest.server_process.run import listening, serve
from palimpsest.settings.serve import ServeSettings
from palimpsest.settings.settings import Settings
from palimpsest.streams.embedded.lock import WriterLock
from tests.palimpsest.server.conftest import TOKENS
from tests.palimpsest.server.script import Script
from tests.stub_engine import load_stub


def test_without_a_model_it_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_args: Any, **_kwargs: Any) -> Any:
        raise ModelError("there is no model here: install one")

    monkeypatch.setattr(store, "load_engine", missing)
    opened = partial(Palimpsest.open, tmp_path / "store")
    only, settings = OnlyServer(tmp_path / "store"), ServeSettings(port=0)
    with pytest.raises(ModelError, match="install one"):
        asyncio.run(serve(opened, only, settings, asyncio.Event(), on_ready=lambda *_: None))


def test_a_server_removes_the_address_of_one_that_was_killed(tmp_path: Path) -> None:
    """Its tokens are unknown to the new server, which takes a while to be ready."""
    write_endpoint(tmp_path, Endpoint(url="http://127.0.0.1:1", pid=1, agent="a", operator="b"))
    with OnlyServer(tmp_path):
        assert read_endpoint(tmp_path) is None


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("INFO begun\nerror: no model: install one\n", "start: no model: install one ("),
        ("error: it is slow\nerror: no model\n", "start: no model ("),
        ("INFO begun\n", "serve.log says why"),
        (None, "serve.log says why"),
    ],
)
def test_a_failed_start_has_its_reason(tmp_path: Path, log: str | None, told: str) -> None:
    if log is not None:
        (tmp_path / "serve.log").write_text(log)
    assert told in str(_not_started(tmp_path))


def test_a_failed_start_has_not_the_reason_of_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "serve.log").write_text("INFO begun\nerror: an earlier reason\n")
    fails = "import sys; sys.exit('INFO')"
    monkeypatch.setattr(starting, "PROGRAM", (sys.executable, "-c", fails))
    with pytest.raises(TransientError, match=r"serve.log says why"):
        starting.find_or_start(tmp_path)


def test_a_server_is_started_apart_and_its_log_is_its_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leads = "import os, sys; sys.exit(f'error: leads {os.getsid(0) == os.getpid()}')"
    monkeypatch.setattr(starting, "PROGRAM", (sys.executable, "-c", leads))
    with pytest.raises(TransientError, match="leads True"):
        starting.find_or_start(tmp_path / "new" / "store")
    log = tmp_path / "new" / "store" / starting.LOG_FILE
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_server_that_another_process_started_meanwhile_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = Endpoint(url="http://127.0.0.1:9", pid=1)
    seen = iter([None, endpoint])
    monkeypatch.setattr(starting, "ready_server", lambda _: next(seen))
    monkeypatch.setattr(starting, "PROGRAM", (str(tmp_path / "none"),))
    assert starting.find_or_start(tmp_path) is endpoint
    assert WriterLock(tmp_path, STARTING_LOCK).try_acquire(), "others may start one, too"


def test_a_server_that_is_not_ready_yet_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_endpoint(tmp_path, Endpoint(url="http://127.0.0.1:9", pid=1))
    for status, ready in ((503, False), (200, True)):
        connections = Script((status, b""))
        monkeypatch.setattr(starting, "connect", connections.connect)
        assert (starting.ready_server(tmp_path) is not None) == ready


def test_a_server_that_was_given_tokens_makes_none_and_waits_for_its_last_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file with its address gives access only if the server has generated the secrets."""
    monkeypatch.setattr(store, "load_engine", load_stub)
    monkeypatch.setattr(run, "IDLE_LOOK_SECONDS", 0.001)
    endpoints: list[Endpoint] = []

    def told(endpoint: Endpoint, link: str) -> None:
        assert link.startswith(f"{endpoint.url}/review/enter?code=")
        endpoints.append(endpoint)

    for tokens in ((), TOKENS):
        folder = tmp_path / f"store of {len(tokens)}"
        opened = partial(Palimpsest.open, folder)
        settings = ServeSettings(port=0, tokens=tokens)
        only, stop = OnlyServer(folder), asyncio.Event()
        asyncio.run(serve(opened, only, settings, stop, idle=0.0, on_ready=told))
        assert read_endpoint(folder) is None, "it has ended"
        assert OnlyServer(folder)._lock.try_acquire(), "another may serve"
    assert [(endpoint.agent is None, endpoint.operator is None) for endpoint in endpoints] == [
        (False, False),
        (True, True),
    ]


def test_a_server_does_not_end_for_idleness_while_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "IDLE_LOOK_SECONDS", 0.001)
    gate = SimpleNamespace(asked_at=0.0, running=1)

    async def waits() -> None:
        answering = asyncio.create_task(asyncio.sleep(60))
        ending = asyncio.create_task(
            run._until(asyncio.Event(), cast("Any", SimpleNamespace(gate=gate)), answering, 1.0)
        )
        await asyncio.wait([ending], timeout=0.05)
        assert not ending.done()
        gate.running = 0
        await ending
        answering.cancel()

    asyncio.run(waits())


def test_a_browser_is_given_a_name_that_the_server_allows() -> None:
    behind = ServeSettings(host="0.0.0.0", allowed_hosts=("memory.example",))
    assert run.at("http://0.0.0.0:7077", behind, "/review") == "https://memory.example/review"
    assert run.at("http://[::1]:7077", ServeSettings(host="::1"), "/x") == "http://[::1]:7077/x"
    listener = cast("Any", SimpleNamespace(getsockname=lambda: ("::1", 7077, 0, 0)))
    assert run._endpoint(listener, ()).url == "http://[::1]:7077"


def test_a_server_for_others_has_none_of_the_loopbacks_names() -> None:
    others = ServeSettings(host="0.0.0.0", allowed_hosts=("memory.example",))
    assert [*run._hosts(others)] == ["memory.example"]
    own = ServeSettings(host="::1", allowed_hosts=("memory.example",))
    assert {*run._hosts(own)} == {"memory.example", "127.0.0.1", "::1", "localhost"}


@pytest.mark.parametrize(
    ("host", "family"),
    [("::1", socket.AF_INET6), ("127.0.0.1", socket.AF_INET), ("localhost", socket.AF_INET)],
)
def test_an_address_is_listened_at_in_its_family(
    host: str, family: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(socket, "create_server", lambda at, **how: asked.append((at, how)))
    listening(host, 7077)
    [(at, how)] = asked
    assert (at, how["family"]) == ((host, 7077), family)


@pytest.mark.parametrize(("fails", "ends"), [("stop", True), ("store", False)])
def test_without_a_model_a_server_ends_where_the_policy_says_so(fails: str, ends: bool) -> None:
    def missing() -> None:
        raise ModelError("there is no model")

    policy, reader = SimpleNamespace(embedder_fails=fails), SimpleNamespace(embedder=missing)
    store = cast("Any", SimpleNamespace(policy=policy, reader=reader))
    with pytest.raises(ModelError) if ends else nullcontext():
        run._warm(store)


def test_a_second_server_is_reported_before_it_loads_or_binds_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "palimpsest.server_process.run", None)  # importing it fails
    held = WriterLock(tmp_path, SERVER_LOCK)
    assert held.try_acquire()
    write_endpoint(tmp_path, Endpoint(url="http://127.0.0.1:7077", pid=1))
    ran = CliRunner().invoke(app, ["--store", str(tmp_path), "serve", "--port", "7077"])
    assert ran.exit_code == 1
    assert "another process serves this store at http://127.0.0.1:7077" in ran.stderr
    assert read_endpoint(tmp_path) is not None, "it is the first one's"
    held.release()


@pytest.mark.parametrize("owner", ["", " ", "a" * 513])
def test_a_missing_owner_is_reported_before_a_server_is_started(tmp_path: Path, owner: str) -> None:
    folder = tmp_path / "store"
    ran = CliRunner().invoke(app, ["--store", str(folder), "mcp", "--owner", owner], input=b"")
    assert ran.exit_code == 2
    assert "--owner" in ran.stderr
    assert not folder.exists()


def test_a_port_that_is_taken_is_named_in_a_sentence() -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TransientError) as told:
            listening("127.0.0.1", port)
    assert str(told.value) == f"cannot listen at 127.0.0.1 port {port}: {os.strerror(EADDRINUSE)}"
    with pytest.raises(TransientError, match=r"192.0.2.1 port 1: [^(]+$"):
        listening("192.0.2.1", 1)


def test_a_client_of_a_cluster_starts_a_server_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    record = f"import sys; open({str(said)!r}, 'w').write(' '.join(sys.argv[1:]))"
    monkeypatch.setattr(starting, "PROGRAM", (sys.executable, "-c", record))
    store = tmp_path / "store"
    words = ["--store", str(store), "--bootstrap", "broker:9092", "--prefix", "p-"]
    ran = CliRunner().invoke(app, [*words, "mcp", "--owner", "ada"], input=b"")
    assert ran.exit_code == 1, "that was no server"
    assert said.read_text().startswith(f"{' '.join(words)} serve --port 0 --idle ")


def test_tokens_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [{"name": "env", "secret": "sixteen-or-more-characters", "owners": "ada"}]
    monkeypatch.setenv("PALIMPSEST_SERVE_TOKENS", json.dumps(told))
    [found] = Settings().serve.all_tokens()
    assert (found.name, found.owners, found.role) == ("env", "ada", "agent")


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        ('[{"name": "a", "secret": "a-secret", "owners": "a"}]', "serve.tokens.0.secret"),
        (
            '[{"name": "a", "secret": "a-secret" "owners": "a"}]',
            "PALIMPSEST_SERVE_TOKENS should be JSON",
        ),
    ],
)
def test_wrong_tokens_of_the_environment_are_reported_without_them(
    monkeypatch: pytest.MonkeyPatch, tokens: str, told: str
) -> None:
    monkeypatch.setenv("PALIMPSEST_SERVE_TOKENS", tokens)
    ran = CliRunner().invoke(app, ["serve", "--port", "0"])
    assert ran.exit_code == 2
    assert told in ran.stderr
    assert "a-secret" not in ran.stderr
