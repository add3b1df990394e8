"""What waits for the judge follows from the events, in whatever way they came into the log."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.events import AnyEvent
from contracts.wire import decode, encode
from streams.cluster.copy import Copy
from streams.core.evolve import evolve
from streams.core.ledger import Ledger
from streams.embedded.log import Log
from streams.embedded.verifications import Waiting
from tests.laws.histories import ASKING, Act, Told, acts, questions, tell

stories = st.one_of(questions, st.lists(acts(), min_size=15, max_size=30))
few = settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])


def waits(ledger: Ledger) -> set[str]:
    """Pending candidates about which nobody has said anything that is kept."""
    kept = {one.candidate_id for one in ledger.kept}
    return {entry.id for entry in ledger.entries.values() if entry.pending} - kept


def events_of(told: Told) -> list[AnyEvent]:
    return [event for _, events in told.steps for event in events]


def appended(path: Path, events: list[AnyEvent]) -> Log:
    log = Log.create(path)
    for start in range(0, len(events), 3):
        with log.transaction():
            log.append(events[start : start + 3])
    return log


def imported(path: Path, events: list[AnyEvent]) -> Log:
    log = Log.create(path)
    log.import_lines(encode(event) + b"\n" for event in events)
    return log


def followed(path: Path, events: list[AnyEvent]) -> Log:
    """As a store that follows a cluster, or a worker's copy, takes them."""
    log = Copy.create(path)
    with log.transaction():
        log.take_over(log.new_events([encode(event) for event in events]))
    return log


def of_version_1(path: Path, events: list[AnyEvent]) -> Log:
    """A log from before there was a queue, opened by this version."""
    appended(path, events).close()
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE verifications")
        database.execute("PRAGMA user_version=1")
    database.close()
    return Log.open(path)


@contextmanager
def made(make: Callable[[Path, list[AnyEvent]], Log], events: list[AnyEvent]) -> Iterator[Log]:
    with TemporaryDirectory() as folder, make(Path(folder) / "log.sqlite", events) as log:
        yield log


@pytest.mark.parametrize("make", [appended, imported, followed, of_version_1])
@few
@given(story=stories)
def test_it_is_what_the_ledger_says(
    make: Callable[[Path, list[AnyEvent]], Log], story: list[Act]
) -> None:
    told = tell(ASKING, story)
    ledger = Ledger(told.world.ledger.owner_id)
    events = [decode(encode(event)) for event in events_of(told)]
    for event in events:
        evolve(ledger, event)
    with made(make, events) as log:
        found = log.verifications.waiting(10**6)
        assert {one.subject for one in found} == waits(ledger)
        assert {(one.kind, one.owner_id) for one in found} <= {("settle", ledger.owner_id)}
        places = [ledger.entries[one.subject].place for one in found]
        assert places == sorted(places)
        assert log.verifications.count() == len(found)


def test_it_is_read_in_parts(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log.sqlite") as log:
        with log.transaction():
            log.execute("INSERT INTO owners (owner_no, owner_id) VALUES (1, 'ada')")
            for number in range(7):
                log.verifications.add("settle", f"c{number}", 1, number // 3 + 1)
            log.verifications.add("compose", "d", 1, 2)
        found: list[Waiting] = []
        while some := log.verifications.waiting(2, found[-1] if found else None):
            found += some
        assert found == log.verifications.waiting(100)
        assert len(found) == 8


def test_a_failed_transaction_leaves_nothing_waiting(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log.sqlite") as log:
        with pytest.raises(RuntimeError, match="inside a transaction"):
            log.verifications.add("settle", "c", 1, 1)
        assert log.verifications.count() == 0
