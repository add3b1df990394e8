"""How far a partition is: behind the last record of what was taken, published or decided on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson
import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import Decided
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster import questions
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Outgoing, Record, dead_letter_of, done_with
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker import partition_writer as partition
from palimpsest.streams.cluster.worker import producer as publishing
from palimpsest.streams.cluster.worker.assigned_partition import starts
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.partition_writer import PartitionWriter
from palimpsest.streams.cluster.worker.producer import UNKNOWN, PartitionProducer
from palimpsest.streams.cluster.worker.replica import (
    Followed,
    PartitionReplica,
    open_replica,
    take_over,
)
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.dead_letters import Headers
from palimpsest.streams.log.log import Lines
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.commit import InputOffset
from tests.streams.core.spec import given, say
from tests.streams.write.runtime import AT, Runtime
from tests.stub_engine import StubEngine

TOPICS = Topics("", 1)
CANDIDATES, DECISIONS = TOPICS.name("candidates"), TOPICS.name("decisions")
INPUTS = {CANDIDATES: "candidates-id", TOPICS.name("commands"): "commands-id"}


def candidate(offset: int, value: bytes | None = None) -> Record:
    row = {"owner_id": "ann", "id": str(offset), "text": f"Text {offset}"}
    return Record(CANDIDATES, 0, offset, orjson.dumps(row) if value is None else value)


class Brokers:
    """What was published: of each transaction the events' subjects, and what it was done with."""

    def __init__(self) -> None:
        self.taken: list[tuple[list[str], list[InputOffset]]] = []
        self.beside: list[Outgoing] = []

    def publish(self, lines: Lines, others: Sequence[Outgoing], done: Sequence[InputOffset]) -> int:
        self.beside += others
        self.taken.append(([e.subject for e, _ in lines if isinstance(e, Decided)], [*done]))
        return sum(len(lines) for lines, _ in self.taken)


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@contextmanager
def opened_writer(
    folder: Path, brokers: Brokers, clock: Callable[[], datetime]
) -> Iterator[PartitionWriter]:
    """A partition's writer on a replica of its own."""
    with PartitionReplica.create(folder / "replica.sqlite") as log:
        decisions = Followed(DECISIONS, 0, "decisions-id", 0)
        embedder, policy = Embedder(StubEngine()), load_policy("standard")
        yield PartitionWriter(
            log,
            brokers.publish,
            decisions,
            TOPICS,
            INPUTS,
            policy,
            lambda _model: embedder,
            clock,
            Metrics(),
        )
        embedder.close()


@pytest.fixture
def writer(tmp_path: Path, brokers: Brokers) -> Iterator[PartitionWriter]:
    with opened_writer(tmp_path, brokers, lambda: AT) as writing:
        yield writing


def test_a_batch_is_done_with_its_last_record(writer: PartitionWriter, brokers: Brokers) -> None:
    batch = [candidate(4), candidate(5), candidate(7, b"not JSON")]
    writer.close(writer.open(batch))
    [(decided, done)] = brokers.taken
    assert len(decided) == 2
    assert done == [InputOffset(CANDIDATES, "candidates-id", 7)]
    assert writer.log.first_undone(CANDIDATES, "candidates-id", 0) == 8
    assert writer.log.first_undone(CANDIDATES, "made anew", 0) == 0
    followed = writer.log.followed(DECISIONS, 0)
    assert followed == Followed(DECISIONS, 0, "decisions-id", 2), "behind what was published"


def test_each_record_that_cannot_be_read_is_a_dead_letter_though_its_bytes_came_before(
    writer: PartitionWriter, brokers: Brokers
) -> None:
    writer.close(writer.open([candidate(4, b"not JSON"), candidate(5, b"not JSON")]))
    letters = [dead_letter_of(one.headers, one.value) for one in brokers.beside if one.headers]
    assert [letter.origin for letter in letters] == [f"{CANDIDATES}/0/4", f"{CANDIDATES}/0/5"]
    assert len({letter.id for letter in letters}) == 1


def test_a_replica_has_each_decision_once_however_often_it_is_read(tmp_path: Path) -> None:
    """As if it was published, and the brokers did not say at which offset."""
    history = given(say("a", "Tea"), say("b", "Milk"), say("c", "Mate"))
    lines = [encode(event) for event in history.log]
    with PartitionReplica.create(tmp_path / "replica.sqlite") as log:
        for some in (lines[:2], lines):
            with log.transaction():
                log.fill(some)
        assert [line for _, line in log.lines()] == lines
        assert log.new_events(lines) == []


def test_what_comes_again_is_left_out(writer: PartitionWriter, brokers: Brokers) -> None:
    """The broken one, too: a dead letter for each record, and not for each delivery."""
    batch = [candidate(4), candidate(5), candidate(7, b"not JSON")]
    writer.close(writer.open(batch))
    again = writer.open([*batch, candidate(8)])
    assert [record.offset for record in again.records] == [8]
    writer.close(again)
    assert len(brokers.taken) == 2


def test_what_was_decided_before_a_failure_is_undone(
    writer: PartitionWriter, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between deciding and committing, too: then nothing of the window happened."""
    batch = [candidate(4), candidate(5, b"not JSON")]
    with monkeypatch.context() as broken:
        broken.setattr(partition, "dead_letter", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.close(writer.open(batch))
    assert brokers.taken == []
    assert not writer.writer.owners.get("ann").ledger.entries
    writer.close(writer.open(batch))
    [(decided, done)] = brokers.taken
    assert (len(decided), done) == (1, [InputOffset(CANDIDATES, "candidates-id", 5)])


def test_a_replica_goes_on_behind_the_last_decision_it_took(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite") as runtime:
        runtime.submit(*({"owner_id": "ann", "text": f"Text {number}"} for number in range(3)))
        lines = runtime.lines()
    log, followed = open_replica(tmp_path, TOPICS, 0, "decisions-id", 20)
    assert followed.next_offset == 0
    headers = done_with([InputOffset(CANDIDATES, "candidates-id", 7)])
    records = [read_back(10 + place, line) for place, line in enumerate(lines[:-1])]
    take_over({0: log}, [*records, read_back(16, lines[-1], headers)], "decisions-id")
    assert log.followed(DECISIONS, 0) == Followed(DECISIONS, 0, "decisions-id", 17)
    assert log.first_undone(CANDIDATES, "candidates-id", 0) == 8
    log.close()


@pytest.mark.parametrize(("end", "goes_on_at"), [(17, 17), (16, 0)])
def test_a_replica_that_is_ahead_of_the_topic_is_recreated(
    tmp_path: Path, end: int, goes_on_at: int
) -> None:
    """As where the brokers were put back to an older state."""
    log, _ = open_replica(tmp_path, TOPICS, 0, "decisions-id", 20)
    with log.transaction():
        log.follow(Followed(DECISIONS, 0, "decisions-id", 17))
    log.close()
    log, followed = open_replica(tmp_path, TOPICS, 0, "decisions-id", end)
    log.close()
    assert followed.next_offset == goes_on_at


def test_an_input_goes_on_behind_what_is_decided_on_or_acknowledged(tmp_path: Path) -> None:
    """What had no effect is acknowledged alone; what a tool has set is not acknowledged."""
    candidates, commands = (TopicPartition(topic, 0) for topic in INPUTS)
    with PartitionReplica.create(tmp_path / "replica.sqlite") as log:
        with log.transaction():
            log.follow_input(InputOffset(CANDIDATES, "candidates-id", 7), 0)
        assert starts(log, 0, INPUTS, {}) == {CANDIDATES: 8, commands.topic: 0}
        ids = INPUTS[candidates.topic], INPUTS[commands.topic]
        done = {
            candidates: OffsetAndMetadata(5, ids[0]),
            commands: OffsetAndMetadata(4, ids[1]),
        }
        assert starts(log, 0, INPUTS, done) == {CANDIDATES: 8, commands.topic: 4}
        for metadata, start in ((ids[0], 9), ("", 8)):
            done = {candidates: OffsetAndMetadata(9, metadata)}
            assert starts(log, 0, INPUTS, done)[CANDIDATES] == start


def read_back(offset: int, line: bytes, headers: Headers = ()) -> ConsumerRecord[bytes, bytes]:
    return ConsumerRecord(
        DECISIONS, 0, offset, 0, 0, None, line, None, 0, len(line), tuple(headers)
    )


@dataclass(frozen=True)
class Acknowledged:
    """What a broker tells of a record that it took."""

    offset: int


class Client:
    """Stands in for aiokafka's producer: records get these offsets, in their order."""

    def __init__(self, offsets: Sequence[int]) -> None:
        self._offsets = iter(offsets)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        yield

    async def partitions_for(self, _topic: str) -> set[int]:
        return {0}

    async def send(self, *_args: object, **_named: object) -> asyncio.Future[Acknowledged]:
        future = asyncio.get_running_loop().create_future()
        future.set_result(Acknowledged(next(self._offsets)))
        return future


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    with Runtime(tmp_path / "log.sqlite") as runtime:
        runtime.submit(*({"owner_id": "ann", "text": f"Text {number}"} for number in range(2)))
        events = [one.event for one in runtime.log.after(0)]
        return list(zip(events, runtime.lines(), strict=True))


def published(
    monkeypatch: pytest.MonkeyPatch, lines: Lines, offsets: Sequence[int], known: int
) -> int | None:
    """Where the decisions end, once these were sent with another topic's record behind them."""
    monkeypatch.setattr(publishing, "AIOKafkaProducer", lambda **_: Client(offsets))

    async def publish() -> int | None:
        producer = PartitionProducer(Connection(bootstrap="nowhere:9092"), TOPICS, 0)
        producer.continue_at(known)
        letter = Outgoing(TOPICS.name("dead_letters"), b"a letter")
        return await producer.publish(lines, [letter], [])

    return asyncio.run(publish())


def test_what_is_published_ends_behind_its_last_decision(
    monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    assert published(monkeypatch, lines, (10, 11, 13, 2), 10) == 14
    assert published(monkeypatch, lines, (10, 11, UNKNOWN, 2), 10) is None
    assert published(monkeypatch, [], (2,), 10) is None


def test_decisions_that_would_go_back_are_of_a_recreated_topic(
    monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    with pytest.raises(StoreError, match="recreated"):
        published(monkeypatch, lines, (9, 10, 11, 2), 10)


def test_questions_are_done_with_up_to_the_first_that_is_not() -> None:
    """What is committed is the next offset: a verifier that starts anew asks from there."""
    progress = questions._Progress()
    places = [questions._Place(TOPICS.at("verifications", 0), offset) for offset in (4, 5, 7)]
    progress.places.extend(places)
    progress.done.update((places[1], places[2]))
    assert progress.committable() is None
    progress.done.add(places[0])
    assert progress.committable() == 8
    assert progress.committable() is None
