"""`palimpsest topics`, and where it finds the cluster."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.broker import free_port
from palimpsest.cli.commands import cluster
from palimpsest.cli.main import app
from palimpsest.settings.settings import read_settings
from palimpsest.streams.cluster import metadata
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def palimpsest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Ran:
        done = CliRunner().invoke(app, words)
        return Ran(done.exit_code, done.stdout, done.stderr)

    return run


def connection_options(connection: Connection) -> tuple[str, ...]:
    return "--bootstrap", connection.bootstrap, "--prefix", connection.prefix


def test_topics_are_checked_made_and_checked(
    palimpsest: Callable[..., Ran], connection: Connection
) -> None:
    words = connection_options(connection)
    before = palimpsest("--json", "topics", "check", *words)
    assert before.status == 1
    assert {topic["state"] for topic in before.document["topics"]} == {"missing"}
    made = palimpsest("--json", "topics", "create", "--partitions", "3", *words)
    assert made.status == 0
    assert made.document["fine"] is True
    assert [topic["topic"] for topic in made.document["topics"]] == [
        *Topics(connection.prefix).names
    ]
    assert {topic["state"] for topic in made.document["topics"]} == {"made"}
    assert palimpsest("topics", "check", *words).status == 0


def test_what_differs_is_reported_with_advice_and_status_one(
    palimpsest: Callable[..., Ran], connection: Connection, topics: Topics
) -> None:
    ran = palimpsest("topics", "create", "--partitions", "8", *connection_options(connection))
    assert ran.status == 1
    assert "memory.decisions: differs, 4 partitions instead of 8" in ran.out
    assert "export the log" in ran.out


def test_the_environment_and_the_file_name_the_cluster(
    palimpsest: Callable[..., Ran],
    connection: Connection,
    topics: Topics,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("palimpsest.toml").write_text(
        f'[kafka]\nbootstrap = "nowhere:1"\nprefix = "{connection.prefix}"\n'
    )
    monkeypatch.setenv("PALIMPSEST_KAFKA_BOOTSTRAP", connection.bootstrap)
    assert palimpsest("topics", "check", "--partitions", "4").status == 0


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("palimpsest.toml").write_text(
        '[kafka]\nbootstrap = "file:1"\nprefix = "file."\nsecurity_protocol = "SASL_SSL"\n'
        'sasl_mechanism = "PLAIN"\nsasl_username = "ada"\nsasl_password = "in the file"\n'
    )
    monkeypatch.setenv("PALIMPSEST_KAFKA_PREFIX", "environment.")
    monkeypatch.setenv("PALIMPSEST_KAFKA_SASL_PASSWORD", "in the environment")
    found = read_settings(kafka={"bootstrap": "typed:1"}).kafka
    assert found is not None
    assert (found.bootstrap, found.prefix, found.sasl_username) == (
        "typed:1",
        "environment.",
        "ada",
    )
    assert found.sasl_password is not None
    assert found.sasl_password.get_secret_value() == "in the environment"


def test_a_wrong_setting_is_named_without_the_password(
    palimpsest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_KAFKA_SASL_PASSWORD", "correct horse")
    ran = palimpsest("--json", "topics", "check", "--bootstrap", "127.0.0.1:1")
    assert ran.status == 2
    assert "security_protocol" in ran.document["error"]["detail"]
    assert "correct horse" not in ran.out + ran.err


def test_without_a_cluster_it_says_how_to_name_one(palimpsest: Callable[..., Ran]) -> None:
    ran = palimpsest("topics", "check")
    assert ran.status == 2
    assert "--bootstrap" in ran.err


def test_without_the_extra_it_says_what_to_install(
    palimpsest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _name: None)
    ran = palimpsest("topics", "check", "--bootstrap", "127.0.0.1:1")
    assert ran.status == 2
    assert "palimpsest-memory[cluster]" in ran.err


def test_where_nobody_listens_it_says_so(palimpsest: Callable[..., Ran]) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    ran = palimpsest("--json", "topics", "check", "--bootstrap", nobody)
    assert ran.status == 1
    assert f"no Kafka broker answers at {nobody}" in ran.document["error"]["detail"]


def test_one_that_takes_the_call_and_never_answers_is_given_up(
    palimpsest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "PATIENCE_SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        ran = palimpsest("topics", "check", "--bootstrap", address)
    assert ran.status == 1
    assert "no Kafka broker answers" in ran.err
