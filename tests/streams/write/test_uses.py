"""An owner's gathered uses are one event a minute, in both runtimes; nothing of them is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.commands import Access
from palimpsest.contracts.events import Accessed, Use
from palimpsest.contracts.identity import candidate_id
from palimpsest.streams.cluster.records import Record
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.intake import RawRow, parse, understand
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import Input
from palimpsest.streams.write.owners import fold_owner
from palimpsest.streams.write.uses import added_up, summed
from tests.streams.cluster.test_offsets import CANDIDATES, Brokers, opened_writer

TEA = candidate_id("ann", "kitchen", "tea")
BOAT = candidate_id("ann", "kitchen", "boat")
MINUTE = timedelta(minutes=1)


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def candidate_row(name: str) -> bytes:
    row = {"owner_id": "ann", "source": "kitchen", "id": name, "text": f"{name} is there"}
    return orjson.dumps(row)


def used(reader: str, at: datetime, **counts: int) -> bytes:
    """What a reader publishes: how often it recalled each."""
    ids = {"tea": TEA, "boat": BOAT}
    uses = [
        {"candidate_id": ids[name], "count": count, "at": at.isoformat()}
        for name, count in counts.items()
    ]
    data = {"owner_id": "ann", "candidate_id": uses[0]["candidate_id"], "uses": uses}
    event = {"specversion": "1.0", "type": "palimpsest.accessed.v1", "source": "recall"}
    return orjson.dumps(event | {"id": reader, "data": data})


class Embedded:
    """A store; whoever writes serves what waits."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.store = Palimpsest.open(folder / "store", policy=load_policy("layered"))
        self.store.reader.clock = clock

    def take(self, *rows: bytes) -> None:
        self.store.writer.submit([Input(row, understand(row)) for row in map(raw, rows)])

    def look(self) -> None:
        self.store.writer.serve_left()

    def recorded(self) -> list[Accessed]:
        found = (one.event for one in self.store.reader.log.of_owner("ann"))
        return [event for event in found if isinstance(event, Accessed)]

    def close(self) -> None:
        self.store.close()


class Cluster:
    """A partition's writer."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._opened = opened_writer(folder, Brokers(), clock)
        self.writer = self._opened.__enter__()
        self._offset = 0

    def take(self, *rows: bytes) -> None:
        records = [Record(CANDIDATES, 0, self._offset + n, row) for n, row in enumerate(rows)]
        self._offset += len(rows)
        self.writer.close(self.writer.open(records))

    def look(self) -> None:
        if self.writer.uses_wait:
            self.writer.record_uses()

    def recorded(self) -> list[Accessed]:
        found = (one.event for one in self.writer.log.of_owner("ann"))
        return [event for event in found if isinstance(event, Accessed)]

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


def raw(row: bytes) -> RawRow:
    return RawRow(row, "test")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=[Embedded, Cluster])
def runtime(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> Iterator[Embedded | Cluster]:
    """A runtime with two memories of Ann's."""
    running = request.param(tmp_path, clock)
    running.take(candidate_row("tea"), candidate_row("boat"))
    yield running
    running.close()


def counts(event: Accessed) -> dict[str, int]:
    return {use.candidate_id: use.count for use in event.data.uses or ()}


def test_what_several_readers_report_is_one_event_a_minute(
    runtime: Embedded | Cluster, clock: Clock
) -> None:
    begun = clock.now
    runtime.take(used("a", begun, tea=1))
    clock.now += MINUTE / 2
    runtime.take(used("b", clock.now, tea=2, boat=1), used("c", clock.now, boat=4))
    runtime.look()
    assert [counts(event) for event in runtime.recorded()] == [{TEA: 1}]
    clock.now = begun + MINUTE
    runtime.look()
    first, second = runtime.recorded()
    assert counts(second) == {TEA: 2, BOAT: 5}
    assert second.time - first.time >= MINUTE
    runtime.look()
    assert len(runtime.recorded()) == 2


def test_a_reader_whose_rhythm_falls_between_is_recorded_all_the_same(
    runtime: Embedded | Cluster, clock: Clock
) -> None:
    """The other one always tells first when a minute is over."""
    for number in range(4):
        runtime.take(used(f"a{number}", clock.now, tea=1))
        clock.now += MINUTE / 2
        runtime.take(used(f"b{number}", clock.now, boat=1))
        clock.now += MINUTE / 2
    runtime.look()
    clock.now += MINUTE
    runtime.look()
    recorded = runtime.recorded()
    assert sum(counts(event).get(BOAT, 0) for event in recorded) == 4
    assert sum(counts(event).get(TEA, 0) for event in recorded) == 4
    apart = [b.time - a.time for a, b in pairwise(recorded)]
    assert min(apart) >= MINUTE


def test_what_comes_again_counts_once_whether_it_waits_or_was_added_up(
    runtime: Embedded | Cluster, clock: Clock
) -> None:
    words = [used(name, clock.now, tea=1) for name in "abc"]
    runtime.take(*words, *words)
    runtime.take(*words)
    clock.now += MINUTE
    runtime.look()
    assert [counts(event) for event in runtime.recorded()] == [{TEA: 1}, {TEA: 2}]
    runtime.take(*words)
    clock.now += MINUTE
    runtime.take(*words)
    runtime.look()
    assert len(runtime.recorded()) == 2


def test_what_is_recorded_already_does_not_wait_when_it_comes_again(
    runtime: Embedded | Cluster, clock: Clock
) -> None:
    word = used("a", clock.now, tea=1)
    runtime.take(word)
    runtime.take(word)
    if isinstance(runtime, Embedded):
        assert Inbox(runtime.store.reader.log).uses() == []
    else:
        assert not runtime.writer.uses_wait
    assert len(runtime.recorded()) == 1


def test_a_single_access_that_a_producer_says_does_not_wait(
    runtime: Embedded | Cluster, clock: Clock
) -> None:
    data = {"owner_id": "ann", "candidate_id": TEA}
    event = {"specversion": "1.0", "type": "palimpsest.accessed.v1", "source": "kitchen"}
    runtime.take(*(orjson.dumps(event | {"id": name, "data": data}) for name in "ab"))
    assert len(runtime.recorded()) == 2


def test_another_owner_does_not_wait(runtime: Embedded | Cluster, clock: Clock) -> None:
    bob = candidate_id("bob", "kitchen", "tea")
    row = orjson.loads(candidate_row("tea")) | {"owner_id": "bob"}
    word = orjson.loads(used("b", clock.now, tea=1))
    use = {"candidate_id": bob, "at": clock.now.isoformat()}
    word["data"] = {"owner_id": "bob", "candidate_id": bob, "uses": [use]}
    runtime.take(used("a", clock.now, tea=1), orjson.dumps(row), orjson.dumps(word))
    found = runtime.store.reader.log if isinstance(runtime, Embedded) else runtime.writer.log
    assert any(isinstance(one.event, Accessed) for one in found.of_owner("bob"))


def test_what_waits_in_a_store_outlives_the_process(tmp_path: Path, clock: Clock) -> None:
    running = Embedded(tmp_path, clock)
    running.take(candidate_row("tea"), used("a", clock.now, tea=1), used("b", clock.now, tea=2))
    running.close()
    clock.now += MINUTE
    running = Embedded(tmp_path, clock)
    running.look()
    assert [counts(event) for event in running.recorded()] == [{TEA: 1}, {TEA: 2}]
    running.close()


@pytest.mark.parametrize("order", [1, -1], ids=["as they were", "the other way round"])
def test_of_uses_that_are_added_up_the_latest_time_counts(clock: Clock, order: int) -> None:
    times = (clock.now, clock.now + MINUTE)
    said = [parse(used(str(at), at, tea=2), source="recall") for at in times[::order]]
    words = [word for word in said if isinstance(word, Access)]
    assert summed(words) == (Use(candidate_id=TEA, count=4, at=clock.now + MINUTE),)


def test_of_reports_that_are_added_up_those_are_left_out_that_are_recorded(
    runtime: Embedded | Cluster, clock: Clock
) -> None:
    rows = [used(name, clock.now, tea=1) for name in "ab"]
    runtime.take(rows[0])
    first, second = (parse(row, source="recall") for row in rows)
    assert isinstance(first, Access)
    assert isinstance(second, Access)
    log = runtime.store.reader.log if isinstance(runtime, Embedded) else runtime.writer.log
    ledger = fold_owner(log, "ann")
    assert added_up([second, first], ledger) == second
    assert added_up([first], ledger) is None


def test_uses_are_recorded_while_a_clock_that_went_back_catches_up(
    runtime: Embedded | Cluster, clock: Clock
) -> None:
    """Else they would wait, more and more of them, until it has."""
    runtime.take(candidate_row("tea"), used("a", clock.now, tea=1))
    clock.now -= timedelta(days=30)
    for number in range(3):
        clock.now += MINUTE
        runtime.take(used(f"later {number}", clock.now, tea=2))
        runtime.look()
    assert [count for event in runtime.recorded() for count in counts_of(event)] == [1, 2, 2, 2]


def counts_of(event: Accessed) -> list[int]:
    return [use.count for use in event.data.uses or ()]
