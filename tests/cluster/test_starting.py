"""A worker reads its settings, waits for brokers, and wants partitions that go together."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from aiokafka.admin import NewPartitions

from palimpsest import Palimpsest
from palimpsest.cli.commands import cluster
from palimpsest.cli.invocation import Invocation
from palimpsest.contracts.errors import StoreError
from palimpsest.settings.settings import read_settings
from palimpsest.streams import embedder
from palimpsest.streams.cluster import topics as topics_module
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import BrokersAwayError
from palimpsest.streams.cluster.reader import ends_of
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker import worker
from palimpsest.streams.cluster.worker.assigned_partition import INPUTS
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.policies import load_policy
from tests.cluster.cluster import environment
from tests.cluster.managers import new_manager
from tests.cluster.test_topics import ask_admin, counts
from tests.reliability.processes import Forge, until
from tests.stub_engine import StubEngine

WRONG = "memory.candidates: 8 partitions instead of 4; with another number of partitions, owners"


@pytest.fixture
def altered(connection: Connection, topics: Topics) -> Topics:
    """Topics whose inputs were given more partitions than the decisions have."""
    inputs = [topics.name("candidates"), topics.name("commands")]
    more = {name: NewPartitions(total_count=8) for name in inputs}
    ask_admin(connection, lambda admin: admin.create_partitions(more))
    until(lambda: sorted(counts(connection).values()) == [1, 4, 4, 4, 4, 8, 8])
    return topics


def test_beside_inputs_with_other_partitions_it_does_not_start(
    tmp_path: Path, connection: Connection, altered: Topics, forge: Forge
) -> None:
    words = ["worker", "--data", str(tmp_path / "copies")]
    worker = forge.run(tmp_path, words, env=environment(connection))
    assert worker.status == 4
    assert WRONG in worker.printed(stream=2)


def test_nothing_is_published_to_inputs_with_other_partitions(
    tmp_path: Path, connection: Connection, altered: Topics
) -> None:
    with Palimpsest.open(tmp_path, cluster=connection) as store:
        with pytest.raises(StoreError, match=WRONG):
            store.submit({"owner_id": "ann", "text": "Ann lives in Oslo."})
        with pytest.raises(StoreError, match="commands: 8 partitions instead of 4"):
            store.set_policy("standard")
    inputs = [altered.at(kind, n) for kind in INPUTS for n in range(8)]
    assert set(asyncio.run(ends_of(connection, inputs)).values()) == {0}


def test_given_other_partitions_while_it_runs_it_ends_at_the_next_assignment(
    tmp_path: Path, connection: Connection, altered: Topics
) -> None:
    failures: list[BaseException] = []

    async def failed(error: BaseException) -> None:
        failures.append(error)

    async def assigned() -> bool:
        manager = new_manager(tmp_path, connection, altered, failed)
        try:
            return await manager.assign(range(altered.partitions))
        finally:
            await manager.close()

    assert not asyncio.run(assigned())
    [error] = failures
    assert isinstance(error, StoreError)
    assert WRONG in str(error)


def test_its_own_settings_are_those_of_file_environment_and_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "palimpsest.toml").write_text(
        'data = "copies"\nweb_port = 6066\nletters_per_minute = 7\ninstance = "a"\nstandby = true\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALIMPSEST_WEB_PORT", "6067")
    monkeypatch.setenv("PALIMPSEST_LETTERS_PER_MINUTE", "0")
    found = read_settings().over(instance="b", data=None, web_port=None)
    assert (found.instance, found.data, found.web_port) == ("b", Path("copies"), 6067)
    assert (found.letters_per_minute, found.standby) == (0, True)


@pytest.mark.parametrize(("given", "flood"), [(None, 100), (7, 7), (0, 0)])
def test_any_dead_letter_is_a_flood_for_whoever_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: int | None, flood: int
) -> None:
    begun: list[worker.WorkerSettings] = []
    monkeypatch.setattr(worker, "run", lambda settings, **_: begun.append(settings))
    settings = read_settings().over(data=tmp_path, letters_per_minute=given)
    cluster._run_worker(settings, Connection(bootstrap="nowhere:1"), Topics(), load_embedder)
    assert [one.letters_per_minute for one in begun] == [flood]


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({}, ".palimpsest-worker-staging.-one"),
        ({"data": Path("copies")}, "copies"),
    ],
)
def test_it_runs_as_its_settings_say(
    given: dict[str, Path], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    begun: list[worker.WorkerSettings] = []
    monkeypatch.setattr(worker, "run", lambda settings, **_: begun.append(settings))
    connection, topics = Connection(bootstrap="nowhere:1"), Topics("staging.")
    settings = read_settings(policy="layered", instance="one", standby=True, web_port=7, **given)
    cluster._run_worker(settings, connection, topics, load_embedder)
    assert begun == [
        worker.WorkerSettings(
            connection,
            topics,
            Path(folder),
            load_policy("layered"),
            load_embedder,
            instance="one",
            web_port=7,
            standby=True,
        )
    ]


@pytest.mark.parametrize(("engine", "at_once"), [("none", 0), ("sentence-transformers", 1)])
def test_a_model_is_loaded_before_partitions_come_where_there_is_one(
    engine: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[tuple[str, ...]] = []

    def load(model: str, engine: str) -> StubEngine:
        loaded.append((model, engine))
        return StubEngine()

    monkeypatch.setattr(embedder, "load_engine", load)
    monkeypatch.setenv("PALIMPSEST_ENGINE", engine)
    monkeypatch.setenv("PALIMPSEST_MODEL", "a model")
    made = cluster._embedder(Invocation(tmp_path))
    assert len(loaded) == at_once
    made.engine()
    assert loaded == [("a model", engine)]


def load_embedder() -> Embedder:
    return Embedder(StubEngine())


def test_brokers_that_start_later_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[BrokersAwayError | Topics] = [
        *(BrokersAwayError("no Kafka broker answers at nowhere:1") for _ in range(3)),
        Topics(partitions=7),
    ]

    async def read_topics(_: Connection) -> Topics:
        answer = answers.pop(0)
        if isinstance(answer, BrokersAwayError):
            raise answer
        return answer

    monkeypatch.setattr(topics_module, "read_topics", read_topics)
    monkeypatch.setattr(cluster, "RETRY_SECONDS", 0.0)
    with caplog.at_level(logging.WARNING):
        found = asyncio.run(cluster.wait_for_topics(Connection(bootstrap="nowhere:1")))
    assert found.partitions == 7
    assert caplog.messages == ["no Kafka broker answers at nowhere:1; waiting for one"]
