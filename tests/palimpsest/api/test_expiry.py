"""Reads hide an expired memory from its expiry on, and show it before (docs/expiry.md)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest import InvalidInputError, Palimpsest, RefusedError, UsageError
from palimpsest.backends import reader as store_reader
from palimpsest.contracts.requested import name_request
from palimpsest.contracts.requests import Selection
from palimpsest.queries import recall as recalling

BUS, TEA = "the bus is late again", "she drinks green tea"
DAY = timedelta(days=1)
NOUNS = (
    "kettle boat shed harbour violin lantern orchard ladder tunnel blanket compass ferry"
    " garden mirror candle bridge pillow basket hammer saddle anchor button feather magnet"
).split()


class Clock:
    """A clock that is advanced by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock()


@pytest.fixture(name="store")
def _store(tmp_path: Path, clock: Clock) -> Iterator[Palimpsest]:
    with Palimpsest.open(tmp_path / "store", by="person") as made:
        made.reader.clock = clock
        yield made


def say(store: Palimpsest, text: str, **fields: Any) -> Any:
    [outcome] = store.submit([{"owner_id": "ada", "text": text, **fields}])
    return outcome


def seen(store: Palimpsest, **options: Any) -> list[list[str]]:
    """The faces that each read that lists memories returns."""
    listed = store.list("ada", **options)
    assert listed["total"] == len(listed["memories"])
    recalled = store.recall("ada", BUS, k=9, fold=False, **options)
    found = store.find("ada", "bus", k=9, **options)["hits"]
    return [sorted(one["face"] for one in some) for some in (listed["memories"], recalled, found)]


def test_it_is_hidden_from_every_read_from_that_moment_on(store: Palimpsest, clock: Clock) -> None:
    outcome = say(store, BUS, ttl="1d")
    say(store, TEA)
    before = store.position
    assert seen(store) == 3 * [[TEA, BUS]]
    clock.now += DAY
    assert seen(store) == 3 * [[TEA]]
    assert seen(store, show_expired=True) == 3 * [[TEA, BUS]]
    assert store.position == before  # nobody deleted it
    then = store.recall("ada", BUS, k=9, as_of=before)
    assert [one["face"] for one in then] == [BUS, TEA]
    shown = store.get(outcome.memory_id)
    assert (shown["state"], shown["expires_at"]) == ("expired", "2026-01-02T00:00:00.002000+00:00")
    assert store.history(outcome.memory_id)["state"] == "expired"


def test_as_of_a_time_between_it_and_now_it_is_hidden(store: Palimpsest, clock: Clock) -> None:
    say(store, BUS, ttl="1d")
    clock.now += 3 * DAY
    for days, faces in ((0.5, [BUS]), (1.5, [])):
        then = clock.now - (3 - days) * DAY
        assert [one["face"] for one in store.recall("ada", BUS, as_of=then)] == faces


def test_a_large_owner_is_recalled_from_lance_as_from_the_ledger(
    store: Palimpsest, clock: Clock
) -> None:
    for number, (one, other) in enumerate(zip(NOUNS[::2], NOUNS[1::2], strict=True)):
        say(store, f"bus {one} {other}", ttl=f"{number + 1}h")
    clock.now += timedelta(hours=6.5)
    with (
        pytest.MonkeyPatch.context() as patch,
        Palimpsest.open(store.folder, create=False, by="person") as reader,
    ):
        reader.reader.clock = clock
        patch.setattr(store_reader, "FOLDED_EVENTS", 0)
        reader.wait_for(store.position)
        for options in ({"k": 5}, {"k": 20}, {"k": 20, "show_expired": True}):
            asked: Any = options
            here = store.recall("ada", "bus", fold=False, **asked)
            with patch.context() as inner:
                inner.setattr(recalling, "Recollection", None)  # the ledger is not asked
                assert here == reader.recall("ada", "bus", fold=False, **asked)
            assert len(here) == min(asked["k"], 12 if "show_expired" in asked else 6)


def test_the_nearest_are_the_nearest_of_those_that_have_not_expired(
    store: Palimpsest, clock: Clock
) -> None:
    for number in range(8):
        say(store, f"{BUS} {number}", ttl="1h")
    clock.now += DAY
    outcome = say(store, f"{BUS} today")
    assert outcome.decision == "stored"
    [said] = store.sql("SELECT neighbours FROM decisions ORDER BY position DESC LIMIT 1")
    assert not said["neighbours"]
    later = say(store, f"{BUS} today ok")
    [said] = store.sql("SELECT neighbours FROM decisions ORDER BY position DESC LIMIT 1")
    assert [one["candidate_id"] for one in said["neighbours"]] == [outcome.candidate_id]
    assert later.decision != "stored"


def test_a_repeat_of_what_has_expired_begins_anew(store: Palimpsest, clock: Clock) -> None:
    old = say(store, BUS, ttl="1d")
    clock.now += DAY
    new = say(store, BUS)
    assert (new.decision, new.memory_id) == ("stored", new.candidate_id)
    assert seen(store) == 3 * [[BUS]]
    assert seen(store, show_expired=True) == 3 * [[BUS, BUS]]
    assert say(store, BUS).memory_id == new.memory_id
    with pytest.raises(RefusedError, match="said again since"):
        store.pin(old.memory_id)


def test_a_pin_is_a_persons_word_and_undo_takes_it_back(store: Palimpsest, clock: Clock) -> None:
    old = say(store, BUS, ttl="1d")
    clock.now += 2 * DAY
    pinned = store.pin(old.memory_id, because="she asked for it")
    assert pinned["expires_at"] is None
    assert seen(store) == 3 * [[BUS]]
    assert "pinned" in store.history(old.memory_id)["events"][-1]["did"]
    store.undo(pinned["event_id"])
    assert seen(store) == 3 * [[]]
    with pytest.raises(RefusedError, match="set again since"):
        store.undo(pinned["event_id"])
    store.redo(pinned["event_id"])
    assert seen(store) == 3 * [[BUS]]


def test_what_a_person_decided_is_not_for_an_agent_to_move(store: Palimpsest, clock: Clock) -> None:
    old, until = say(store, BUS, ttl="1d"), clock.now + 9 * DAY
    pinned = store.pin(old.memory_id, until=until)
    for another in (until - DAY, until + DAY):
        with pytest.raises(RefusedError, match="a person has decided when it expires"):
            store.renew(old.memory_id, another)
    assert store.get(old.memory_id)["expires_at"] == pinned["expires_at"]
    store.undo(pinned["event_id"])
    assert store.renew(old.memory_id, until)["expires_at"] == pinned["expires_at"]


def test_a_persons_expiry_stands_after_a_later_one_is_taken_back(
    store: Palimpsest, clock: Clock
) -> None:
    old, until = say(store, BUS, ttl="1d"), clock.now + 9 * DAY
    store.pin(old.memory_id, until=until)
    store.undo(store.pin(old.memory_id)["event_id"])
    with pytest.raises(RefusedError, match="a person has decided when it expires"):
        store.renew(old.memory_id, until + DAY)


def test_a_hidden_wording_is_not_renewed_because_the_memory_would_not_last_longer(
    store: Palimpsest, clock: Clock
) -> None:
    old, new = say(store, "Ada has a big dog.", ttl="1d"), say(store, "Ada has a large dog.", ttl=9)
    assert new.memory_id == old.memory_id
    store.retract(Selection(candidate_id=old.candidate_id))
    with pytest.raises(RefusedError, match=rf"not_living.*renew {new.candidate_id}"):
        store.renew(old.memory_id, clock.now + 7 * DAY)
    store.renew(new.candidate_id, clock.now + 7 * DAY)
    store.forget(old.memory_id)
    with pytest.raises(RefusedError, match=r"not_living.*restore"):
        store.renew(new.candidate_id, clock.now + 8 * DAY)


def test_nothing_is_kept_until_a_time_that_has_passed(store: Palimpsest, clock: Clock) -> None:
    old = say(store, BUS, ttl="1d")
    before, passed = store.position, clock.now
    for keep in (store.renew, lambda one, until: store.pin(one, until=until)):
        with pytest.raises(UsageError, match=r"has passed.*: give a later time"):
            keep(old.memory_id, passed)
    assert (store.position, seen(store)) == (before, 3 * [[BUS]])


def test_an_update_keeps_when_a_memory_expires(store: Palimpsest, clock: Clock) -> None:
    old = say(store, BUS, ttl="1d")
    clock.now += DAY / 2
    store.update(old.memory_id, "the bus is on time")
    clock.now += DAY
    assert seen(store) == 3 * [[]]
    with pytest.raises(RefusedError, match="has expired: pin it first"):
        store.update(old.memory_id, "the bus was cancelled")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"ttl": "soon"}, "ttl: must be a number with a unit, such as 60s"),
        ({"ttl": -1}, "ttl: should be greater than 0"),
        ({"ttl": True}, "ttl: "),
        ({"expires_at": 1700000000}, "expires_at: must be an ISO 8601 time, as a string"),
        ({"ttl": "1d", "expires_at": "2027-01-01"}, "give one of expires_at, expiration_date"),
        ({"ttl": "1d", "expiration_date": "2027-01-01"}, "give one of expires_at, expiration_date"),
        (
            {"expires_at": "2027-01-01", "expiration_date": "2028-01-01"},
            "give one of expires_at, expiration_date and ttl",
        ),
        ({"expiration_date": "soon"}, "expiration_date must be an ISO 8601 time"),
        ({"expiration_date": 20270101}, "expiration_date must be an ISO 8601 time"),
        ({"created_at": "soon"}, "created_at must be an ISO 8601 time"),
    ],
)
def test_what_is_no_expiry_is_refused(store: Palimpsest, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        say(store, BUS, **fields)


def test_the_store_verifies_and_rebuilds(store: Palimpsest, clock: Clock) -> None:
    say(store, BUS, ttl="1d")
    say(store, f"{BUS} {BUS}", ttl="2d")
    clock.now += DAY
    say(store, BUS)
    store.pin(say(store, TEA, expiration_date="2026-03-01").memory_id)
    assert store.verify()["differences"] == 0
    before = store.sql("SELECT * FROM memories ORDER BY memory_id")
    store.rebuild()
    assert store.sql("SELECT * FROM memories ORDER BY memory_id") == before
    assert store.verify()["differences"] == 0


def test_a_pin_delivered_again_is_answered_as_it_was_whoever_speaks_by_then(
    memories: Palimpsest,
) -> None:
    memories.submit([{"owner_id": "ada", "text": "Ada plays chess.", "ttl": "9d"}])
    chess = memories.list("ada")["memories"][0]["memory_id"]
    name = str(uuid4())
    with name_request(name):
        first = memories.pin(chess)
    memories.update(chess, "Ada plays go.")
    position = memories.position
    with name_request(name):
        assert memories.pin(chess) == first
    assert memories.position == position
    with name_request(name), pytest.raises(RefusedError, match="id_conflict"):
        memories.pin(chess, until="2099-01-01")


@pytest.mark.parametrize("call", ["pin", "renew"])
def test_a_new_expiry_delivered_again_after_it_is_answered_as_it_was(
    store: Palimpsest, clock: Clock, call: str
) -> None:
    bus, until, name = say(store, BUS, ttl="9d").memory_id, clock.now + DAY, str(uuid4())
    ask = {"pin": partial(store.pin, bus, until=until), "renew": partial(store.renew, bus, until)}
    with name_request(name):
        first = ask[call]()
    clock.now += 2 * DAY
    position = store.position
    with name_request(name):
        assert ask[call]() == first
    assert store.position == position
    with pytest.raises(UsageError, match="has passed"):
        ask[call]()
