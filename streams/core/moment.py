"""When a candidate happened, which is seldom when it was recorded (design section 2)."""

from __future__ import annotations

from datetime import datetime

from streams.core.ledger import Entry


def moment(entry: Entry) -> datetime:
    """The producer's `occurred_at`, capped at the time of recording; without one, that time.

    Nothing happens after it was recorded, so a later `occurred_at` is a producer's wrong clock.
    """
    occurred = entry.fields.occurred_at
    return entry.decided_at if occurred is None else min(occurred, entry.decided_at)


def by_moment(entry: Entry) -> tuple[datetime, int]:
    """The key that sorts oldest to newest: by moment, ties by arrival."""
    return moment(entry), entry.place
