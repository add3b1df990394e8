"""Several partitions publish at once, each its own in order, and nothing counts before its answer.

The brokers are a stand-in that answers when a test lets it; replicas, writers and fibers are
a worker's own.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec
from uuid import uuid4

import orjson
import pytest
from aiokafka.errors import ProducerFenced

from palimpsest.contracts.errors import ModelError, TransientError
from palimpsest.contracts.events import AnyEvent, Decided, PolicySet, Retracted
from palimpsest.contracts.requests import AnyRequest, PolicyRequest, RetractRequest, Selection
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Outgoing, Record
from palimpsest.streams.cluster.tasks import OneThread
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.cluster.worker import assigned_partition
from palimpsest.streams.cluster.worker.assigned_partition import (
    AHEAD,
    AssignedPartition,
    Delivery,
    Missed,
)
from palimpsest.streams.cluster.worker.fibers import Fiber, waiting_for
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.partition_writer import PartitionWriter
from palimpsest.streams.cluster.worker.replica import Followed, PartitionReplica
from palimpsest.streams.embedder import Embedder, Embedding, ModelUnusable, ServiceUnavailable
from palimpsest.streams.log.log import Lines
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.handlers import bulk
from palimpsest.streams.write.serve import MOST_TOGETHER
from tests.long import long_but
from tests.reliability.rows import Row, rows
from tests.streams.write.runtime import AT, Runtime
from tests.streams.write.test_requests import different
from tests.stub_engine import StubEngine

PARTITIONS = 4
TOPICS = Topics("", PARTITIONS)
CANDIDATES, COMMANDS = TOPICS.name("candidates"), TOPICS.name("commands")
INPUTS = {CANDIDATES: "candidates-id", COMMANDS: "commands-id"}
SECONDS = 20.0
"""After this time, what a test waits for will not happen."""

Answering = Callable[[int, Lines], Awaitable[object]]
"""What happens between a transaction's beginning and its end, by partition and its events."""


class Brokers:
    """The topic of each partition, and what happens at the brokers and in the worker, in order."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.topic: dict[int, list[AnyEvent]] = {p: [] for p in range(PARTITIONS)}
        self.done: dict[int, list[InputOffset]] = {p: [] for p in range(PARTITIONS)}
        self.in_flight: Counter[int] = Counter()
        self.most_at_once = 0

    async def publish(
        self, partition: int, lines: Lines, _others: Sequence[Outgoing], done: Sequence[InputOffset]
    ) -> int:
        self.in_flight[partition] += 1
        assert self.in_flight[partition] == 1, "a partition has one transaction at a time"
        self.most_at_once = max(self.most_at_once, self.in_flight.total())
        try:
            await self.answering(partition, lines)
        finally:
            self.in_flight[partition] -= 1
        self.topic[partition] += [event for event, _ in lines]
        self.done[partition] += done
        return len(self.topic[partition])


class Worker:
    """The partitions of a worker; `acknowledged` are its inputs in order, by partition."""

    def __init__(self, folder: Path, brokers: Brokers) -> None:
        self.brokers = brokers
        self.acknowledged: dict[int, list[int]] = {p: [] for p in range(PARTITIONS)}
        self.failures: list[BaseException] = []
        self.has_failed = asyncio.Event()
        self.writers: dict[int, PartitionWriter] = {}
        self.partitions: dict[int, AssignedPartition] = {}
        self._folder = folder
        self.deciding = OneThread("deciding")
        self._embedder = Embedder(StubEngine())
        self.at_embedder: set[Future[list[Embedding]]] = set()
        self._offsets: Counter[int] = Counter()
        self._requests: Counter[int] = Counter()

    def assign(self) -> None:
        for partition in range(PARTITIONS):
            self._assign(partition)

    def _assign(self, partition: int) -> None:
        log = PartitionReplica.create(self._folder / f"{partition}.sqlite", shared=True)

        writer = self.writers[partition] = PartitionWriter(
            log,
            waiting_for(self.deciding, partial(self.brokers.publish, partition)),
            Followed(TOPICS.name("decisions"), partition, "decisions-id", 0),
            TOPICS,
            INPUTS,
            load_policy("standard"),
            lambda _model: self._embedder,
            lambda: AT,
            Metrics(),
        )
        producer: Any = Producer(self.brokers, partition)
        self.partitions[partition] = AssignedPartition(
            producer,
            writer,
            Fiber(self.deciding),
            Missed(Connection(bootstrap="127.0.0.1:1"), {}),
            self.at_embedder,
            self._fail,
        )

    async def _fail(self, error: BaseException) -> None:
        self.failures.append(error)
        self.has_failed.set()

    def candidate(self, row: Row) -> None:
        """Bring a candidate to its owner's partition."""
        partition = partition_of(row["owner_id"], PARTITIONS)
        record = Record(CANDIDATES, partition, self._offsets[partition], orjson.dumps(row))
        self._offsets[partition] += 1
        self.partitions[partition].candidates([self._delivery(record)])

    def skip(self, partition: int, count: int) -> None:
        """Let the partition's candidates begin after some that Faust skipped."""
        self._offsets[partition] += count

    def request(self, partition: int, request: AnyRequest) -> None:
        """Bring a request to a partition."""
        body = request.model_dump_json(exclude_none=True).encode()
        record = Record(COMMANDS, partition, self._requests[partition], body)
        self._requests[partition] += 1
        self.partitions[partition].commands([self._delivery(record)])

    def _delivery(self, record: Record) -> Delivery:
        return Delivery(record, lambda: self._acknowledge(record))

    def _acknowledge(self, record: Record) -> None:
        done = self.brokers.done[record.partition]
        covered = [one.offset for one in done if one.topic == record.topic]
        assert max(covered, default=-1) >= record.offset, "acknowledged before its transaction"
        self.acknowledged[record.partition].append(record.offset)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not holds():
                assert not self.failures, self.failures
                await asyncio.sleep(0.002)

    async def until_embedding(self, batches: int) -> None:
        """Wait until so many batches are at the embedder."""
        await self.until(lambda: len(self.at_embedder) == batches)

    def is_done(self) -> bool:
        return sum(map(len, self.acknowledged.values())) == self._offsets.total()

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self.partitions.values()))
        self.deciding.end()
        self._embedder.close()


class Producer:
    """A partition's producer, which is stopped when nothing of it is in flight."""

    def __init__(self, brokers: Brokers, partition: int) -> None:
        self._brokers = brokers
        self._partition = partition

    async def stop(self) -> None:
        assert not self._brokers.in_flight[self._partition]


@asynccontextmanager
async def working(folder: Path, answering: Answering) -> AsyncIterator[Worker]:
    """A worker on all partitions."""
    worker = Worker(folder, Brokers(answering))
    worker.assign()
    try:
        yield worker
    finally:
        await worker.close()


async def at_once(_partition: int, _lines: Lines) -> None:
    """The brokers answer at once."""


def owner_of(partition: int, number: int = 0) -> str:
    """An owner of a partition."""
    names = (
        name for name in map(str, range(10_000)) if partition_of(name, PARTITIONS) == partition
    )
    return [next(names) for _ in range(number + 1)][-1]


def say(partition: int, number: int) -> Row:
    """A candidate of a partition."""
    return {"owner_id": owner_of(partition), "id": str(number), "text": f"Text {number}"}


def ids(events: Sequence[AnyEvent]) -> list[str]:
    return [event.data.candidate.id for event in events if isinstance(event, Decided)]


def test_as_many_transactions_are_in_flight_as_there_are_partitions(tmp_path: Path) -> None:
    all_there = asyncio.Barrier(PARTITIONS)

    async def answering(_partition: int, _lines: Lines) -> None:
        await all_there.wait()

    async def run() -> int:
        async with working(tmp_path, answering) as worker:
            for partition in range(PARTITIONS):
                worker.candidate(say(partition, 0))
            await worker.until(worker.is_done)
            return worker.brokers.most_at_once

    assert asyncio.run(run()) == PARTITIONS


@pytest.mark.parametrize("seed", long_but(0, 1, of=range(6)))
def test_each_owner_s_decisions_are_those_of_one_process_in_their_order(
    tmp_path: Path, seed: int
) -> None:
    """However long each transaction takes, and whichever partition decides in between."""
    chance = random.Random(seed)
    stream = rows(240, owners=15, seed=seed)

    async def answering(_partition: int, _lines: Lines) -> None:
        await asyncio.sleep(chance.choice((0, 0, 0.001, 0.006)))

    async def run() -> Worker:
        async with working(tmp_path, answering) as worker:
            for row in stream:
                worker.candidate(row)
                if chance.random() < 0.2:
                    await asyncio.sleep(chance.random() * 0.01)
            await worker.until(worker.is_done)
            return worker

    worker = asyncio.run(run())
    for partition, acknowledged in worker.acknowledged.items():
        assert acknowledged == [*range(len(acknowledged))]
        with PartitionReplica.open(tmp_path / f"{partition}.sqlite") as replica:
            held = [event.id for event in by_position(replica)]
        assert held == [event.id for event in worker.brokers.topic[partition]]
    assert by_owner(worker.brokers.topic.values()) == by_owner([embedded(tmp_path, stream)])


def by_position(replica: PartitionReplica) -> Iterator[AnyEvent]:
    position = 0
    while some := replica.after(position):
        yield from (recorded.event for recorded in some)
        position = some[-1].position


def by_owner(logs: Any) -> dict[str, list[Any]]:
    """What was decided about each candidate, in order, by owner."""
    found: dict[str, list[Any]] = {}
    for event in (event for events in logs for event in events):
        if isinstance(event, Decided):
            data = event.data
            what = (data.candidate.id, data.decision, data.join and data.join.to)
            found.setdefault(event.owner_id, []).append((event.id, *what))
        elif event.owner_id:
            found.setdefault(event.owner_id, []).append((event.id, event.type))
    return found


def embedded(folder: Path, stream: Sequence[Row]) -> list[AnyEvent]:
    """The events of one process that decides on the candidates one after the other."""
    with Runtime(folder / "embedded.sqlite") as runtime:
        for row in stream:
            runtime.submit(row)
        return [event for _, event, _ in runtime.told]


def test_what_waits_for_the_brokers_keeps_its_own_fiber_and_not_the_thread() -> None:
    steps: list[str] = []

    async def run() -> None:
        thread, others = OneThread("deciding"), asyncio.Event()
        one, another = Fiber(thread), Fiber(thread)
        wait = waiting_for(thread, others.wait)

        def publish() -> None:
            steps.append("publishes")
            wait()
            steps.append("has published")

        publishing = asyncio.create_task(one.run(publish))
        its_next = asyncio.create_task(one.run(steps.append, "its next"))
        await asyncio.sleep(0)  # both are asked for
        for number in range(3):
            await another.run(steps.append, f"another {number}")
        others.set()
        await asyncio.gather(publishing, its_next)
        thread.end()

    asyncio.run(run())
    assert steps[0] == "publishes"
    assert steps[1:4] == ["another 0", "another 1", "another 2"]
    assert steps[4:] == ["has published", "its next"]


def test_what_a_fiber_runs_or_waits_for_may_fail_and_the_next_runs() -> None:
    async def fail() -> None:
        raise ProducerFenced

    async def run() -> None:
        thread = OneThread("deciding")
        fiber, wait = Fiber(thread), waiting_for(thread, fail)
        failing, fencing = fiber.run(int, "no number"), fiber.run(wait)
        found = await asyncio.gather(failing, fencing, fiber.run(int, "7"), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError, ProducerFenced, int]
        thread.end()

    asyncio.run(run())


def test_what_was_started_goes_on_though_its_caller_is_cancelled_and_what_waits_does_not() -> None:
    steps: list[str] = []

    async def run() -> None:
        thread, answered = OneThread("deciding"), asyncio.Event()
        fiber, wait = Fiber(thread), waiting_for(thread, answered.wait)

        def publish() -> None:
            wait()
            steps.append("has published")

        started = asyncio.create_task(fiber.run(publish))
        waiting = asyncio.create_task(fiber.run(steps.append, "never"))
        await asyncio.sleep(0)  # both are asked for
        await Fiber(thread).run(int)
        for task in (started, waiting):
            task.cancel()
        await asyncio.wait((started, waiting))
        following = asyncio.create_task(fiber.run(steps.append, "its next"))
        await asyncio.sleep(0)
        await Fiber(thread).run(int)
        assert steps == []
        answered.set()
        await following
        thread.end()

    asyncio.run(run())
    assert steps == ["has published", "its next"]


def test_while_a_request_s_commits_are_published_others_are_decided_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its commits waits at the brokers until another partition's candidate is decided."""
    monkeypatch.setattr(bulk, "STEPS", 1)
    another = asyncio.Event()

    async def answering(partition: int, lines: Lines) -> None:
        if partition == 1:
            another.set()
        elif any(isinstance(event, Retracted) for event, _ in lines):
            await another.wait()

    async def run() -> Worker:
        async with working(tmp_path, answering) as worker:
            for number in range(5):
                worker.candidate(say(0, number))
            await worker.until(worker.is_done)
            selection = Selection(source="memory.candidates")
            request = RetractRequest(request_id=str(uuid4()), selection=selection)
            worker.request(0, request)
            await worker.until(lambda: worker.brokers.in_flight[0] == 1)
            assert not another.is_set()
            worker.candidate(say(1, 0))
            await worker.until(lambda: len(worker.brokers.done[0]) > 0 and has_request(worker))
            return worker

    worker = asyncio.run(run())
    retracted = [e for e in worker.brokers.topic[0] if isinstance(e, Retracted)]
    assert len(retracted) == 5
    assert ids(worker.brokers.topic[1]) == ["0"]


def test_requests_that_wait_for_a_transaction_share_the_next_ones(tmp_path: Path) -> None:
    """And are acknowledged in their order, each after the transaction that has it."""
    published = asyncio.Event()
    several = [different(str(uuid4()), str(uuid4())) for _ in range(200)]
    transactions: list[int] = []

    async def answering(_partition: int, lines: Lines) -> None:
        transactions.append(len(lines))
        await published.wait()

    async def run() -> Worker:
        async with working(tmp_path, answering) as worker:
            for request in several:
                worker.request(0, request)
            published.set()
            await worker.until(lambda: len(worker.acknowledged[0]) == len(several))
            return worker

    worker = asyncio.run(run())
    assert worker.acknowledged[0] == [*range(len(several))]
    asked = [e.requestid for e in worker.brokers.topic[0] if e.requestid]
    assert asked == [request.request_id for request in several]
    most = AHEAD + 1 + -(-len(several) // MOST_TOGETHER)
    assert len(transactions) <= most, "while the first waits, two more may wait behind it"


def has_request(worker: Worker) -> bool:
    return any(one.topic == COMMANDS for one in worker.brokers.done[0])


def test_giving_up_partitions_waits_for_what_is_in_flight_and_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assigned_partition, "TOGETHER", 1)
    answered = asyncio.Event()

    async def answering(_partition: int, _lines: Lines) -> None:
        await answered.wait()

    async def run() -> Worker:
        worker = Worker(tmp_path, Brokers(answering))
        worker.assign()
        for partition in range(PARTITIONS):
            for number in range(3):
                worker.candidate(say(partition, number))
        await worker.until(lambda: worker.brokers.in_flight.total() == PARTITIONS)
        closing = asyncio.create_task(worker.close())
        await asyncio.wait([closing], timeout=0.1)
        assert not closing.done(), "it waits, however long the brokers take"
        answered.set()
        await asyncio.wait_for(closing, SECONDS)
        return worker

    worker = asyncio.run(run())
    for partition in range(PARTITIONS):
        assert worker.acknowledged[partition] == [0]
        assert ids(worker.brokers.topic[partition]) == ["0"]
        with PartitionReplica.open(tmp_path / f"{partition}.sqlite") as replica:
            assert ids([*by_position(replica)]) == ["0"], "the replica has what the brokers have"


def test_a_transaction_that_fails_leaves_its_partition_as_it_was_and_others_go_on(
    tmp_path: Path,
) -> None:
    fenced, others_are_decided = asyncio.Event(), asyncio.Event()

    async def answering(partition: int, _lines: Lines) -> None:
        if partition == 0 and fenced.is_set():
            await others_are_decided.wait()
            raise ProducerFenced

    async def run() -> Worker:
        async with working(tmp_path, answering) as worker:
            for partition in range(PARTITIONS):
                worker.candidate(say(partition, 0))
            await worker.until(worker.is_done)
            fenced.set()
            worker.candidate(say(0, 1))
            await worker.until(lambda: worker.brokers.in_flight[0] == 1)
            for partition in range(1, PARTITIONS):
                worker.candidate(say(partition, 1))
            await worker.until(lambda: all(len(worker.acknowledged[p]) == 2 for p in (1, 2, 3)))
            others_are_decided.set()
            await asyncio.wait_for(worker.has_failed.wait(), SECONDS)
            ledger = worker.writers[0].writer.owners.get(owner_of(0)).ledger
            assert [entry.fields.id for entry in ledger.entries.values()] == ["0"]
            return worker

    worker = asyncio.run(run())
    assert [type(error) for error in worker.failures] == [ProducerFenced]
    assert worker.acknowledged == {0: [0], 1: [0, 1], 2: [0, 1], 3: [0, 1]}
    with PartitionReplica.open(tmp_path / "0.sqlite") as replica:
        assert ids([*by_position(replica)]) == ["0"]


@pytest.mark.parametrize(("others", "transactions"), [(0, AHEAD + 2), (AHEAD + 1, 2)])
def test_fewer_batches_are_embedded_ahead_while_the_embedder_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int, transactions: int
) -> None:
    """Candidates that would only wait there come into one transaction."""
    go_on = threading.Event()
    real = StubEngine.embed

    def embed(engine: StubEngine, texts: Sequence[str]) -> Any:
        assert go_on.wait(SECONDS)
        return real(engine, texts)

    monkeypatch.setattr(StubEngine, "embed", embed)
    published: list[int] = []
    count = 9

    async def answering(partition: int, _lines: Lines) -> None:
        published.append(partition)

    async def run() -> Worker:
        async with asyncio.timeout(SECONDS), working(tmp_path, answering) as worker:
            worker.at_embedder.update(Future() for _ in range(others))
            for number in range(count):
                worker.candidate(say(0, number))
                opened = min(number, 0 if others else AHEAD) + 1
                await worker.until_embedding(others + opened)
            go_on.set()
            await worker.until(worker.is_done)
            assert len(worker.at_embedder) == others
            return worker

    worker = asyncio.run(run())
    assert len(published) == transactions
    assert ids(worker.brokers.topic[0]) == [*map(str, range(count))]


# -- while the model cannot be used --------------------------------------------------------------


def retract() -> RetractRequest:
    return RetractRequest(request_id=str(uuid4()), selection=Selection(source="nowhere"))


def failing(patch: pytest.MonkeyPatch, times: int, error: type[ModelError]) -> Mock:
    """An engine that fails for its first calls."""
    real, failures = StubEngine.embed, iter(range(times))

    def embed(engine: StubEngine, texts: Sequence[str]) -> Any:
        if next(failures, None) is None:
            return real(engine, texts)
        raise error("no vectors today")

    watched: Mock = create_autospec(real, side_effect=embed)
    patch.setattr(StubEngine, "embed", watched)
    return watched


@pytest.mark.parametrize("error", [ServiceUnavailable, ModelUnusable])
def test_candidates_wait_for_a_model_that_cannot_be_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: type[ModelError],
) -> None:
    """The worker would end, and its partitions with it, each time that the service restarts."""
    monkeypatch.setattr(assigned_partition, "MODEL_PAUSES", (0.0,) * 9)
    failing(monkeypatch, 3, error)

    async def run() -> Worker:
        async with working(tmp_path, at_once) as worker:
            for number in range(5):
                worker.candidate(say(0, number))
            await worker.until(worker.is_done)
            return worker

    worker = asyncio.run(run())
    assert ids(worker.brokers.topic[0]) == [*map(str, range(5))]
    assert worker.acknowledged[0] == [*range(5)]
    assert "partition 0 waits for the model, and tries again in 0 s: no vectors today" in (
        record.getMessage() for record in caplog.records
    )


def test_the_worker_ends_when_the_model_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one gets the partition, and may have one."""
    monkeypatch.setattr(assigned_partition, "MODEL_PAUSES", (0.0,) * 4)
    tried = failing(monkeypatch, 10**6, ModelUnusable)

    async def run() -> Worker:
        async with working(tmp_path, at_once) as worker:
            worker.candidate(say(0, 0))
            await asyncio.wait_for(worker.has_failed.wait(), SECONDS)
            return worker

    worker = asyncio.run(run())
    assert [type(error) for error in worker.failures] == [ModelUnusable]
    assert worker.acknowledged[0] == []
    assert tried.call_count == 5


def test_who_waits_for_the_model_gives_up_its_partition_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assigned_partition, "MODEL_PAUSES", (10 * SECONDS,))
    tried = failing(monkeypatch, 10**6, ServiceUnavailable)

    async def run() -> Worker:
        worker = Worker(tmp_path, Brokers(at_once))
        worker.assign()
        worker.candidate(say(0, 0))
        await worker.until(lambda: tried.called)
        await asyncio.wait_for(worker.close(), SECONDS)
        return worker

    worker = asyncio.run(run())
    assert worker.failures == []
    assert worker.acknowledged[0] == []


@pytest.mark.parametrize("limits", [("TOGETHER", "MOST_TOGETHER"), ("WINDOW_BYTES",)])
def test_a_partition_that_waits_for_the_model_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: tuple[str, ...]
) -> None:
    """Whatever came for it is taken, in order, and it says that no more should be fetched."""
    for limit in limits:
        monkeypatch.setattr(assigned_partition, limit, 4)
    monkeypatch.setattr(assigned_partition, "MODEL_PAUSES", (SECONDS,))
    tried = failing(monkeypatch, 10**6, ServiceUnavailable)
    count = 10 * (AHEAD + 2)

    async def run() -> Worker:
        async with asyncio.timeout(SECONDS), working(tmp_path, at_once) as worker:
            for number in range(count):
                worker.candidate(say(0, number))
                worker.request(0, retract())
            await worker.until(lambda: tried.called)
            assert [*worker.partitions[0].full()] == ["candidates", "commands"]
            worker.request(1, retract())
            await worker.until(lambda: bool(worker.acknowledged[1]))
            assert not [*worker.partitions[1].full()]
            return worker

    worker = asyncio.run(run())
    assert ids(worker.brokers.topic[0]) == []


@pytest.fixture
def skipped(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """A hundred records of partition 0 that Faust skipped: those that have been read again."""
    read: list[Record] = []

    async def before(_self: Missed, first: Record) -> AsyncGenerator[list[Record], None]:
        for at in range(first.offset):
            read.append(Record(CANDIDATES, 0, at, orjson.dumps(say(0, at))))
            yield read[-1:]

    monkeypatch.setattr(assigned_partition, "TOGETHER", 4)
    monkeypatch.setattr(Missed, "before", before)
    return read


SKIPPED = 100


def test_skipped_records_wait_until_a_partition_has_room_and_hold_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skipped: list[Record]
) -> None:
    """They may be a whole topic: all of them at once would not fit into memory."""
    monkeypatch.setattr(assigned_partition, "MODEL_PAUSES", (SECONDS,))
    tried = failing(monkeypatch, 10**6, ServiceUnavailable)

    async def run() -> Worker:
        async with asyncio.timeout(SECONDS), working(tmp_path, at_once) as worker:
            worker.skip(0, SKIPPED)
            for number in range(4):
                worker.candidate(say(0, SKIPPED + number))
            await worker.until(lambda: tried.called)
            worker.request(1, retract())
            await worker.until(lambda: bool(worker.acknowledged[1]))
            assert [*worker.partitions[0].full()] == ["candidates"]
            return worker

    worker = asyncio.run(run())
    assert 0 < len(skipped) < SKIPPED
    assert worker.acknowledged[0] == []


def test_skipped_records_are_decided_on_first(tmp_path: Path, skipped: list[Record]) -> None:
    async def run() -> Worker:
        async with asyncio.timeout(SECONDS), working(tmp_path, at_once) as worker:
            worker.skip(0, SKIPPED)
            for number in range(9):
                worker.candidate(say(0, SKIPPED + number))
            await worker.until(lambda: len(worker.acknowledged[0]) == 9)
            return worker

    worker = asyncio.run(run())
    assert len(skipped) == SKIPPED
    assert ids(worker.brokers.topic[0]) == [*map(str, range(SKIPPED + 9))]
    assert worker.acknowledged[0] == [*range(SKIPPED, SKIPPED + 9)]


def test_who_reads_skipped_records_gives_up_its_partition_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers may be silent for a minute; a rebalance does not wait that long."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def before(_self: Missed, _first: Record) -> AsyncGenerator[list[Record], None]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        yield []

    monkeypatch.setattr(Missed, "before", before)

    async def run() -> Worker:
        worker = Worker(tmp_path, Brokers(at_once))
        worker.assign()
        worker.candidate(say(0, 0))
        await asyncio.wait_for(begun.wait(), SECONDS)
        await asyncio.wait_for(worker.close(), SECONDS)
        return worker

    worker = asyncio.run(run())
    assert ended.is_set()
    assert worker.failures == []
    assert worker.acknowledged[0] == []


def test_requests_do_not_wait_for_the_model_that_candidates_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them may put a policy in force under which these need no model."""
    monkeypatch.setattr(assigned_partition, "TOGETHER", 4)
    monkeypatch.setattr(assigned_partition, "MODEL_PAUSES", (0.01,) * 1000)
    tried = failing(monkeypatch, 10**6, ServiceUnavailable)
    without = load_policy("standard").model_copy(update={"embedder_fails": "store"})
    rules = without.model_dump(mode="json")
    count = 10 * (AHEAD + 2)

    async def run() -> Worker:
        async with asyncio.timeout(SECONDS), working(tmp_path, at_once) as worker:
            for number in range(count):
                worker.candidate(say(0, number))
            await worker.until(lambda: tried.called)
            worker.request(0, PolicyRequest(request_id=str(uuid4()), policy=rules))
            await worker.until(lambda: len(worker.acknowledged[0]) == count + 1)
            return worker

    worker = asyncio.run(run())
    assert ids(worker.brokers.topic[0]) == [*map(str, range(count))]
    assert isinstance(worker.brokers.topic[0][0], PolicySet)


def test_a_request_is_carried_out_after_the_candidates_that_came_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long they are embedded, if the model can be used."""
    begun, go_on = threading.Event(), threading.Event()
    real = StubEngine.embed

    def embed(engine: StubEngine, texts: Sequence[str]) -> Any:
        begun.set()
        assert go_on.wait(SECONDS)
        return real(engine, texts)

    monkeypatch.setattr(StubEngine, "embed", embed)
    everything = RetractRequest(request_id=str(uuid4()), selection=Selection(owner_id=owner_of(0)))

    async def run() -> Worker:
        async with asyncio.timeout(SECONDS), working(tmp_path, at_once) as worker:
            worker.candidate(say(0, 0))
            await worker.until(begun.is_set)
            worker.request(0, everything)
            worker.request(1, retract())
            await worker.until(lambda: bool(worker.acknowledged[1]))
            go_on.set()
            await worker.until(lambda: len(worker.acknowledged[0]) == 2)
            return worker

    worker = asyncio.run(run())
    kinds = [type(event) for event in worker.brokers.topic[0]]
    assert kinds.index(Decided) < kinds.index(Retracted)


def test_nothing_is_published_after_a_commit_in_doubt(tmp_path: Path) -> None:
    """The brokers may have decisions that the replica lacks: they would be made twice."""
    tried: list[int] = []

    async def answering(partition: int, _lines: Lines) -> None:
        tried.append(partition)
        raise TransientError("the answer is lost")

    async def run() -> None:
        async with working(tmp_path, answering) as worker:
            writer, fiber = worker.writers[0], Fiber(worker.deciding)
            for number in range(2):
                record = Record(CANDIDATES, 0, number, orjson.dumps(say(0, number)))
                opened = await fiber.run(writer.open, [record])
                with pytest.raises(TransientError):
                    await fiber.run(writer.close, opened)

    asyncio.run(run())
    assert tried == [0]


def test_a_partition_that_was_full_has_room_again_once_it_has_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assigned_partition, "TOGETHER", 4)
    monkeypatch.setattr(assigned_partition, "MODEL_PAUSES", (0.0,) * 9)
    failing(monkeypatch, 3, ServiceUnavailable)
    count = 10 * (AHEAD + 2)

    async def run() -> Worker:
        async with asyncio.timeout(SECONDS), working(tmp_path, at_once) as worker:
            for number in range(count):
                worker.candidate(say(0, number))
            await worker.until(worker.is_done)
            assert not [*worker.partitions[0].full()]
            return worker

    worker = asyncio.run(run())
    assert ids(worker.brokers.topic[0]) == [*map(str, range(count))]
    assert worker.acknowledged[0] == [*range(count)]
