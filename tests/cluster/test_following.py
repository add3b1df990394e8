"""A projector ends in order wherever it is, knows how far it is, and another begins beside it."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.backends import projector_service as following_store
from palimpsest.backends.paths import LOG_FILE, PROJECTIONS_FOLDER
from palimpsest.backends.projector_service import Follower, ProjectedReplica
from palimpsest.contracts.errors import RefusedError, StoreError, TransientError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import JoinSelection, SettleRequest
from palimpsest.contracts.wire import decode
from palimpsest.projections.base.files import remove
from palimpsest.projections.duckdb.queries import query
from palimpsest.projections.verify import verify
from palimpsest.streams.cluster import health as pages
from palimpsest.streams.cluster import reader as following_topics
from palimpsest.streams.cluster import topics as topics_module
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.health import FollowerWatch
from palimpsest.streams.cluster.metadata import BrokersAwayError
from palimpsest.streams.cluster.reader import Offsets, Records, TopicPartition, follow, reader
from palimpsest.streams.cluster.tasks import StoppedError
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.log.log import Log
from tests.cluster.cluster import PATIENCE, environment, stderr_of
from tests.cluster.verifier import check_store, events_of
from tests.reliability.processes import Forge
from tests.reliability.rows import lines, rows
from tests.streams.cluster.followed import offsets, records
from tests.streams.write.runtime import Runtime
from tests.stub_engine import load_stub

ONE = Topics("", 1)
NOBODY = Connection(bootstrap="127.0.0.1:9")
AT = ONE.at("decisions", 0)
IDENTITY = {AT.topic: "the one that there is"}
STREAM = [*lines(rows(48, owners=5))]


def connection_to(listening: socket.socket) -> Connection:
    return Connection(bootstrap=f"127.0.0.1:{listening.getsockname()[1]}")


@pytest.fixture
def history(tmp_path: Path) -> list[bytes]:
    """Decisions about several owners."""
    with Runtime(tmp_path / "decided.sqlite") as runtime:
        runtime.stream(STREAM)
        return runtime.lines()


def take_over(folder: Path, history: list[bytes]) -> None:
    """Make a store in the folder that follows up to here."""
    replica = ProjectedReplica(folder, ONE)
    replica.starts(IDENTITY)
    replica.take(records(ONE, history, 0), offsets(ONE, len(history)), IDENTITY)
    replica.close()


def test_a_store_that_follows_decides_nothing_itself_and_shows_what_would_be(
    tmp_path: Path, history: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    take_over(tmp_path, history)
    file = tmp_path / "rows.jsonl"
    file.write_text('{"owner_id": "ada", "text": "Ada sings."}\n')
    everything = JoinSelection(since=datetime(2000, 1, 1, tzinfo=UTC))
    with Palimpsest.open(tmp_path, create=False, by="person") as opened:
        before = opened.position
        [row] = opened.sql("SELECT min(candidate_id) AS one FROM candidates")
        verdicts = (Verdict(neighbour_id="x", answer="same"),)
        settled = SettleRequest(request_id=request_id(), candidate_id=row["one"], verdicts=verdicts)
        for decide in (
            lambda: opened.submit({"owner_id": "ada", "text": "Ada sings."}),
            lambda: opened.ingest(file),
            lambda: opened.access(row["one"]),
            lambda: opened.settle([settled]),
            lambda: opened.reverse(everything),
        ):
            with pytest.raises(RefusedError, match="follows_a_cluster"):
                decide()
        assert opened.reverse(everything, dry_run=True)["owners"] > 0
        assert opened.position == before


def test_what_could_not_be_written_is_taken_again_as_if_nothing_had_been(
    tmp_path: Path, history: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    half = len(history) // 2
    replica = ProjectedReplica(tmp_path, ONE)
    replica.starts(IDENTITY)
    replica.take(records(ONE, history[:half], 0), offsets(ONE, half), IDENTITY)
    later = records(ONE, history[half:], half), offsets(ONE, len(history)), IDENTITY

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as disk:
        disk.setattr(replica.log, "follow", full)
        with pytest.raises(StoreError, match="disk is full"):
            replica.take(*later)
    replica.take(*later)
    replica.close()
    with Log.open(tmp_path / LOG_FILE) as log:
        assert log.head() == len(history)
        assert verify(log, tmp_path / PROJECTIONS_FOLDER)["differences"] == 0


# -- ending --------------------------------------------------------------------------------------


def test_it_ends_while_it_waits_for_the_lock(tmp_path: Path, silent: socket.socket) -> None:
    async def run() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, stop.set)
        await Follower(tmp_path, connection_to(silent), ONE).run(stop)

    with WriterLock(tmp_path):
        asyncio.run(run())
    assert not (tmp_path / LOG_FILE).exists()


def test_it_ends_while_it_waits_for_brokers(tmp_path: Path, silent: socket.socket) -> None:
    async def run() -> None:
        stop = asyncio.Event()
        following = asyncio.create_task(Follower(tmp_path, connection_to(silent), ONE).run(stop))
        with (await asyncio.to_thread(silent.accept))[0]:
            stop.set()
            await following

    asyncio.run(run())
    with WriterLock(tmp_path), Log.open(tmp_path / LOG_FILE) as log:
        assert log.head() == 0


def test_it_ends_while_it_mends_projections_and_the_next_one_mends_them(
    tmp_path: Path, history: list[bytes], silent: socket.socket
) -> None:
    take_over(tmp_path, history)
    remove(tmp_path / PROJECTIONS_FOLDER)

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()

        async def end() -> None:
            stop.set()

        def observe(_effect: str) -> None:
            asyncio.run_coroutine_threadsafe(end(), loop).result()

        await Follower(tmp_path, connection_to(silent), ONE, effect=observe).run(stop)

    asyncio.run(run())
    ProjectedReplica(tmp_path, ONE).close()
    with Log.open(tmp_path / LOG_FILE) as log:
        assert log.head() == len(history)
        assert verify(log, tmp_path / PROJECTIONS_FOLDER)["differences"] == 0


def test_it_can_be_stopped_between_any_two_owners(tmp_path: Path, history: list[bytes]) -> None:
    take_over(tmp_path, history)
    remove(tmp_path / PROJECTIONS_FOLDER)
    asked = iter(range(3))
    with pytest.raises(StoppedError):
        ProjectedReplica(tmp_path, ONE, stopped=lambda: next(asked, None) is None)


def test_the_command_ends_with_0_while_it_waits_for_brokers(
    tmp_path: Path, forge: Forge, silent: socket.socket
) -> None:
    env = environment(connection_to(silent))
    project = forge.start(tmp_path / "store", ["project"], env=env)
    with silent.accept()[0]:
        project.kill(signal.SIGTERM)
        assert project.wait() == 0, stderr_of(project)


class Cancelling:
    """A consumer as aiokafka's is in an outage: what waits is cancelled, and its end, too."""

    closed = 0

    def __init__(self, observe: Callable[[], object] = lambda: None) -> None:
        self._told = observe
        self._client = self

    async def start(self) -> None: ...

    def assign(self, _: object) -> None: ...

    def seek(self, *_: object) -> None: ...

    async def getmany(self, **_: object) -> None:
        self._told()
        raise asyncio.CancelledError

    async def send(self, *_: object) -> None: ...

    async def stop(self) -> None:
        raise asyncio.CancelledError

    async def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("is_told", [True, False])
def test_what_aiokafka_cancels_is_no_end_of_ours(
    is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is told to end, nothing is raised; otherwise the error of the broken connection."""

    async def run() -> None:
        stop = asyncio.Event()
        consumer = Cancelling(stop.set if is_told else lambda: None)
        monkeypatch.setattr(following_topics, "AIOKafkaConsumer", lambda **_: consumer)
        with nullcontext() if is_told else pytest.raises(TransientError, match="broke"):
            await follow(NOBODY, {AT: 0}, no_take, stop)
        assert consumer.closed == 1

    asyncio.run(run())


async def no_take(*_: object) -> None: ...


# -- how far it is -------------------------------------------------------------------------------


def test_it_is_ready_once_it_has_caught_up() -> None:
    watch = FollowerWatch(NOBODY)
    assert not watch.ready()
    watch.took(0, {AT: 3})
    watch.saw({AT: 9})
    assert not watch.ready()
    assert 'palimpsest_lag{partition="0",topic="memory.decisions"} 6.0' in figures(watch)
    watch.took(6, {AT: 9})
    watch.saw({AT: 9})
    assert watch.ready()
    watch.saw({AT: 20})
    assert watch.ready()
    assert "palimpsest_followed_total 6.0" in figures(watch)


def figures(watch: FollowerWatch) -> list[str]:
    return watch.figures().decode().splitlines()


def test_it_is_stuck_where_records_wait_and_none_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    watch = FollowerWatch(NOBODY)
    watch.took(0, {AT: 3})
    watch.saw({AT: 9})
    now += pages.STUCK_SECONDS
    assert not watch.stuck()
    now += 1
    assert watch.stuck()
    watch.took(5, {AT: 8})
    assert not watch.stuck()
    watch.took(1, {AT: 9})
    now += pages.STUCK_SECONDS + 1
    assert not watch.stuck()


def test_what_has_just_arrived_does_not_count_as_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that had nothing to do for an hour is asked how it is before it takes the next."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    watch = FollowerWatch(NOBODY)
    watch.took(0, {AT: 9})
    watch.saw({AT: 9})
    now += 3600.0
    watch.saw({AT: 10})
    assert not watch.stuck()
    now += pages.STUCK_SECONDS + 1
    watch.saw({AT: 11})
    assert watch.stuck()


def test_what_it_took_since_the_brokers_were_asked_does_not_count_against_it() -> None:
    watch = FollowerWatch(NOBODY)
    watch.took(0, {AT: 3})
    watch.saw({AT: 9})
    watch.took(8, {AT: 11})
    assert watch.lag() == {AT: 0}
    watch.saw({AT: 9})
    assert watch.ready()


def test_what_nobody_is_given_is_behind_it_too(connection: Connection, topics: Topics) -> None:
    """Else a store would be behind for ever where a transaction was given up at the end."""
    partitions = [topics.at("decisions", number) for number in range(topics.partitions)]
    first = partitions[0]

    async def run() -> list[tuple[Records, Offsets]]:
        stop = asyncio.Event()
        taken: list[tuple[Records, Offsets]] = []

        async def take(some: Records, at: Offsets) -> None:
            taken.append((some, at))
            stop.set()

        await give_up(connection, first)
        async with asyncio.timeout(PATIENCE):
            await follow(connection, dict.fromkeys(partitions, 0), take, stop)
        return taken

    [(some, at)] = asyncio.run(run())
    assert some == []
    assert at == {first: 2}


async def give_up(connection: Connection, at: TopicPartition) -> None:
    """Send a record to a partition, in a transaction that is given up: its marker follows it."""
    producer = AIOKafkaProducer(
        bootstrap_servers=connection.bootstrap, transactional_id=connection.prefix
    )
    await producer.start()
    try:
        await producer.begin_transaction()
        await producer.send_and_wait(at.topic, b"given up", partition=at.partition)
        await producer.abort_transaction()
    finally:
        await producer.stop()


# -- a new store beside a live one ----------------------------------------------------------------

SHOWN = ("candidates", "memories", "joins", "decisions")


def test_a_store_from_the_beginning_equals_the_one_that_goes_on(
    tmp_path: Path,
    connection: Connection,
    topics: Topics,
    history: list[bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is put in the other's place, and goes on there; each says so once it has caught up."""
    caplog.set_level("INFO")
    live, anew, former = (tmp_path / name for name in ("store", "anew", "former"))
    for folder in (live, anew):
        folder.mkdir()
    first, second, last = history[:20], history[20:-1], history[-1:]

    async def rebuild() -> None:
        await decide(connection, topics, first)
        async with following(live, connection, topics) as caught_up:
            await caught_up()
            async with following(anew, connection, topics) as anew_caught_up:
                await decide(connection, topics, second)
                await caught_up()
                await anew_caught_up()

    async def go_on() -> None:
        await decide(connection, topics, last)
        async with following(live, connection, topics) as caught_up:
            await caught_up()

    asyncio.run(rebuild())
    events = asyncio.run(events_of(connection, topics))
    for folder in (live, anew):
        check_store(folder, events)
        assert f"into {folder}, from 0: 0, 1: 0" in caplog.text
    assert caplog.messages.count("caught up: follows new records") == 2
    shown = shown_by(live)
    assert shown_by(anew) == shown
    live.rename(former)
    anew.rename(live)
    asyncio.run(go_on())
    check_store(live, asyncio.run(events_of(connection, topics)))
    assert len(shown_by(live)["decisions"]) == len(shown["decisions"]) + 1


async def decide(connection: Connection, topics: Topics, decided: list[bytes]) -> None:
    """Publish decisions to their topic, as a worker would."""
    producer = AIOKafkaProducer(bootstrap_servers=connection.bootstrap)
    await producer.start()
    try:
        for line in decided:
            at = topics.at("decisions", partition_of(decode(line).owner_id, topics.partitions))
            await producer.send(at.topic, line, partition=at.partition)
    finally:
        await producer.stop()


@asynccontextmanager
async def following(
    folder: Path, connection: Connection, topics: Topics
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Run a projector; yields a function that waits until it has everything decided so far."""
    stop, moved, at = asyncio.Event(), asyncio.Event(), dict[TopicPartition, int]()

    def observe(_records: int, further: Offsets) -> None:
        at.update(further)
        moved.set()

    running = asyncio.create_task(Follower(folder, connection, topics, observe).run(stop))

    async def caught_up() -> None:
        async with asyncio.timeout(PATIENCE), reader(connection) as consumer:
            every = [topics.at("decisions", number) for number in range(topics.partitions)]
            ends = await consumer.end_offsets(every)
            while not all(at.get(one, -1) >= end for one, end in ends.items()):
                moved.clear()
                await moved.wait()

    try:
        yield caught_up
    finally:
        stop.set()
        await running


def shown_by(store: Path) -> dict[str, list[str]]:
    """What analysts see, but for positions: each store has an order of its own."""
    projections = store / PROJECTIONS_FOLDER
    return {
        view: sorted(
            str(row) for row in query(projections, f"SELECT * EXCLUDE (position) FROM {view}")
        )
        for view in SHOWN
    }


def test_one_whose_brokers_go_away_as_it_begins_waits_for_them(
    tmp_path: Path,
    connection: Connection,
    topics: Topics,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures: list[Exception] = [BrokersAwayError("no Kafka broker answers")] * 2
    asked = topics_module.topic_id

    async def failing(*arguments: Any) -> str:
        if failures:
            raise failures.pop()
        return await asked(*arguments)

    monkeypatch.setattr(following_store, "topic_id", failing)
    monkeypatch.setattr(following_store, "RETRY_SECONDS", 0)

    async def run() -> None:
        stop = asyncio.Event()
        async with asyncio.timeout(PATIENCE):
            begun = Follower(tmp_path, connection, topics, lambda *_: stop.set())
            await begun.run(stop)

    asyncio.run(run())
    assert caplog.text.count("no Kafka broker answers; waiting for one") == 1
