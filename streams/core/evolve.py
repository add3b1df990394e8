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
from streams.core.graph import begin, cut, refold, unite
from streams.core.ledger import (
    Distinct,
    Edge,
    Entry,
    KeptVerdicts,
    Ledger,
    Memory,
    Review,
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
            _state(ledger, data.candidate_id, data.other_id, Statement(True, data.rank))
        case Confirmed():
            _review(ledger, event.data.decision_id, "confirmed", touched)
        case Composed():
            _composed(ledger, event, touched)
        case Retracted():
            _live(ledger, event.data.candidate_id, False, touched)
        case Restored():
            _live(ledger, event.data.candidate_id, True, touched)
        case Accessed():
            _accessed(ledger, event, touched)
        case Embedded():
            _embedded(ledger, event, touched)
        case Refused():
            _refused(ledger, event)
        case Erased():
            _erased(ledger, event, touched)
        case Compacted():
            ledger.compacted[event.data.session_id] = ledger.seen
        case SessionEnded() | Invalid() | PolicySet():
            pass
        case _:
            assert_never(event)
    return touched


def _decided(ledger: Ledger, event: Decided, touched: Touched) -> None:
    data = event.data
    distinct = _distinct(ledger, data.candidate.namespace, data.content.hash)
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
    _index(ledger, entry, distinct, event)
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


def _index(ledger: Ledger, entry: Entry, distinct: Distinct, event: Decided) -> None:
    scope = ledger.scope(distinct.namespace)
    if not distinct.members:
        distinct.vector = event.data.content.vector or distinct.vector
        distinct.row = len(scope.rows)
        scope.rows.append(distinct)
    elif distinct.representative is None and distinct.row is not None:
        scope.changed.append(distinct.row)
    distinct.members.append(entry)
    if entry.fields.session_id is not None:
        scope.sessions.setdefault(entry.fields.session_id, []).append(entry)


def _distinct(ledger: Ledger, namespace: str, text_hash: str) -> Distinct:
    by_hash = ledger.scope(namespace).by_hash
    found = by_hash.get(text_hash)
    if found is None:
        found = by_hash[text_hash] = Distinct(text_hash, namespace)
    return found


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
        _add_text(ledger, edge, composition)
    return edge


def _add_text(ledger: Ledger, edge: Edge, composition: Composition) -> None:
    """Keep a composed text with its join, and let exact repeats of it find its newest source."""
    edge.texts.append(composition)
    content = composition.content
    distinct = _distinct(ledger, edge.newer.fields.namespace, content.hash)
    if distinct.target is None:
        sources = (ledger.entries[source] for source in composition.sources)
        distinct.alias = max(sources, key=lambda entry: entry.place)
        distinct.vector = content.vector


def _connect(ledger: Ledger, edge: Edge, touched: Touched) -> None:
    before = {edge.older.memory.id, edge.newer.memory.id}
    moved = unite(edge)
    memory = edge.newer.memory
    touched.edges[edge.id] = edge
    touched.moved(moved)
    for gone in before - {memory.id}:
        touched.memories[gone] = None
        ledger.scope(memory.namespace).faces.append(ledger.entries[gone])
    _face_changed(ledger, memory, touched)


def _face_changed(ledger: Ledger, memory: Memory, touched: Touched) -> None:
    touched.memory(memory)
    ledger.scope(memory.namespace).faces.append(memory.members[0])


def _settled(ledger: Ledger, event: Settled, touched: Touched) -> None:
    data = event.data
    entry = ledger.entries[data.candidate_id]
    _no_longer_pending(ledger, entry)
    ledger.decisions[event.id] = entry.id
    touched.entries[entry.id] = entry
    for verdict in data.evidence.verdicts:
        if verdict.answer == "different":
            _state(ledger, entry.id, verdict.neighbour_id, Statement(True, data.rank))
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
    _state(ledger, newer.id, edge.older.id, Statement(False, data.rank))
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
    _review(ledger, edge.id, "reversed", touched)
    touched.edges[edge.id] = edge
    parts = cut(edge)
    if data.separates:
        _state(ledger, data.candidate_id, data.joined_to, Statement(True, data.rank))
    if parts is None:
        _face_changed(ledger, edge.newer.memory, touched)
        return
    for part in parts:
        if part.id != before:
            touched.moved(part.members)
        _face_changed(ledger, part, touched)


def _reinstated(ledger: Ledger, event: Reinstated, touched: Touched) -> None:
    edge = ledger.edges[event.data.decision_id]
    edge.standing = True
    _review(ledger, edge.id, None, touched)
    _state(ledger, edge.newer.id, edge.older.id, Statement(False, event.data.rank))
    _connect(ledger, edge, touched)


def _state(ledger: Ledger, a: str, b: str, statement: Statement) -> None:
    held = ledger.statements.get(a, {}).get(b)
    if held is None or held.yields_to(statement):
        ledger.statements.setdefault(a, {})[b] = statement
        ledger.statements.setdefault(b, {})[a] = statement


def _review(ledger: Ledger, decision_id: str, review: Review | None, touched: Touched) -> None:
    if review is None:
        ledger.reviews.pop(decision_id, None)
    else:
        ledger.reviews[decision_id] = review
    touched.reviews[decision_id] = review


def _composed(ledger: Ledger, event: Composed, touched: Touched) -> None:
    edge = ledger.edges[event.data.decision_id]
    _add_text(ledger, edge, event.data.composition)
    refold(edge.newer.memory)
    _face_changed(ledger, edge.newer.memory, touched)


def _live(ledger: Ledger, candidate_id: str, living: bool, touched: Touched) -> None:
    entry = ledger.entries[candidate_id]
    entry.living = living
    _row_changed(ledger, entry)
    refold(entry.memory)
    touched.entries[entry.id] = entry
    _face_changed(ledger, entry.memory, touched)


def _row_changed(ledger: Ledger, entry: Entry) -> None:
    if entry.distinct.row is not None:
        ledger.scope(entry.fields.namespace).changed.append(entry.distinct.row)


def _accessed(ledger: Ledger, event: Accessed, touched: Touched) -> None:
    entry = ledger.entries[event.data.candidate_id]
    entry.accesses += 1
    entry.last_accessed = event.time
    touched.memory(entry.memory)


def _embedded(ledger: Ledger, event: Embedded, touched: Touched) -> None:
    entry = ledger.entries[event.data.candidate_id]
    entry.distinct.vector = event.data.vector
    _row_changed(ledger, entry)
    touched.entries[entry.id] = entry
    _face_changed(ledger, entry.memory, touched)


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


def _erased(ledger: Ledger, event: Erased, touched: Touched) -> None:
    for candidate_id in event.data.candidate_ids:
        entry = ledger.entries[candidate_id]
        entry.text = ""
        entry.distinct.vector = None
        _live(ledger, candidate_id, False, touched)
