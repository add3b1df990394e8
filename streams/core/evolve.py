"""The fold: an event into the ledger of its owner. Nothing else changes a ledger.

It is mutable inside and says what it touched, so that projections write just that.
Each event counts once, however often it is delivered (law L7).
"""

from __future__ import annotations

from typing import assert_never

from contracts.events import (
    Accessed,
    AnyEvent,
    Compacted,
    Composed,
    Composition,
    Confirmed,
    Decided,
    Embedded,
    Erased,
    Invalid,
    Join,
    Joined,
    PolicySet,
    Rank,
    Redecided,
    Refused,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
    Separated,
    SessionEnded,
    Settled,
)
from contracts.evidence import Evidence, Neighbour
from streams.core.candidates import accessed, embedded, erased, live
from streams.core.compared import compared
from streams.core.graph import begin, cut, refold, unite
from streams.core.indexes import (
    add_text,
    distinct_text,
    face_changed,
    index_entry,
    keep_lost_texts,
    keep_review,
    state,
)
from streams.core.ledger import (
    Edge,
    Entry,
    KeptVerdicts,
    Ledger,
    Statement,
)
from streams.core.touched import Touched


def evolve(ledger: Ledger, event: AnyEvent) -> Touched:
    """Fold one event into its owner's ledger; a known event changes nothing.

    Raises KeyError where an event names a candidate or decision that the log does not hold.
    """
    touched = Touched()
    if event.id in ledger.events:
        return touched
    ledger.events.add(event.id)
    ledger.seen += 1
    ledger.last_time = ledger.at(event.time)
    touched.compared = compared(ledger, event)
    match event:
        case Decided():
            _decided(ledger, event, touched)
        case Settled():
            _settled(ledger, event, touched)
        case Joined():
            _joined(ledger, event, touched)
        case Redecided():
            _redecided(ledger, event, touched)
        case Reversed():
            _reversed(ledger, event, touched)
        case Reinstated():
            _reinstated(ledger, event, touched)
        case Separated():
            data = event.data
            state(ledger, data.candidate_id, data.other_id, Statement(True, data.rank))
        case Confirmed():
            keep_review(ledger, event.data.decision_id, "confirmed", touched)
        case Composed():
            _composed(ledger, event, touched)
        case Retracted():
            live(ledger, event.data.candidate_id, False, touched)
        case Restored():
            live(ledger, event.data.candidate_id, True, touched)
        case Accessed():
            accessed(ledger, event, touched)
        case Embedded():
            embedded(ledger, event, touched)
        case Refused():
            _refused(ledger, event)
        case Erased():
            erased(ledger, event, touched)
        case Compacted():
            ledger.compacted[event.data.session_id] = ledger.seen
        case SessionEnded() | Invalid() | PolicySet():
            pass
        case _:
            assert_never(event)
    keep_lost_texts(ledger, event.id, touched)
    return touched


def _decided(ledger: Ledger, event: Decided, touched: Touched) -> None:
    data = event.data
    distinct = distinct_text(ledger, data.candidate.namespace, data.content.hash)
    entry = Entry(
        id=event.subject,
        place=ledger.seen,
        decided_at=event.time,
        decision_id=event.id,
        decision=data.decision,
        fields=data.candidate,
        text=data.content.text,
        distinct=distinct,
        fingerprint=data.content.fingerprint,
        asked=_asked(data.evidence),
        asked_by=event.id,
        pending=data.decision == "pending",
    )
    ledger.entries[entry.id] = entry
    ledger.decisions[event.id] = entry.id
    index_entry(ledger, entry, distinct, event)
    touched.entries[entry.id] = entry
    memory = begin(entry)
    if data.join is not None:
        edge = _edge(ledger, event, entry, data.join, entry.place, "rule", data.composition)
        _connect(ledger, edge, touched)
    else:
        touched.memory(memory)
        ledger.scope(memory.namespace).faces.append(entry)


def _asked(evidence: Evidence) -> tuple[Neighbour, ...]:
    if not evidence.asked:
        return ()
    looked_at = {neighbour.candidate_id: neighbour for neighbour in evidence.neighbours}
    return tuple(looked_at[candidate_id] for candidate_id in evidence.asked)


def _edge(
    ledger: Ledger,
    event: Decided | Settled | Joined | Redecided,
    newer: Entry,
    join: Join,
    place: int,
    rank: Rank,
    composition: Composition | None,
) -> Edge:
    evidence = event.data.evidence
    edge = Edge(
        id=event.id,
        decision=event.data.decision,
        newer=newer,
        older=ledger.entries[join.to],
        face=join.face,
        similarity=join.similarity,
        place=place,
        decided_at=event.time,
        rank=rank,
        policy=evidence.policy if evidence else None,
    )
    ledger.edges[edge.id] = edge
    newer.edges.append(edge)
    edge.older.edges.append(edge)
    if composition is not None:
        add_text(ledger, edge, composition)
    return edge


def _connect(ledger: Ledger, edge: Edge, touched: Touched) -> None:
    before = {edge.older.memory.id, edge.newer.memory.id}
    moved = unite(edge)
    memory = edge.newer.memory
    touched.edges[edge.id] = edge
    touched.moved(moved)
    for gone in before - {memory.id}:
        touched.memories[gone] = None
        ledger.scope(memory.namespace).faces.append(ledger.entries[gone])
    face_changed(ledger, memory, touched)


def _settled(ledger: Ledger, event: Settled, touched: Touched) -> None:
    data = event.data
    entry = ledger.entries[data.candidate_id]
    _no_longer_pending(ledger, entry)
    ledger.decisions[event.id] = entry.id
    touched.entries[entry.id] = entry
    for verdict in data.evidence.verdicts:
        if verdict.answer == "different":
            state(ledger, entry.id, verdict.neighbour_id, Statement(True, data.rank))
    if data.join is not None:
        composition = data.composition
        edge = _edge(ledger, event, entry, data.join, entry.place, data.rank, composition)
        _connect(ledger, edge, touched)
    else:
        touched.memory(entry.memory)


def _no_longer_pending(ledger: Ledger, entry: Entry) -> None:
    entry.pending, entry.asked = False, ()
    ledger.kept = [kept for kept in ledger.kept if kept.candidate_id != entry.id]


def _joined(ledger: Ledger, event: Joined, touched: Touched) -> None:
    data = event.data
    newer = ledger.entries[data.candidate_id]
    ledger.decisions[event.id] = newer.id
    edge = _edge(ledger, event, newer, data.join, ledger.seen, data.rank, data.composition)
    state(ledger, newer.id, edge.older.id, Statement(False, data.rank))
    for entry in (newer, edge.older):
        if entry.pending and edge.by_person:
            _no_longer_pending(ledger, entry)
            touched.entries[entry.id] = entry
    _connect(ledger, edge, touched)


def _redecided(ledger: Ledger, event: Redecided, touched: Touched) -> None:
    data = event.data
    entry = ledger.entries[data.candidate_id]
    _no_longer_pending(ledger, entry)
    entry.pending, entry.asked = data.decision == "pending", _asked(data.evidence)
    entry.asked_by = event.id
    ledger.decisions[event.id] = entry.id
    touched.entries[entry.id] = entry
    if data.join is None:
        touched.memory(entry.memory)
        return
    edge = _edge(ledger, event, entry, data.join, entry.place, data.rank, data.composition)
    _connect(ledger, edge, touched)


def _reversed(ledger: Ledger, event: Reversed, touched: Touched) -> None:
    data = event.data
    edge = ledger.edges[data.decision_id]
    before = edge.newer.memory.id
    edge.standing = False
    keep_review(ledger, edge.id, "reversed", touched)
    touched.edges[edge.id] = edge
    parts = cut(edge)
    if data.separates:
        state(ledger, data.candidate_id, data.joined_to, Statement(True, data.rank))
    if parts is None:
        face_changed(ledger, edge.newer.memory, touched)
        return
    for part in parts:
        if part.id != before:
            touched.moved(part.members)
        face_changed(ledger, part, touched)


def _reinstated(ledger: Ledger, event: Reinstated, touched: Touched) -> None:
    edge = ledger.edges[event.data.decision_id]
    edge.standing = True
    keep_review(ledger, edge.id, None, touched)
    state(ledger, edge.newer.id, edge.older.id, Statement(False, event.data.rank))
    _connect(ledger, edge, touched)


def _composed(ledger: Ledger, event: Composed, touched: Touched) -> None:
    edge = ledger.edges[event.data.decision_id]
    add_text(ledger, edge, event.data.composition)
    refold(edge.newer.memory)
    face_changed(ledger, edge.newer.memory, touched)


def _refused(ledger: Ledger, event: Refused) -> None:
    data = event.data
    entry = ledger.entries.get(data.candidate_id) if data.candidate_id else None
    if entry is not None and entry.pending and data.verdicts:
        kept = KeptVerdicts(
            entry.id,
            data.verdicts,
            data.composition,
            data.rank or "judge",
            data.actor,
            data.because,
        )
        ledger.kept.append(kept)
