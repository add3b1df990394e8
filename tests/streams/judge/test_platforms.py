"""Bedrock and Vertex: the SDK's own clients with their platforms' credentials, over the wire."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from palimpsest.cli.demo import judge as demo
from palimpsest.cli.demo.judge import Fault
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.evidence import RecordedJudge
from palimpsest.contracts.policy import Judge as Rules
from palimpsest.jobs.judge_doctor import examine
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.settings import ServiceSettings
from tests.streams.judge.asking import Asking, pair

SAME = pair("Ada has a big dog.", "ada has a big dog", "s")
BEDROCK = {"platform": "bedrock", "model": "anthropic.claude-haiku-5-5-v1:0"}
VERTEX = {"platform": "vertex", "model": "claude-haiku-5-5@20260901"}


@pytest.fixture(autouse=True)
def nobody_has_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither this machine's files, nor a metadata service."""
    for name in (
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "AWS_BEARER_TOKEN_BEDROCK", "AWS_DEFAULT_REGION", "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "ANTHROPIC_API_KEY",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("CLOUD_ML_REGION", "europe-west1")


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """The path and the headers of each request that the judge's server gets."""
    found: list[tuple[str, dict[str, str]]] = []
    answered = demo._Handler.do_POST

    def seen(handler: demo._Handler) -> None:
        found.append((handler.path, {k.lower(): v for k, v in handler.headers.items()}))
        answered(handler)

    monkeypatch.setattr(demo._Handler, "do_POST", seen)
    return found


def test_a_request_to_bedrock_is_signed(
    asking: Asking, received: list[tuple[str, dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    [verdict] = asking.set(**BEDROCK).compare(SAME)
    assert (verdict.answer, verdict.model) == ("same", BEDROCK["model"])
    [(path, headers)] = received
    assert path == f"/model/{BEDROCK['model']}/invoke"
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=an-id/")
    assert headers["authorization"].split(",")[0].endswith("/eu-west-1/bedrock/aws4_request")
    assert "a-secret" not in f"{path} {headers}"
    [request] = asking.server.requests
    assert request["anthropic_version"]


def test_bedrock_takes_a_bearer_token(
    asking: Asking, received: list[tuple[str, dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-token")
    assert asking.set(**BEDROCK).answers(SAME) == ["same"]
    assert received[0][1]["authorization"] == "Bearer a-token"


class _Tokens(BaseHTTPRequestHandler):
    """Google's token service, as far as a service account asks it."""

    server: _TokenServer

    def do_POST(self) -> None:
        self.server.asked += 1
        self.rfile.read(int(self.headers["content-length"]))
        body = orjson.dumps({"access_token": "a-token", "expires_in": 3600})
        self.send_response(200 if self.server.answers else 400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
        """Log nothing."""


class _TokenServer(ThreadingHTTPServer):
    answers = True
    asked = 0


@contextmanager
def token_server() -> Iterator[_TokenServer]:
    with _TokenServer(("127.0.0.1", 0), _Tokens) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[_TokenServer]:
    """A service account's key file, whose tokens come from a local server."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with token_server() as server:
        account = {
            "type": "service_account",
            "project_id": "a-project",
            "private_key_id": "1",
            "private_key": key.decode(),
            "client_email": "judge@a-project.iam.gserviceaccount.com",
            "token_uri": f"http://127.0.0.1:{server.server_address[1]}/token",
        }
        file = tmp_path / "account.json"
        file.write_bytes(orjson.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        yield server


def test_a_request_to_vertex_has_a_token_of_the_account(
    asking: Asking, google: _TokenServer, received: list[tuple[str, dict[str, str]]]
) -> None:
    [verdict] = asking.set(**VERTEX).compare(SAME)
    assert (verdict.answer, verdict.model) == ("same", VERTEX["model"])
    [(path, headers)] = received
    assert path == (
        "/projects/a-project/locations/europe-west1/publishers/anthropic/models/"
        f"{VERTEX['model']}:rawPredict"
    )
    assert headers["authorization"] == "Bearer a-token"
    assert google.asked == 1


def test_a_named_project_comes_before_the_accounts(
    asking: Asking,
    google: _TokenServer,
    received: list[tuple[str, dict[str, str]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "another")
    assert asking.set(**VERTEX).answers(SAME) == ["same"]
    assert received[0][0].startswith("/projects/another/")


def test_credentials_that_are_not_refreshed_are_an_outage(
    asking: Asking, google: _TokenServer
) -> None:
    google.answers = False
    [verdict] = asking.set(**VERTEX).compare(SAME)
    assert verdict.answer == "unavailable"
    assert verdict.reasoning == "the credentials could not be refreshed"
    assert asking.server.calls == 0


@pytest.mark.parametrize(
    ("settings", "variable"),
    [(BEDROCK, "AWS_ACCESS_KEY_ID"), (VERTEX, "GOOGLE_APPLICATION_CREDENTIALS")],
)
def test_without_credentials_the_run_ends(
    asking: Asking, settings: dict[str, str], variable: str
) -> None:
    with pytest.raises(UsageError, match=variable):
        asking.set(**settings).compare(SAME)


@pytest.mark.parametrize(
    ("settings", "variable"),
    [(BEDROCK, "AWS_PROFILE"), (VERTEX, "GOOGLE_APPLICATION_CREDENTIALS")],
)
def test_a_variable_that_names_no_credentials_is_to_be_corrected_not_set(
    asking: Asking, settings: dict[str, str], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "nobody")
    with pytest.raises(UsageError, match=f"correct {variable}: what it names has no credentials"):
        asking.set(**settings).compare(SAME)


@pytest.mark.parametrize(
    ("settings", "variable"), [(BEDROCK, "AWS_REGION"), (VERTEX, "CLOUD_ML_REGION")]
)
@pytest.mark.usefixtures("google")
def test_the_doctor_doubts_the_region_if_a_cloud_is_not_reached(
    settings: dict[str, str], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address follows from the region; here a proxy that refuses stands for a wrong one."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-token")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    found = examine(Rules(), ServiceSettings.model_validate({**settings, "retries": 0}))
    assert [(check.name, check.found) for check in found] == [("service", False)]
    assert f"look at {variable}" in str(found[0].remedy)


def test_the_doctor_says_what_to_do_about_credentials_that_are_not_refreshed(
    asking: Asking, google: _TokenServer
) -> None:
    google.answers = False
    known = {**VERTEX, "retries": 0, "base_url": asking.server.url}
    [found] = examine(Rules(), ServiceSettings.model_validate(known))
    assert "log in to the cloud again" in str(found.remedy)


def test_a_model_that_a_cloud_does_not_know_may_be_in_another_region(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-token")
    asking.server.fail(Fault(404))
    with pytest.raises(UsageError, match=r"look at `model` of .judge. and the region"):
        asking.set(**BEDROCK).compare(SAME)


def test_without_a_region_or_a_project_the_run_ends(
    asking: Asking, google: _TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-token")
    for settings, variable in ((BEDROCK, "AWS_REGION"), (VERTEX, "CLOUD_ML_REGION")):
        monkeypatch.delenv(variable)
        with pytest.raises(UsageError, match=f"set {variable}"):
            asking.set(**settings).compare(SAME)
    monkeypatch.setenv("CLOUD_ML_REGION", "global")
    monkeypatch.setattr("google.auth.default", lambda **_: (object(), None))
    with pytest.raises(UsageError, match="set ANTHROPIC_VERTEX_PROJECT_ID"):
        asking.set(**VERTEX).compare(SAME)


@pytest.mark.parametrize(
    ("settings", "package", "extra"),
    [(BEDROCK, "boto3", "bedrock"), (VERTEX, "google.auth", "vertex")],
)
def test_without_the_package_the_extra_is_named(
    asking: Asking,
    settings: dict[str, str],
    package: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"palimpsest-memory\[{extra}\]"):
        asking.set(**settings).compare(SAME)


def test_a_verdict_and_the_log_name_the_platform(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-token")

    async def recorded(judge: Judge) -> RecordedJudge:
        return judge.recorded

    who = asking.set(**BEDROCK).by(recorded)
    assert (who.platform, who.address) == ("bedrock", asking.server.url)
