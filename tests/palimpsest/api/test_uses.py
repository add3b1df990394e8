"""Policies that decay memories: recall leaves out faded ones, and keeps the others fresh."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.backends import access_log as uses
from palimpsest.backends import reader as store_reader
from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.contracts.events import Accessed
from palimpsest.contracts.policy import Decay, Policy, Recall
from palimpsest.projections.recall import from_ledger as recalling
from palimpsest.streams.embedded import inbox
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.log import database
from palimpsest.streams.policies import load_policy

FADING = Decay(field="confidence", rate=0.01, after_days=1, floor=0.05, since="access")
RULES = load_policy("standard").model_copy(
    update={"decay": FADING, "recall": Recall(min_confidence=0.3, accessed=True)}
)
UNTOUCHED = RULES.model_copy(update={"recall": Recall(min_confidence=0.3)})
"""A policy under which recall keeps nothing fresh."""
DAY = timedelta(days=1)


class Clock:
    """A clock that is advanced by hand; it begins long ago, so that all as-of times are past."""

    def __init__(self) -> None:
        self.now = datetime.fromisoformat("2025-01-01T00:00:00Z")

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def faded(tmp_path: Path, clock: Clock) -> Iterator[Palimpsest]:
    with opened(tmp_path, clock) as store:
        yield store


def opened(folder: Path, clock: Clock, policy: Policy = RULES) -> Palimpsest:
    store = Palimpsest.open(folder / "store", policy=policy)
    store.reader.clock = clock
    return store


def say(store: Palimpsest, text: str, **fields: Any) -> str:
    [outcome] = store.submit({"owner_id": "ann", "text": text} | fields)
    return str(outcome.candidate_id)


def faces(store: Palimpsest, **words: Any) -> list[str]:
    return [found["face"] for found in store.recall("ann", "tea", **words)]


def recorded(store: Palimpsest) -> list[Accessed]:
    found = (one.event for one in store.reader.log.of_owner("ann"))
    return [event for event in found if isinstance(event, Accessed)]


def test_all_that_shows_a_memory_has_the_decayed_confidence(
    faded: Palimpsest, clock: Clock
) -> None:
    tea = say(faded, "green tea", confidence=0.9)
    clock.now += 7 * DAY
    [found] = faded.recall("ann", "tea")
    shown = faded.show(tea)
    assert found["confidence"] == shown["confidence"] == 0.8389
    [listed] = faded.list("ann")["memories"]
    assert listed["confidence"] == faded.get(tea)["confidence"] == 0.8389
    assert (found["importance"], shown["importance"]) == (None, None)
    assert shown["last_accessed"] is None


def test_recall_leaves_out_what_is_under_the_least_confidence(
    faded: Palimpsest, clock: Clock
) -> None:
    faded.set_policy(UNTOUCHED)
    say(faded, "green tea", confidence=0.9)
    say(faded, "tea in the shed", confidence=0.5)
    say(faded, "tea by the boat")
    clock.now += 51 * DAY
    assert faces(faded) == ["green tea", "tea by the boat"], "nobody's confidence is not too low"
    assert faces(faded, min_confidence=0.6) == ["tea by the boat"]
    assert len(faces(faded, min_confidence=0.0)) == 3
    assert faces(faded, min_confidence=0.0, k=1) == ["green tea"]
    clock.now += 58 * DAY
    assert "green tea" in faces(faded), "until 109 days have passed, not 93"
    clock.now += DAY
    assert "green tea" not in faces(faded)


def test_the_least_confidence_is_asked_for_under_any_policy(memories: Palimpsest) -> None:
    say(memories, "green tea", confidence=0.9)
    say(memories, "tea in the shed", confidence=0.5)
    assert faces(memories, min_confidence=0.6) == ["green tea"]
    assert faces(memories, min_confidence=0.9) == ["green tea"], "it is just enough"
    assert "confidence" not in memories.recall("ann", "tea")[0]


def test_a_large_owner_is_weighed_too(
    faded: Palimpsest, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(store_reader, "FOLDED_EVENTS", 0)
    faded.set_policy(UNTOUCHED)
    say(faded, "green tea", confidence=0.9)
    clock.now += 110 * DAY
    with opened(tmp_path, clock) as reader:
        reader.wait_for(faded.position)
        assert faces(reader, min_confidence=0.0) == ["green tea"]
        assert faces(faded) == faces(reader) == []


def test_as_of_a_time_it_is_as_confident_as_it_was_then(faded: Palimpsest, clock: Clock) -> None:
    tea = say(faded, "green tea", confidence=0.9)
    said = faded.position
    week = clock.now + 7 * DAY
    clock.now += 200 * DAY
    say(faded, "a boat")
    assert faces(faded, k=1) == ["a boat"]
    for zone in (week, week.replace(tzinfo=None)):
        [found] = faded.recall("ann", "tea", as_of=zone)
        assert found["confidence"] == faded.show(tea, as_of=zone)["confidence"] == 0.8389
    assert faded.recall("ann", "tea", as_of=said)[0]["confidence"] == 0.9


def test_as_of_a_time_the_policy_of_that_time_decays(faded: Palimpsest, clock: Clock) -> None:
    say(faded, "green tea", confidence=0.9)
    clock.now += 7 * DAY
    faded.set_policy(RULES.model_copy(update={"decay": None}))
    before = clock.now - timedelta(seconds=1)
    clock.now += DAY
    assert faded.recall("ann", "tea")[0]["confidence"] == 0.9
    assert faded.recall("ann", "tea", as_of=clock.now)[0]["confidence"] == 0.9
    assert faded.recall("ann", "tea", as_of=before)[0]["confidence"] == 0.8389


def test_what_is_recalled_is_recorded_once_a_minute(faded: Palimpsest, clock: Clock) -> None:
    tea, boat = say(faded, "green tea"), say(faded, "a boat")
    clock.now += DAY
    faded.recall("ann", "tea", k=1)
    clock.now += timedelta(seconds=10)
    faded.recall("ann", "tea", k=2)
    assert recorded(faded) == [], "the answer does not wait for it"
    faded._uses.record()
    [event] = recorded(faded)
    assert event.data.uses is not None
    assert [(use.candidate_id, use.count) for use in event.data.uses] == [(tea, 2), (boat, 1)]
    assert faded.show(tea)["accesses"] == 2
    clock.now += timedelta(seconds=59)
    faded.recall("ann", "tea", k=1)
    faded._uses.record()
    assert len(recorded(faded)) == 1, "not within a minute"
    clock.now += timedelta(seconds=1)
    say(faded, "a kettle")
    assert len(recorded(faded)) == 2, "whoever writes next records it"
    assert faded.show(tea)["accesses"] == 3
    assert faded.show(tea)["last_accessed"] == (clock.now - timedelta(seconds=1)).isoformat()


def test_it_is_recorded_by_itself_while_nobody_calls(
    faded: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uses, "APART_SECONDS", 0.01)
    say(faded, "green tea")
    faded.recall("ann", "tea")
    for _ in range(1_000):
        with faded.turn.lock:
            if recorded(faded):
                break
        time.sleep(0.01)
    assert len(recorded(faded)) == 1


def test_after_a_minute_of_uses_is_recorded_the_next_use_begins_another(
    faded: Palimpsest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Callable[[], None]] = []

    class Minute(threading.Timer):
        def start(self) -> None:
            begun.append(self.function)

    monkeypatch.setattr(uses, "Timer", Minute)
    say(faded, "green tea")
    for minutes in (1, 2):
        clock.now += DAY
        faded.recall("ann", "tea")
        faded.recall("ann", "tea")
        assert len(begun) == minutes
        begun[-1]()
        assert len(recorded(faded)) == minutes


def test_a_store_that_cannot_be_written_to_says_so_and_goes_on(
    faded: Palimpsest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    say(faded, "green tea")
    faded.recall("ann", "tea")

    def full(_owner_id: str, _said: bytes) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(faded.writer, "leave_uses", full)
        faded._uses.record()
    assert "the disk is full" in caplog.text
    assert faces(faded) == ["green tea"]
    faded._uses.record()
    [event] = recorded(faded)
    assert event.data.uses is not None
    assert event.data.uses[0].count == 2, "nothing is lost"


def test_on_a_read_only_disk_nothing_is_gathered_that_could_not_be_left(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path, clock) as store:
        say(store, "green tea")
    monkeypatch.setattr(database, "_sealed", lambda _: True)
    with Palimpsest.open(tmp_path / "store", create=False) as sealed:
        sealed.reader.clock = clock
        assert faces(sealed) == ["green tea"]
    assert caplog.messages == []


def test_a_reader_does_not_fail_for_what_cannot_be_left(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nobody(_owner_id: str, _said: bytes) -> None:
        raise TransientError("no broker answers")

    with opened(tmp_path, clock) as store:
        say(store, "green tea")
        assert faces(store) == ["green tea"]
        monkeypatch.setattr(store.writer, "leave_uses", nobody)
    assert "no broker answers" in caplog.text


def test_what_is_recalled_stays_fresh(faded: Palimpsest, clock: Clock) -> None:
    say(faded, "green tea", confidence=0.9)
    clock.now += 100 * DAY
    assert faces(faded) == ["green tea"]
    faded._uses.record()
    clock.now += 100 * DAY
    assert faces(faded) == ["green tea"]


def test_a_use_counts_before_it_is_recorded(faded: Palimpsest, clock: Clock) -> None:
    say(faded, "green tea", confidence=0.9)
    for _ in range(3):
        clock.now += 100 * DAY
        assert faces(faded) == ["green tea"]
    assert recorded(faded) == []


def test_what_processes_recall_that_end_at_once_stays_fresh(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as store:
        say(store, "green tea", confidence=0.9)
    for _ in range(3):
        clock.now += 100 * DAY
        with opened(tmp_path, clock) as reader:
            assert faces(reader) == ["green tea"]
    with opened(tmp_path, clock) as reader:
        assert recorded(reader) == []
        before = clock.now - 150 * DAY
        assert faces(reader, as_of=before) == [], "as of a time, what is recorded counts"


def test_a_process_that_recalls_takes_over_what_another_left_a_minute_ago(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, clock) as store:
        say(store, "green tea")
    with opened(tmp_path, clock) as reader:
        reader.recall("ann", "tea")
    with opened(tmp_path, clock) as reader:
        reader.recall("ann", "tea")
    with opened(tmp_path, clock) as reader:
        assert recorded(reader) == [], "a minute has not passed"
        monkeypatch.setattr(inbox, "APART", timedelta(0))
        reader.recall("ann", "tea")
    with opened(tmp_path, clock) as reader:
        [event] = recorded(reader)
        assert [use.count for use in event.data.uses or ()] == [3]
        assert Inbox(reader.reader.log).uses() == []


def test_the_first_query_after_a_recall_shows_the_access(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as store:
        say(store, "green tea")
    with opened(tmp_path, clock) as reader:
        reader.recall("ann", "tea")
    with opened(tmp_path, clock) as analyst:
        assert analyst.sql("SELECT accesses FROM memories") == [{"accesses": 1}]


def test_what_was_recalled_as_of_a_time_was_not_used(faded: Palimpsest, clock: Clock) -> None:
    say(faded, "green tea")
    clock.now += DAY
    faded.recall("ann", "tea", as_of=clock.now)
    faded._uses.record()
    say(faded, "a boat")
    assert recorded(faded) == []


def test_only_where_the_policy_asks_for_it(tmp_path: Path, clock: Clock) -> None:
    silent = RULES.model_copy(update={"recall": Recall()})
    with opened(tmp_path, clock, silent) as store:
        say(store, "green tea")
        store.recall("ann", "tea")
    with opened(tmp_path, clock) as store:
        say(store, "a boat")
        assert recorded(store) == []


def test_processes_that_only_recall_leave_one_event(tmp_path: Path, clock: Clock) -> None:
    """Each ends within its minute; the next process to write records the uses of all of them."""
    with opened(tmp_path, clock) as store:
        tea = say(store, "green tea")
    for _ in range(3):
        clock.now += timedelta(seconds=5)
        with opened(tmp_path, clock) as reader:
            reader.recall("ann", "tea")
    last = clock.now
    clock.now += DAY
    with opened(tmp_path, clock) as store:
        say(store, "a boat")
        [event] = recorded(store)
        assert event.data.uses is not None
        [use] = event.data.uses
        assert (use.candidate_id, use.count, use.at) == (tea, 3, last)
        assert Inbox(store.reader.log).uses() == []


def test_recall_needs_no_lock_to_note_a_use(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as store:
        say(store, "green tea")
    with opened(tmp_path, clock) as reader, WriterLock(tmp_path / "store"):
        assert faces(reader) == ["green tea"]
        reader._uses.record()
        assert recorded(reader) == []
        assert len(Inbox(reader.reader.log).uses()) == 1


def test_a_store_that_was_closed_records_nothing_more(tmp_path: Path, clock: Clock) -> None:
    with opened(tmp_path, clock) as store:
        say(store, "green tea")
        store.recall("ann", "tea")
        assert recorded(store) == []
    store._uses.record()  # the timer that was already running
    with opened(tmp_path, clock) as again:
        again.writer.serve_left()
        [once] = recorded(again)
        assert [use.count for use in once.data.uses or ()] == [1]
