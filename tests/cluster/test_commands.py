"""The cluster from the command line: workers and projectors as processes, and what people say."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from infra.broker import free_port
from palimpsest.api import store
from palimpsest.backends import cluster as kafka_gateway
from palimpsest.backends.paths import LOG_FILE
from palimpsest.cli import invocation
from palimpsest.cli.commands.cluster import worker_folder
from palimpsest.contracts.counting import counted
from palimpsest.contracts.events import PolicySet
from palimpsest.contracts.wire import decode
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.replica import Followed, Replica
from tests.cluster.cluster import ended, eventually, is_ready, stderr_of
from tests.cluster.shell import Shell, rows
from tests.cluster.verifier import read_topic
from tests.reliability.processes import Forge
from tests.stub_engine import load_stub

NOTE = "Grace plays the cello every single evening before dinner with her sister"
ROWS = (
    "Ada has a big dog.",
    "Ada has a big dog.",
    f"{NOTE} in the old town",
    f"{NOTE} in the old town.",
)


MEMORIES = "SELECT memory_id, face, members FROM memories ORDER BY memory_id"


def in_force(shell: Shell) -> str:
    """The policy that the policies' topic tells last."""
    policies = Topics(shell.connection.prefix, 1).name("policies")
    [told] = asyncio.run(read_topic(shell.connection, policies, 1))
    latest = decode(told[-1].value or b"")
    assert isinstance(latest, PolicySet)
    name: str = latest.data.policy["name"]
    return name


@pytest.fixture
def shell(
    tmp_path: Path, connection: Connection, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, "load_engine", load_stub)
    typing = Shell(tmp_path, connection, forge)
    yield typing
    typing.close()


UNSEEING = """
name = "unseeing"
model = "all-MiniLM-L6-v2"
search = "memories"
checks = []
"""


def _dedupe(shell: Shell) -> None:
    """The janitor plans from the store that follows, and the workers join; once."""
    (shell.folder / "unseeing.toml").write_text(UNSEEING)
    shell.asked("policy", "set", str(shell.folder / "unseeing.toml"))
    count = shell.asked("status", cluster=False)["candidates"]
    text = "Eve rows a red boat on the lake and a blue boat on the sea"
    said = [{"owner_id": "eve", "text": t, "id": t} for t in (f"{text} {text}", f"{text} {text}.")]
    shell.asked("ingest", "-", stdin=b"".join(json.dumps(row).encode() + b"\n" for row in said))
    shell.until(count + 2)
    shell.on(shell.connection, "no store").asked("policy", "set", "store-time")
    eventually(lambda: shell.asked("policy", "show", cluster=False)["name"] == "store-time", "set")
    assert in_force(shell) == "store-time"
    [joined] = shell.asked("dedupe")["joined"]
    assert joined["decision"] == "auto_reject"
    [shown] = shell.asked("sql", "FROM joins WHERE owner_id = 'eve'", cluster=False)
    assert shown["decision_id"] == joined["decision_id"]
    assert shell.asked("dedupe")["joined"] == []


def test_a_cluster_from_the_command_line(
    shell: Shell,
    topics: Topics,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port, projectors = free_port(), free_port()
    worker = shell.start("worker", "--instance", "one", "--web-port", str(port))
    published = shell.asked("ingest", "-", stdin=rows(*ROWS) + b'{"owner_id": "ada", "note": "x"}')
    assert (published["rows"], published["published"]) == (5, 5)
    assert "store project" in shell.error(4, "status")["detail"]
    project = shell.start("project", "--web-port", str(projectors))
    status = shell.until(4)
    assert (status["decisions"]["hash_exact"], status["invalid"]) == (1, 1)
    eventually(lambda: shell.asked("status")["behind"] == 0, "all is followed")
    decision = _take_back(shell)
    _retry_a_dead_letter(shell)
    _look_at_the_pages(port)
    _look_at_the_projectors_pages(projectors)
    refused = shell.error(3, "unmerge", "--decision", "5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22")
    assert refused["reason"] == "unknown_decision"
    for words in (("ingest", "-"), ("confirm", decision)):
        own = shell.error(3, *words, stdin=rows("Ada sings."), cluster=False)
        assert own["reason"] == "follows_a_cluster"
    _dedupe(shell)
    assert "is `palimpsest project` running on it?" not in caplog.text
    project.kill(signal.SIGINT)
    assert project.wait() == 0, stderr_of(project)
    _unmerge_that_nobody_follows(shell, caplog, monkeypatch)
    assert ended([worker]) == [0], stderr_of(worker)
    assert "ready: partitions 0, 1, 2, 3" in stderr_of(worker)
    assert "cello" not in stderr_of(worker)


def _take_back(shell: Shell) -> str:
    """What was taken out is visible at once, and what is merged again."""
    joins = shell.asked("sql", "FROM joins WHERE decision <> 'hash_exact'", cluster=False)
    decision: str = joins[0]["decision_id"]
    plan = shell.asked("unmerge", "--decision", decision, "--dry-run")
    done = shell.asked("unmerge", "--decision", decision, "--because", "two pieces")
    assert done["memories"] == plan["memories"]
    assert done["reversed"] == [decision]
    assert shell.asked("status", cluster=False)["memories"] == 3
    a, b = (memory["memory_id"] for memory in done["memories"])
    merged = shell.asked("merge", a, b)
    assert shell.asked("sql", f"FROM joins WHERE decision_id = '{merged['decision_id']}'") != []
    return decision


def _retry_a_dead_letter(shell: Shell) -> None:
    assert [letter["reason"] for letter in shell.asked("dead-letters", "list")] == ["field"]
    still = shell.run("dead-letters", "retry")
    assert still.exit_code == 1
    assert json.loads(still.stdout)["invalid"] == 1
    assert shell.asked("dead-letters", "retry", "--map", "note=text")["published"] == 1
    shell.until(5)
    assert shell.asked("dead-letters", "list")[0]["state"] == "retried"


def _look_at_the_pages(port: int) -> None:
    assert _page(port, "readyz") == "ready\n"
    assert _page(port, "healthz") == "alive\n"
    lines = _page(port, "metrics").splitlines()
    assert "palimpsest_candidates_total 5.0" in lines
    assert 'palimpsest_decisions_total{decision="hash_exact",namespace="default"} 1.0' in lines
    assert 'palimpsest_dead_letters_total{reason="field"} 1.0' in lines
    assert "palimpsest_owners_in_memory 1.0" in lines
    assert "palimpsest_partitions 4.0" in lines
    assert "palimpsest_embedder_queue 0.0" in lines
    eventually(lambda: _nothing_waits(port), "the brokers have said so")


def _look_at_the_projectors_pages(port: int) -> None:
    assert _page(port, "healthz") == "alive\n"
    assert _page(port, "readyz") == "ready\n"
    lines = _page(port, "metrics").splitlines()
    eventually(lambda: _nothing_waits(port), "the brokers have said so")
    assert any(line.startswith("palimpsest_followed_total ") for line in lines)


def _nothing_waits(port: int) -> bool:
    lines = _page(port, "metrics").splitlines()
    lags = [line for line in lines if line.startswith("palimpsest_lag{")]
    return len(lags) == 8 and all(line.endswith(" 0.0") for line in lags)


def _page(port: int, name: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}/{name}", timeout=10) as page:
        told: str = page.read().decode()
    return told


def _unmerge_that_nobody_follows(
    shell: Shell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_gateway, "FOLLOWING_SECONDS", 0.2)
    joins = shell.asked("sql", "FROM joins WHERE standing AND decision <> 'hash_exact'")
    done = shell.asked("unmerge", "--decision", joins[0]["decision_id"])
    assert len(done["reversed"]) == 1
    assert "is `palimpsest project` running on it?" in caplog.text
    _read_what_is_old(shell, monkeypatch)


def _read_what_is_old(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is behind is read, and whoever asks for all of it is told."""
    behind = shell.asked("status")["behind"]
    assert behind > 0
    told = f"{counted(behind, 'record')} behind the cluster"
    assert told in shell.drawn("status").stdout
    memory = shell.asked("sql", "FROM memories LIMIT 1")[0]["memory_id"]
    asked = (("recall", "ada", "a dog"), ("show", memory))
    assert all(told not in shell.run(*words).stderr for words in asked)
    monkeypatch.setattr(invocation, "A_LITTLE", 0)
    for words in (*asked, ("log", "export", "old.jsonl")):
        assert told in shell.run(*words).stderr


@pytest.mark.parametrize("command", ["worker", "project", "ingest"])
def test_missing_topics_are_a_sentence(shell: Shell, command: str) -> None:
    words = (command, "-") if command == "ingest" else (command,)
    assert "palimpsest topics create makes it" in shell.error(4, *words, stdin=rows("x"))["detail"]
    assert not (shell.folder / "store").exists()


def test_whoever_publishes_does_not_wait_for_brokers(shell: Shell, connection: Connection) -> None:
    nobody = connection.model_copy(update={"bootstrap": f"127.0.0.1:{free_port()}"})
    no_broker = shell.on(nobody).error(1, "ingest", "-", stdin=rows("x"))
    assert "no Kafka broker answers" in no_broker["detail"]


def test_a_store_with_decisions_of_its_own_is_no_store_of_a_cluster(
    shell: Shell, topics: Topics
) -> None:
    shell.asked("ingest", "-", stdin=rows(*ROWS), cluster=False)
    published = shell.error(2, "ingest", "-", stdin=rows("Ada sings."))
    assert "decisions of its own" in published["detail"]
    project = shell.start("project")
    assert project.wait() == 4
    assert "decisions of its own" in stderr_of(project)


def test_what_follows_other_topics_says_nothing_to_these(shell: Shell, topics: Topics) -> None:
    shell.asked("ingest", "-", stdin=rows(*ROWS), cluster=False)
    for name in ("two.memory.decisions", topics.name("decisions")):
        with Replica.open(shell.folder / "store" / LOG_FILE) as log, log.transaction():
            log.follow(Followed(name, 0, "another id", 5))
        published = shell.error(2, "ingest", "-", stdin=rows("Ada sings."))
        assert f"the store follows {name}" in published["detail"]
        project = shell.start("project")
        assert project.wait() == 4
        assert name in stderr_of(project)


def test_a_port_that_is_taken_is_a_sentence(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in ("worker", "project"):
            assert port in shell.error(1, command, "--web-port", port)["detail"]


def test_workers_of_one_name_have_a_folder_for_each_installation() -> None:
    told = [worker_folder(prefix, name) for prefix in ("", "staging.") for name in (None, "one")]
    assert [folder.name for folder in told] == [
        ".palimpsest-worker",
        ".palimpsest-worker-one",
        ".palimpsest-worker-staging.",
        ".palimpsest-worker-staging.-one",
    ]


def test_two_workers_cannot_have_one_folder(shell: Shell, topics: Topics) -> None:
    first = shell.start("worker")
    eventually(lambda: is_ready(first), "the worker is ready")
    second = shell.start("worker")
    assert second.wait() == 2
    assert "another worker has the folder" in stderr_of(second)


def test_a_log_goes_into_empty_topics_and_comes_out_as_it_was(shell: Shell, topics: Topics) -> None:
    shell.asked("ingest", "-", stdin=rows(*ROWS) + b"no JSON\n", cluster=False, status=1)
    shell.asked("log", "export", "before.jsonl", cluster=False)
    (shell.folder / "store").rename(shell.folder / "embedded")
    (shell.folder / "empty.jsonl").touch()
    assert "is empty" in shell.error(4, "log", "import", "empty.jsonl")["detail"]
    done = shell.asked("log", "import", "before.jsonl")
    assert done["events"] == 6
    again = shell.error(2, "log", "import", "before.jsonl")
    assert "empty topics" in again["detail"]
    shell.start("project")
    shell.start("worker")
    shell.asked("ingest", "-", stdin=rows(*ROWS, "Ada sings."))
    assert shell.until(5)["decisions"]["hash_exact"] == 1
    assert "stop its `palimpsest project`" in shell.error(1, "verify")["detail"]
    shell.asked("log", "export", "after.jsonl")
    before, after = (
        (shell.folder / name).read_bytes().splitlines() for name in ("before.jsonl", "after.jsonl")
    )
    assert set(before) < set(after)
    assert len(after) == len(before) + 1
    assert in_force(shell) == "standard"
    _move_back(shell, after)


def _move_back(shell: Shell, lines: list[bytes]) -> None:
    """What a cluster has decided becomes a store of one's own: the same in all, and it goes on."""
    shown = shell.asked("sql", MEMORIES, cluster=False)
    back = shell.on(shell.connection, "back")
    assert back.asked("log", "import", "after.jsonl", cluster=False)["events"] == len(lines)
    assert back.asked("verify", cluster=False)["differences"] == 0
    assert back.asked("sql", MEMORIES, cluster=False) == shown
    back.asked("log", "export", "back.jsonl", cluster=False)
    assert (shell.folder / "back.jsonl").read_bytes().splitlines() == lines
    again = back.asked("ingest", "-", stdin=rows(*ROWS, "Ada sings.", "Hi."), cluster=False)
    assert (again["known"], sum(again["decisions"].values())) == (len(ROWS) + 1, 1)


def test_without_the_extra_it_says_what_to_install(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_gateway, "find_spec", lambda _name: None)
    missing = shell.error(2, "ingest", "-", stdin=rows("Ada sings."))
    assert "palimpsest-memory[cluster]" in missing["detail"]
