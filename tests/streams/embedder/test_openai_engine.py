"""The engine of a service, through the vendor's SDK, against a server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from palimpsest.contracts.errors import ModelError, UsageError
from palimpsest.server.problems import problem_of
from palimpsest.streams.embedder import EmbedderSettings, EmbedderSource
from palimpsest.streams.embedder.openai_engine import MOST_TEXTS, openai_engine

DIMENSION = 8


class Service:
    """What the server was asked, and with which status it answers; its rows come in reverse."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.statuses: list[int] = []
        self.body: bytes | None = None
        self.address = ""

    def answer(self, body: dict[str, Any]) -> tuple[int, bytes]:
        self.asked.append(body)
        if self.statuses and (status := self.statuses.pop(0)) != 200:
            return status, b'{"error": {"message": "a text that must not be quoted"}}'
        length = body.get("dimensions", DIMENSION)
        rows = [
            {"object": "embedding", "index": index, "embedding": numbers_of(text, length)}
            for index, text in enumerate(body["input"])
        ]
        whole = {"object": "list", "data": rows[::-1], "model": body["model"], "usage": {}}
        whole["usage"] = {"prompt_tokens": 1, "total_tokens": 1}
        return 200, self.body or json.dumps(whole).encode()


def numbers_of(text: str, length: int = DIMENSION) -> list[float]:
    return [float(len(text) % (place + 2)) + 1.0 for place in range(length)]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    made = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/embeddings"
            made.keys.append(self.headers["Authorization"])
            length = int(self.headers["Content-Length"])
            status, body = made.answer(json.loads(self.rfile.read(length)))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if status == 307:
                self.send_header("Location", f"{made.address}/embeddings")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    made.address = f"http://127.0.0.1:{server.server_port}/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "a secret key")
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def settings(service: Service, **others: Any) -> EmbedderSettings:
    known: dict[str, Any] = {
        "protocol": "openai",
        "model": "small",
        "base_url": service.address,
        "retries": 0,
    }
    return EmbedderSettings(**(known | others))


def test_vectors_are_those_of_the_texts_in_their_order(service: Service) -> None:
    engine = openai_engine(settings(service))
    assert (engine.name, engine.model, engine.dimension) == ("openai", "small", DIMENSION)
    texts = ["one", "three and a half", ""]
    for text, found in zip(texts, engine.embed(texts), strict=True):
        wide = np.array(numbers_of(text))
        assert np.array_equal(found.vector, (wide / np.linalg.norm(wide)).astype(np.float16))
        assert (found.truncated, found.windows) == (False, None)
    assert service.asked[-1] == {"input": texts, "model": "small", "encoding_format": "float"}
    assert {*service.keys} == {"Bearer a secret key"}


def test_a_service_on_this_machine_is_not_remote(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not openai_engine(settings(service)).is_remote
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setattr("palimpsest.streams.reach.proxy_bypass", lambda _host: False)
    with pytest.raises(ModelError):
        openai_engine(settings(service))


def test_many_texts_are_several_requests(service: Service) -> None:
    texts = [f"text {number}" for number in range(2 * MOST_TEXTS + 1)]
    found = openai_engine(settings(service)).embed(texts)
    assert len(found) == len(texts)
    assert [len(body["input"]) for body in service.asked[1:]] == [MOST_TEXTS, MOST_TEXTS, 1]


def test_a_long_text_has_windows_to_its_end(service: Service) -> None:
    [found] = openai_engine(settings(service, characters=100)).embed(["x" * 250])
    assert found.truncated
    assert found.windows is not None
    assert found.windows.shape == (2, DIMENSION)
    assert [len(part) for part in service.asked[-1]["input"]] == [100, 100, 50]


def test_shorter_vectors_can_be_asked_for(service: Service) -> None:
    assert openai_engine(settings(service, dimensions=4)).dimension == 4
    assert service.asked[-1]["dimensions"] == 4


def test_a_server_of_ones_own_needs_no_key(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert openai_engine(settings(service)).dimension == DIMENSION
    with pytest.raises(UsageError, match="set OPENAI_API_KEY, or base_url"):
        openai_engine(settings(service, base_url=None))


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (401, "ModelUnusable", "status 401"),
        (404, "ModelUnusable", "look at model and base_url"),
        (500, "ServiceUnavailable", "status 500"),
        (429, "ServiceUnavailable", "status 429"),
    ],
)
def test_errors_quote_no_text_and_no_key(
    service: Service, status: int, kind: str, told: str
) -> None:
    engine = openai_engine(settings(service))
    service.statuses = [status]
    with pytest.raises(ModelError, match=told) as raised:
        engine.embed(["a text that must not be quoted"])
    assert type(raised.value).__name__ == kind
    assert not {"quoted", "secret"} & {*str(raised.value).split()}


@pytest.mark.parametrize(
    "address", ["https://a:b", "http://localhost:99999", "http://[::1", "localhost:8000", "ftp://a"]
)
def test_what_is_no_address_is_wrong_usage(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """In the settings and in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "a secret key")
    for given in (address, None):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        settings = EmbedderSettings(protocol="openai", model="small", base_url=given, retries=0)
        with pytest.raises(UsageError, match=r"OPENAI_BASE_URL, or base_url of \[embedder\]"):
            openai_engine(settings)


def test_a_redirection_leads_nowhere(service: Service) -> None:
    """A server at a local address must not pass texts on to another one."""
    engine = openai_engine(settings(service))
    before, service.statuses = len(service.asked), [307]
    with pytest.raises(ModelError, match=r"status 307.*base_url"):
        engine.embed(["one"])
    assert len(service.asked) == before + 1


def test_a_failed_attempt_is_repeated(service: Service) -> None:
    engine = openai_engine(settings(service, retries=1))
    service.statuses = [500, 200]
    assert len(engine.embed(["one"])) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>a text that must not be quoted", "no JSON"),
        (b"{}", "no list `data`"),
        (b'{"data": []}', r"shape \(0,\)"),
        (b'{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}', "no list `data`"),
        (b'{"data": [{"embedding": "x"}]}', "no rows of numbers"),
        (b'{"data": [{"index": 0, "embedding": [0.0, 0.0]}]}', r"shape \(1, 2\)"),
    ],
)
def test_an_answer_in_another_form_is_named_and_is_no_reason_to_ask_again(
    service: Service, body: bytes, told: str
) -> None:
    engine = openai_engine(settings(service))
    service.body = body
    with pytest.raises(ModelError, match=told) as raised:
        engine.embed(["one"])
    assert problem_of(raised.value).status == 502
    assert "quoted" not in str(raised.value)


def test_no_connection_is_an_error(service: Service) -> None:
    with pytest.raises(ModelError, match="no connection"):
        openai_engine(settings(service, base_url="http://127.0.0.1:9/v1"))


def test_a_source_has_the_model_of_the_service(service: Service) -> None:
    def load(_model: str) -> Any:
        raise AssertionError("no model of this machine is loaded")

    source = EmbedderSource(load, "a model of this machine", settings(service))
    assert source.model == "small"
    assert source.of("small").engine.model == "small"
