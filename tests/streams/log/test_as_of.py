"""As of a position or a time: the last event that counts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Accessed, AccessedData
from palimpsest.contracts.identity import candidate_id, event_id
from palimpsest.streams.log.as_of import position_as_of, time_at
from palimpsest.streams.log.log import Log

START = datetime(2026, 1, 2, tzinfo=UTC)
EAST = timezone(timedelta(hours=5))


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.create(tmp_path / "log.sqlite") as made:
        yield made


def write(log: Log, *said: tuple[str, float]) -> None:
    """Events of owners at minutes, in this order."""
    with log.transaction():
        log.append([_event(number, owner, minute) for number, (owner, minute) in enumerate(said)])


def _event(number: int, owner: str, minute: float) -> Accessed:
    candidate = candidate_id(owner, "test", str(number))
    return Accessed(
        id=event_id(candidate, "accessed"),
        subject=candidate,
        time=at(minute),
        partitionkey=owner,
        data=AccessedData(candidate_id=candidate),
    )


def test_a_time_is_the_last_event_at_or_before_it(log: Log) -> None:
    write(log, ("ann", 0), ("ann", 1), ("bob", 1), ("ann", 2), ("ann", 2))
    minutes = (-1, 0, 0.5, 1, 1.9, 2, 60)
    assert [position_as_of(log, at(m)) for m in minutes] == [0, 1, 1, 3, 3, 5, 5]
    assert [position_as_of(log, at(m), "ann") for m in minutes] == [0, 1, 1, 2, 2, 5, 5]
    assert [position_as_of(log, at(m), "bob") for m in minutes] == [0, 0, 0, 3, 3, 3, 3]
    assert position_as_of(log, at(1), "nobody") == 0


def test_the_time_at_a_position_is_that_of_its_event(log: Log) -> None:
    write(log, ("ann", 0), ("bob", 1), ("ann", 2))
    assert [time_at(log, position) for position in (1, 2, 3)] == [at(0), at(1), at(2)]
    assert time_at(log, 0) < at(-(10**6))


def test_of_one_owner_it_is_exact_where_clocks_disagree(log: Log) -> None:
    """Two workers' partitions in one log; each owner's times go forward."""
    said = [("ann", m) for m in range(40)] + [("bob", m) for m in range(40)]
    order = sorted(range(80), key=lambda n: (n * 37) % 40 // 8 + said[n][1])
    mixed = [said[n] for n in order]
    write(log, *mixed)
    for minute in range(40):
        for owner in ("ann", "bob"):
            assert position_as_of(log, at(minute), owner) == mixed.index((owner, minute)) + 1


def test_a_time_is_of_any_zone_or_utc(log: Log) -> None:
    write(log, ("ann", 0), ("ann", 60))
    assert position_as_of(log, at(60).astimezone(EAST)) == 2
    assert position_as_of(log, at(59).replace(tzinfo=None)) == 1


def test_a_position_is_itself(log: Log) -> None:
    write(log, ("ann", 0), ("ann", 1))
    assert [position_as_of(log, position) for position in (0, 1, 2)] == [0, 1, 2]


@pytest.mark.parametrize(
    "when",
    [
        3,
        -1,
        True,
        "2026-01-01",
        1.5,
        None,
        datetime(1, 1, 1, tzinfo=EAST),
        datetime.max.replace(tzinfo=UTC),
    ],
    ids=str,
)
def test_what_is_in_the_future_or_no_moment_is_refused(log: Log, when: Any) -> None:
    write(log, ("ann", 0), ("ann", 1))
    with pytest.raises(UsageError, match=r"position|future|within the years"):
        position_as_of(log, when)


def test_of_an_empty_log_nothing_is_known_after_now(log: Log) -> None:
    assert position_as_of(log, START) == 0
    with pytest.raises(UsageError, match="future"):
        position_as_of(log, datetime.now(UTC) + timedelta(days=1))


def test_a_clock_ahead_of_this_one_is_believed(log: Log) -> None:
    """Another machine wrote it: the time of the last event is never in the future."""
    ahead = datetime.now(UTC) + timedelta(days=1) - START
    write(log, ("ann", 0), ("ann", ahead / timedelta(minutes=1)))
    last = log.after(1, 1)[0].event.time
    assert position_as_of(log, last) == 2
    with pytest.raises(UsageError, match="future"):
        position_as_of(log, last + timedelta(seconds=1))
