"""Makes the ledger's form of a join from the event that records it."""

from __future__ import annotations

from palimpsest.contracts.events import Decided, Join, Joined, Rank, Redecided, Settled
from palimpsest.contracts.evidence import Evidence
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.text import differences

AnyJoin = Decided | Settled | Joined | Redecided
"""The events that may record a join."""


def edge_of(
    ledger: Ledger, event: AnyJoin, newer: Entry, join: Join, place: int, rank: Rank
) -> Edge:
    """The join of an event, not yet added to its candidates."""
    evidence = event.data.evidence
    verdicts = evidence.verdicts if evidence else ()
    older = ledger.entries[join.to]
    return Edge(
        id=event.id,
        decision=event.data.decision,
        newer=newer,
        older=older,
        face=join.face,
        similarity=join.similarity,
        place=place,
        decided_at=event.time,
        rank=rank,
        policy=evidence.policy if evidence else None,
        ranked=any(verdict.speaker is not None for verdict in verdicts),
        former=bool(join.former),
        outright=bool(join.outright),
        over=ledger.entries[join.over] if join.over is not None else None,
        forward=_compared_with(evidence, join) if join.forward else None,
        chosen=bool(join.chosen),
        differs=_differs(older, newer, join, evidence),
        cause=event.data.cause,
        freed=isinstance(event, Settled) and event.data.cause is not None,
        order=ledger.seen,
    )


def _differs(older: Entry, newer: Entry, join: Join, evidence: Evidence | None) -> tuple[str, ...]:
    """How an exact repeat differs; computed for older events, which do not say so."""
    if evidence is not None and evidence.differs:
        return evidence.differs
    if join.face != "repeat" or newer.distinct is older.distinct:
        return ()
    return differences(older.text, newer.text) if newer.distinct.said == older.distinct.said else ()


def _compared_with(evidence: Evidence | None, join: Join) -> str | None:
    """The speaker of the text that the judge said a newcomer's text replaces."""
    verdicts = evidence.verdicts if evidence else ()
    found = (verdict.speaker or join.to for verdict in verdicts if verdict.neighbour_id == join.to)
    return next(found, None)
