"""`review open`: a link to the pages of the store's server, which is started if none runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from palimpsest import TransientError, UsageError
from palimpsest.server import linking
from palimpsest.server.endpoint import Endpoint, read_endpoint
from palimpsest.server.linking import ask_for_link
from tests.palimpsest.server.child import PROGRAM

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    store = tmp_path / "store"
    yield store
    endpoint = read_endpoint(store)
    if endpoint is not None:
        os.kill(endpoint.pid, signal.SIGTERM)


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, "--store", str(folder), "--json", *words]
    without = {name: value for name, value in os.environ.items() if name != "PALIMPSEST_TOKEN"}
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=without
    )


def loaded(link: str) -> tuple[int, str]:
    """A page's status, and its cookie."""
    try:
        with urllib.request.urlopen(link) as response:
            return response.status, response.headers.get("set-cookie", "")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("set-cookie", "")


def test_a_link_is_printed_by_the_server_that_runs_or_is_started(folder: Path) -> None:
    first = typed(folder, "review", "open")
    assert first.returncode == 0, first.stderr
    link = json.loads(first.stdout)["review"]
    status, cookie = loaded(link)
    assert (status, "HttpOnly" in cookie) == (200, True)
    assert loaded(link) == (403, "")
    again = typed(folder, "review", "open", "--name", "lin", "--role", "reviewer")
    assert json.loads(again.stdout)["review"].partition("?")[0] == link.partition("?")[0]
    for words in (("--role", "king"), ("--owners", "(")):
        wrong = typed(folder, "review", "open", *words)
        assert wrong.returncode == 2
        assert "no link" in wrong.stderr


def test_a_server_with_tokens_wants_an_operators() -> None:
    with pytest.raises(UsageError, match="PALIMPSEST_TOKEN"):
        ask_for_link(Endpoint(url="http://127.0.0.1:9", pid=1), None, {})
    with pytest.raises(TransientError, match="does not answer"):
        ask_for_link(Endpoint(url="http://127.0.0.1:9", pid=1), "a token", {})


class Answering:
    """A connection to a server with a given answer; records what was sent."""

    def __init__(self, status: int, answer: bytes) -> None:
        self.status = status
        self.sent: list[tuple[Any, ...]] = []
        self.closed = False
        self._answer = answer

    def request(self, *sent: Any) -> None:
        self.sent.append(sent)

    def getresponse(self) -> Answering:
        return self

    def read(self) -> bytes:
        return self._answer

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("made", "given", "shown"),
    [("made", "given", "made"), ("made", None, "made"), (None, "given", "given")],
)
def test_the_secret_that_a_server_made_goes_before_a_given_one(
    made: str | None, given: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Answering(200, b'{"path": "/review/enter?code=x"}')
    monkeypatch.setattr(linking, "connect", lambda *_: server)
    endpoint = Endpoint(url="http://127.0.0.1:9", pid=1, operator=made)
    link = ask_for_link(endpoint, given, {"name": "lin"})
    assert link == "http://127.0.0.1:9/review/enter?code=x"
    [(method, path, body, headers)] = server.sent
    assert (method, path, json.loads(body)) == ("POST", "/links", {"name": "lin"})
    assert headers["authorization"] == f"Bearer {shown}"
    assert server.closed


@pytest.mark.parametrize(
    ("status", "answer", "error", "told"),
    [
        (403, b'{"detail": "no", "path": "/"}', UsageError, "gives no link: no"),
        (200, b"no JSON", TransientError, "does not answer: JSONDecodeError"),
    ],
)
def test_a_server_that_gives_no_link_is_reported(
    status: int,
    answer: bytes,
    error: type[Exception],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Answering(status, answer)
    monkeypatch.setattr(linking, "connect", lambda *_: server)
    with pytest.raises(error, match=told):
        ask_for_link(Endpoint(url="http://127.0.0.1:9", pid=1), "given", {})
    assert server.closed
