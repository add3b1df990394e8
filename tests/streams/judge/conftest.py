from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest.cli.demo.judge import JudgeServer
from tests.streams.judge.asking import Asking


def unread(*_arguments: object, **_options: object) -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    """The local server; the SDK has a key, and waits next to nothing before it tries again.

    Nothing here is encrypted: certificates, which take a tenth of a second to read, are not.
    """
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("httpx2._transports.default.create_ssl_context", unread)
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    with JudgeServer() as running:
        yield running


@pytest.fixture
def asking(server: JudgeServer, tmp_path: Path) -> Asking:
    return Asking(server, tmp_path)
