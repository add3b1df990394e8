"""The expiry of a memory as pages show it, and a person's pin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.candidate import end_of
from palimpsest.server.problems import ProblemError
from palimpsest.streams.core.ledger import Entry, Memory


@dataclass(frozen=True, slots=True)
class Ending:
    """The expiry of a memory or candidate, if it has one, and whether that `is_over`.

    `pin` is the event by which a person keeps it from expiring.
    """

    at: datetime | None
    is_over: bool
    pin: str | None


def ending_of(of: Memory | Entry, now: datetime) -> Ending:
    """The expiry of a memory or a candidate."""
    members = of.members if isinstance(of, Memory) else [of]
    endless = (entry for entry in members if entry.living and entry.expires_at is None)
    pins = [entry.pins[-1] for entry in endless if entry.pins]
    at = of.expires_at
    return Ending(at, at is not None and at <= now, pins[-1].id if pins else None)


def pin(store: Palimpsest, memory_id: str, until: str, actor: str, because: str | None) -> None:
    """Keep a memory until the end of a day in UTC; for ever if `until` is empty."""
    ends = end_of(until) if until else None
    if not isinstance(ends, datetime | None):
        raise ProblemError(422, "invalid", "`until` is a day, such as 2027-01-31, or empty")
    store.pin(memory_id, until=ends, actor=actor, because=because)
