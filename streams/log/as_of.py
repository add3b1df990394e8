"""Converts "as of" a position or a time to a position of the log."""

from __future__ import annotations

from datetime import UTC, datetime

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.log.log import Log

_OF_OWNER = (
    "SELECT min(position) FROM events"
    " WHERE owner_no = (SELECT owner_no FROM owners WHERE owner_id = ?) AND position > ?"
)

AsOf = int | datetime
"""A position of the log, or a time; a time without a zone is UTC."""


def position_as_of(log: Log, when: AsOf, owner_id: str | None = None) -> int:
    """A position unchanged; for a time, the position of the last event at or before it, or 0.

    With an owner, only that owner's events count, and the answer is exact, because an owner's times
    never go back. Over all owners, writers whose clocks differ may have recorded times out of
    order; the answer is then a position at which the times pass `when`. Raises UsageError if `when`
    is in the future, or neither a position nor a time.
    """
    if isinstance(when, datetime):
        return _position_at(log, in_utc(when), owner_id)
    if isinstance(when, bool) or not isinstance(when, int):
        raise UsageError("`as_of` must be a position of the log (a whole number) or a datetime")
    head = log.head()
    if not 0 <= when <= head:
        raise UsageError(f"there is no position {when} yet: the log goes from 0 to {head}")
    return when


def time_at(log: Log, position: int) -> datetime:
    """The time of the event at a position; before the first one, the earliest possible time."""
    found = next(iter(log.after(position - 1, 1)), None) if position else None
    return found.event.time if found is not None else datetime.min.replace(tzinfo=UTC)


def in_utc(when: datetime) -> datetime:
    """A time in UTC, which is the default zone. Raises UsageError if it is out of range."""
    try:
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{when} must be within the years 1 to 9999, in UTC") from None


def _position_at(log: Log, when: datetime, owner_id: str | None) -> int:
    low, high = 0, log.head()
    last = _first_after(log, high - 1)
    if when > datetime.now(UTC) and (last is None or when > last.event.time):
        raise UsageError(f"{when.isoformat()} is in the future: what holds then is not known yet")
    while low < high:
        middle = (low + high) // 2
        found = _first_after(log, middle, owner_id)
        if found is None or found.event.time > when:
            high = middle
        else:
            low = found.position
    return low


def _first_after(log: Log, position: int, owner_id: str | None = None) -> Recorded | None:
    """The first event after a position, of all owners or one; None if there is none."""
    if owner_id is not None:
        first = log.number(_OF_OWNER, (owner_id, position))
        if not first:
            return None
        position = first - 1
    return next(iter(log.after(position, 1)), None)
