"""Makes rows from the log, owner by owner, so that only one ledger is in memory at a time."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from palimpsest.contracts.events import PolicySet
from palimpsest.projections.base.changes import RowChanges
from palimpsest.projections.base.rows import Rows
from palimpsest.projections.base.source import NOBODY, EventSource, Progress, no_progress
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.garbage import collector_at_rest

ROWS_AT_ONCE = 6_000
"""Rows per batch: 20,000 exceed the processor's caches, and take Arrow a quarter longer."""


def touched_owners(source: EventSource, start: int, end: int) -> list[str]:
    """The owners with events after `start`, up to `end`; possibly more if `start` is 0."""
    if start == 0:
        return [NOBODY, *(owner for owner in source.owners() if owner != NOBODY)]
    return source.owners_since(start, upto=end)


def folded(source: EventSource, start: int, end: int) -> Generator[Rows, None, None]:
    """The rows changed by the events after `start`, as they are at `end`; many owners per batch."""
    owners = touched_owners(source, start, end)
    return folded_owners(source, owners, start, end, no_progress)


def folded_owners(
    source: EventSource, owners: Sequence[str], start: int, end: int, progress: Progress
) -> Generator[Rows, None, None]:
    """Like `folded`, for some owners."""
    batch = Rows(end)
    with collector_at_rest():
        for number, owner_id in enumerate(owners):
            rows = owner_rows(source, owner_id, start, end)
            if rows is not None:
                batch.add(rows)
            if len(batch) >= ROWS_AT_ONCE:
                batch.upto = end
                yield batch
                batch = Rows(end)
                progress("folding the log", number / len(owners))
    batch.upto = end
    yield batch
    progress("folding the log", 1.0)


def owner_rows(source: EventSource, owner_id: str, start: int, end: int) -> Rows | None:
    """The rows changed by an owner's events after `start`, as they are at `end`; None if none."""
    ledger, changes = Ledger(owner_id), RowChanges()
    for recorded in source.of_owner(owner_id, upto=end):
        touched = evolve(ledger, recorded.event)
        if recorded.position <= start:
            continue
        if owner_id != NOBODY and isinstance(recorded.event, PolicySet):
            if recorded.event.data.former is not None:
                changes.renew_vectors(recorded.position, ledger)
        else:
            changes.add(recorded.position, recorded.event, touched)
    rows = changes.take()
    ledger.dissolve()
    return rows
