"""Folds events about one candidate: whether it lives, its use, its vector, its erasure."""

from __future__ import annotations

from palimpsest.contracts.events import Accessed, Embedded, Erased, Restored, Retracted, Use
from palimpsest.contracts.identity import event_id
from palimpsest.streams.core.indexes import (
    index_face,
    index_row,
    keep_forgotten,
    keep_unembedded,
)
from palimpsest.streams.core.ledger import Distinct, Forgetting, Ledger, Retraction
from palimpsest.streams.core.models import take_vector
from palimpsest.streams.core.touched import Touched


def fold_retracted(ledger: Ledger, event: Retracted, touched: Touched) -> None:
    """Mark a candidate as no longer living, and note whether it is forgotten."""
    data = event.data
    ledger.took.setdefault(data.cause or event.id, []).append(data.candidate_id)
    if data.again is not None:
        ledger.entries[data.candidate_id].forgotten = Forgetting(
            cause=data.cause or event.id,
            again=data.again,
            earlier=data.earlier is not None,
            at=event.time,
            order=ledger.seen,
        )
        if data.again != "allow":
            keep_forgotten(ledger, ledger.entries[data.candidate_id])
    else:
        ledger.retractions[data.candidate_id] = Retraction(data.cause, ledger.seen)
    set_living(ledger, data.candidate_id, touched, living=False)


def fold_restored(ledger: Ledger, event: Restored, touched: Touched) -> None:
    """Mark a candidate as living again."""
    ledger.entries[event.data.candidate_id].forgotten = None
    ledger.retractions.pop(event.data.candidate_id, None)
    set_living(ledger, event.data.candidate_id, touched, living=True)


def set_living(ledger: Ledger, candidate_id: str, touched: Touched, *, living: bool) -> None:
    """Mark a candidate as living, or not."""
    entry = ledger.entries[candidate_id]
    entry.living = living
    index_row(ledger, entry)
    entry.memory.refold()
    touched.stirred.append(entry)
    touched.entries[entry.id] = entry
    index_face(ledger, entry.memory, touched)


def fold_accessed(ledger: Ledger, event: Accessed, touched: Touched) -> None:
    """Count uses, and note the commands whose uses were added up in this event as carried out."""
    data = event.data
    if data.uses is not None:
        ledger.uses_recorded = event.time
    ledger.events.update(event_id(command_id, "0") for command_id in data.others or ())
    for use in data.uses or (Use(candidate_id=data.candidate_id, at=event.time),):
        entry = ledger.entries[use.candidate_id]
        entry.accesses += use.count
        entry.last_accessed = max(use.at, entry.last_accessed or use.at)
        touched.memory(entry.memory)


def fold_embedded(ledger: Ledger, event: Embedded, touched: Touched) -> None:
    """Add a vector that came later or is of another model."""
    data = event.data
    entry = ledger.entries[data.candidate_id]
    distinct = embedded_text(ledger, data.candidate_id, data.text_id)
    before = distinct.vector
    take_vector(distinct, data.vector, ahead=bool(data.ahead))
    if distinct.vector is before:
        return  # kept beside the vector in force; nothing reads it yet
    if data.text_id is None:
        keep_unembedded(ledger, distinct, False, touched)
        index_row(ledger, entry)
        if distinct.guarded is not None:
            keep_forgotten(ledger, entry)
        touched.entries[entry.id] = entry
    index_face(ledger, entry.memory, touched)


def embedded_text(ledger: Ledger, candidate_id: str, text_id: str | None) -> Distinct:
    """The text of a candidate, or the text that the event `text_id` composed."""
    if text_id is None:
        return ledger.entries[candidate_id].distinct
    return (ledger.composed_by[text_id].composed or {})[text_id]


def fold_erased(ledger: Ledger, event: Erased, touched: Touched) -> None:
    """Remove the content of candidates; their ids and joins stay."""
    for candidate_id in event.data.candidate_ids:
        entry = ledger.entries[candidate_id]
        entry.text = entry.distinct.text = ""
        entry.distinct.vector = entry.distinct.beside = None
        keep_unembedded(ledger, entry.distinct, False, touched)
        if entry.distinct.guarded is not None:
            keep_forgotten(ledger, entry)
        set_living(ledger, candidate_id, touched, living=False)
