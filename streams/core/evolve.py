"""The fold of an event into its owner's ledger; only time changes a ledger otherwise (`advance`).

It changes the ledger in place and returns what it touched, so that projections write just that.
Each event counts once, however often it is delivered (law L7).
"""

from __future__ import annotations

from sys import intern
from typing import Any, assert_never

from msgspec import structs

from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.events import (
    RANKS,
    Accessed,
    AnyEvent,
    AuditLabelled,
    AuditOpened,
    Certified,
    Compacted,
    Composed,
    Composition,
    Confirmed,
    Decided,
    Embedded,
    Erased,
    ExpirySet,
    FirstDecision,
    Invalid,
    Join,
    Joined,
    JudgeSet,
    NamesSet,
    PolicySet,
    Ran,
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
    SettledData,
    Settlement,
    Unchanged,
)
from palimpsest.contracts.evidence import Evidence, Neighbour, Verdict
from palimpsest.contracts.names import normalise_characters
from palimpsest.streams.core.candidates import (
    fold_accessed,
    fold_embedded,
    fold_erased,
    fold_restored,
    fold_retracted,
)
from palimpsest.streams.core.compared import compared
from palimpsest.streams.core.edges import AnyJoin, edge_of
from palimpsest.streams.core.expiry import advance, begin_expiry, fold_expiry_set
from palimpsest.streams.core.graph import begin, cut, unite
from palimpsest.streams.core.indexes import (
    add_text,
    distinct_text,
    index_entry,
    index_face,
    keep_lost_texts,
    keep_recomposed,
    keep_review,
    keep_unembedded,
)
from palimpsest.streams.core.ledger import (
    Answered,
    Edge,
    Entry,
    Forgetting,
    LastRun,
    Ledger,
    Question,
    Retraction,
    Reversal,
    Statement,
)
from palimpsest.streams.core.models import fold_models
from palimpsest.streams.core.separations import put_back, separation, state, take_apart, withdraw
from palimpsest.streams.core.touched import Stated, Touched
from palimpsest.streams.core.walk import (
    answered,
    bridges,
    ends,
    keep_questions,
    record,
    up_to_joining,
    watch,
)


def evolve(ledger: Ledger, event: AnyEvent) -> Touched:
    """Fold one event into its owner's ledger; a known event changes nothing.

    Raises KeyError if an event names a candidate or decision that the ledger does not have.
    """
    touched = Touched()
    if event.id in ledger.events:
        return touched
    ledger.events.add(event.id)
    if isinstance(event, PolicySet) and event.data.changes_models:
        # A policy belongs to the store, and takes no place among the owner's events.
        fold_models(ledger, event, touched)
        return touched
    ledger.seen += 1
    ledger.last_time = ledger.at(event.time)
    advance(ledger, ledger.last_time)
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
            _separated(ledger, event, touched)
        case Confirmed():
            keep_review(ledger, event.data.decision_id, "confirmed", touched)
        case Composed():
            _composed(ledger, event, touched)
        case Retracted():
            fold_retracted(ledger, event, touched)
        case Restored():
            fold_restored(ledger, event, touched)
        case ExpirySet():
            fold_expiry_set(ledger, event, touched)
        case Accessed():
            fold_accessed(ledger, event, touched)
        case Embedded():
            fold_embedded(ledger, event, touched)
        case Refused():
            _refused(ledger, event, touched)
        case Erased():
            fold_erased(ledger, event, touched)
        case Compacted() | Ran() | NamesSet():
            _noted(ledger, event)
        case (
            SessionEnded()
            | Invalid()
            | PolicySet()
            | JudgeSet()
            | Unchanged()
            | AuditOpened()
            | AuditLabelled()
            | Certified()
        ):
            pass
        case _:
            assert_never(event)
    keep_lost_texts(ledger, event.id, touched)
    keep_questions(ledger, touched)
    for memory in touched.memories.values():
        if memory is not None:
            memory.updated = event.time
            memory.seen = ledger.seen
    return touched


def _noted(ledger: Ledger, event: Compacted | Ran | NamesSet) -> None:
    match event:
        case Compacted():
            ledger.compacted[event.data.session_id] = ledger.seen
        case Ran():
            ledger.runs[event.data.step] = LastRun(event.id, event.data.due, event.time)
        case NamesSet():
            ledger.names = tuple(map(normalise_characters, event.data.names))


def _decided(ledger: Ledger, event: Decided, touched: Touched) -> None:
    data = event.data
    distinct = distinct_text(ledger, data.candidate.namespace, data.content)
    entry = Entry(
        id=event.subject,
        place=ledger.seen,
        decided_at=event.time,
        decision_id=event.id,
        decision=data.decision,
        fields=_shared(data.candidate),
        text=data.content.text,
        distinct=distinct,
        fingerprint=data.content.fingerprint,
        moment=data.moment,
        expires_at=data.expires_at,
    )
    if data.expires_at is not None:
        begin_expiry(ledger, entry)
    if data.withheld is not None:
        entry.living = False
        entry.forgotten = Forgetting(data.withheld, "ask", False, event.time, 0)
        ledger.took.setdefault(data.withheld, []).append(entry.id)
    ledger.entries[entry.id] = entry
    ledger.decisions[event.id] = entry.id
    index_entry(ledger, entry, distinct, event)
    touched.entries[entry.id] = entry
    keep_unembedded(ledger, distinct, "embedder" in (data.evidence.down or ()), touched)
    memory = begin(entry)
    if data.evidence.asked:
        _ask(ledger, entry, event.id, _asked(data.evidence), touched)
    if data.join is not None:
        entry.asks_beside = bool(entry.asked)
        rank = data.rank or "rule"
        edge = _edge(ledger, event, entry, data.join, entry.place, rank, data.composition)
        _connect(ledger, edge, touched)
    else:
        touched.memory(memory)
        ledger.scope(memory.namespace).faces.append(entry)


_NO_METADATA: dict[str, Any] = {}


def _shared(fields: CandidateFields) -> CandidateFields:
    """The same fields with interned strings: many candidates in memory share them."""
    return structs.replace(
        fields,
        owner_id=intern(fields.owner_id),
        source=intern(fields.source),
        namespace=intern(fields.namespace),
        session_id=fields.session_id and intern(fields.session_id),
        metadata=fields.metadata or _NO_METADATA,
    )


def _ask(
    ledger: Ledger, entry: Entry, by: str, asked: tuple[Neighbour, ...], touched: Touched
) -> None:
    """Open a candidate's question about these neighbours, in place of its previous one."""
    entry.asked, entry.asked_by, entry.closed = asked, by, False
    for neighbour in asked:
        watch(ledger, neighbour.candidate_id, entry)
    touched.asking.append(entry)


def _asked(evidence: Evidence) -> tuple[Neighbour, ...]:
    looked_at = {neighbour.candidate_id: neighbour for neighbour in evidence.neighbours}
    return tuple(looked_at[candidate_id] for candidate_id in evidence.asked)


def _edge(
    ledger: Ledger,
    event: AnyJoin,
    newer: Entry,
    join: Join,
    place: int,
    rank: Rank,
    composition: Composition | None,
) -> Edge:
    edge = edge_of(ledger, event, newer, join, place, rank)
    ledger.edges[edge.id] = edge
    _stands_for_request(ledger, edge)
    if edge.freed:
        ledger.freed.append(edge)
    if edge.over is not None:
        edge.over.updates = (*edge.over.updates, edge)
    newer.add_edge(edge)
    edge.older.add_edge(edge)
    if composition is not None:
        add_text(ledger, edge, composition, event.id)
    return edge


def _stands_for_request(ledger: Ledger, edge: Edge) -> None:
    """File a join under the request that made it."""
    if edge.cause is not None:
        ledger.made.setdefault(edge.cause, {})[edge.id] = edge


def _connect(ledger: Ledger, edge: Edge, touched: Touched) -> None:
    before = {edge.older.memory.id, edge.newer.memory.id}
    moved = unite(edge)
    memory = edge.newer.memory
    touched.edges[edge.id] = edge
    touched.moved(moved)
    for gone in before - {memory.id}:
        touched.memories[gone] = None
        ledger.scope(memory.namespace).faces.append(ledger.entries[gone])
    index_face(ledger, memory, touched)


def _settled(ledger: Ledger, event: Settled, touched: Touched) -> None:
    data = event.data
    entry = ledger.entries[data.candidate_id]
    ledger.decisions[event.id] = entry.id
    touched.entries[entry.id] = entry
    _record(ledger, event, entry, data.rank, touched)
    if data.join is not None:
        composition = data.composition
        edge = _edge(ledger, event, entry, data.join, entry.place, data.rank, composition)
        _connect(ledger, edge, touched)
    else:
        if _closes(ledger, entry, event):
            if data.cause is not None:
                ledger.closed[entry.id] = Question(
                    _last_decision(entry), entry.asked, entry.asked_by, ledger.seen, data.cause
                )
            entry.closed = True
        touched.memory(entry.memory)


def _closes(ledger: Ledger, entry: Entry, event: Settled) -> bool:
    """Whether an event that kept a candidate apart closes its question.

    It does if nobody answered, or if the text to compose with a neighbour could not be composed.
    Such a neighbour counts only if it is not yet separated from the candidate, and comes before the
    first neighbour in the candidate's memory: the other answers wait, as if they had come before
    the separation or the join. A person's statement closes a question by itself. In older logs,
    which name no speakers, every verdict that kept both closed it.
    """
    verdicts = event.data.evidence.verdicts
    if event.data.decision == "fallback_keep":
        return True
    composes = {verdict.neighbour_id for verdict in verdicts if verdict.answer == "compose"}
    for neighbour in entry.asked:
        other = ledger.entries[neighbour.candidate_id]
        if other.memory is entry.memory:
            if bridges(entry):
                continue
            break
        before = separation(ledger, entry, other, without=event.id)
        if other.id in composes and before is None:
            return True
    return bool(verdicts) and all(verdict.speaker is None for verdict in verdicts)


def _record(
    ledger: Ledger, event: Settled | Refused, entry: Entry, rank: Rank, touched: Touched
) -> None:
    """Keep a candidate's answers, and the separations that they state.

    In older logs, which name no speakers, a refused verdict separated nothing.
    """
    data = event.data
    verdicts = data.evidence.verdicts if isinstance(data, SettledData) else data.verdicts
    given = Answered(
        event.id, ledger.seen, verdicts, data.composition, rank, data.actor, data.because
    )
    for verdict in up_to_joining(verdicts):
        apart = verdict.answer == "different" and not answered(entry, verdict)
        if apart and (verdict.speaker or isinstance(event, Settled)):
            _separate_by_verdict(ledger, event.id, entry, verdict, rank, touched)
    record(ledger, entry, given)
    touched.asking.append(entry)


def _separate_by_verdict(
    ledger: Ledger, event_id: str, entry: Entry, verdict: Verdict, rank: Rank, touched: Touched
) -> None:
    """Separate a candidate from the speaker of the text that it was compared with.

    "Different from a composed text" holds as long as that text stands, even if the neighbour has
    left its memory. So the statement names a source of the text: as long as the text stands, all
    its sources are in one memory.
    """
    speaker = verdict.speaker or verdict.neighbour_id
    if verdict.neighbour_id not in ledger.entries:
        return
    if speaker in ledger.composed_by:
        sources = ledger.composed_by[speaker].texts[speaker].sources
        others = [source for source in sources if source != entry.id] or [verdict.neighbour_id]
        other_id = verdict.neighbour_id if verdict.neighbour_id in others else others[0]
        text = speaker
    elif speaker in ledger.entries:
        other_id, text = speaker, None
    else:
        return
    statement = Statement(event_id, ledger.seen, True, rank, text)
    state(ledger, entry.id, other_id, statement)
    touched.stated.append(Stated(entry.id, other_id, statement, verdict))
    other = ledger.entries[other_id]
    touched.asking.append(other)
    for candidate_id in ends(ledger, speaker) if text else ():
        watch(ledger, candidate_id, other)


def _separated(ledger: Ledger, event: Separated, touched: Touched) -> None:
    data = event.data
    statement = Statement(event.id, ledger.seen, True, data.rank)
    _state(ledger, data.candidate_id, data.other_id, statement, touched)
    ledger.separations[event.id] = (data.candidate_id, data.other_id)


def _state(ledger: Ledger, a: str, b: str, statement: Statement, touched: Touched) -> None:
    """Keep a statement about a pair, and mark the questions of both to be checked again."""
    state(ledger, a, b, statement)
    touched.stated.append(Stated(a, b, statement))
    touched.asking += (ledger.entries[a], ledger.entries[b])


def _joined(ledger: Ledger, event: Joined, touched: Touched) -> None:
    data = event.data
    newer = ledger.entries[data.candidate_id]
    ledger.decisions[event.id] = newer.id
    edge = _edge(ledger, event, newer, data.join, ledger.seen, data.rank, data.composition)
    same = Statement(event.id, ledger.seen, False, data.rank)
    _state(ledger, newer.id, edge.older.id, same, touched)
    _connect(ledger, edge, touched)


def _redecided(ledger: Ledger, event: Redecided, touched: Touched) -> None:
    data = event.data
    entry = ledger.entries[data.candidate_id]
    if data.cause is not None:
        former = Question(_last_decision(entry), entry.asked, event.id, ledger.seen)
        ledger.questions.setdefault(data.cause, {}).setdefault(entry.id, former)
    _ask(ledger, entry, event.id, _asked(data.evidence), touched)
    entry.closed = data.decision == "fallback_keep"
    ledger.decisions[event.id] = entry.id
    touched.entries[entry.id] = entry
    if data.join is None:
        touched.memory(entry.memory)
        return
    edge = _edge(ledger, event, entry, data.join, entry.place, data.rank, data.composition)
    keep_recomposed(ledger, edge, event.id)
    _connect(ledger, edge, touched)


def _last_decision(entry: Entry) -> FirstDecision | Settlement:
    """The decision of a candidate's latest question."""
    if entry.closed:
        return "fallback_keep"
    return "pending" if entry.asked else "stored"


def _reversed(ledger: Ledger, event: Reversed, touched: Touched) -> None:
    data = event.data
    if data.decision_id in ledger.separations:
        # A separation that is withdrawn: the earlier statements about the pair hold again.
        a, b = ledger.separations[data.decision_id]
        withdraw(ledger, a, b, data.decision_id)
        touched.asking += (ledger.entries[a], ledger.entries[b])
        return
    edge = ledger.edges[data.decision_id]
    memory = edge.newer.memory
    before = memory.id
    edge.standing = False
    if data.cause is not None:
        ledger.took.setdefault(data.cause, []).append(edge.id)
    if edge.cause is not None:
        ledger.made[edge.cause].pop(edge.id, None)
    keep_review(ledger, edge.id, "reversed", touched)
    touched.edges[edge.id] = edge
    apart = None
    if data.separates:
        not_the_same = Statement(event.id, ledger.seen, True, data.rank)
        _state(ledger, data.candidate_id, data.joined_to, not_the_same, touched)
        if data.cause is not None:
            apart = take_apart(ledger, edge, data.cause, data.rank)
            touched.stirred += (edge.newer, edge.older)
    if data.withdraws:
        withdraw(ledger, edge.newer.id, edge.older.id, edge.id)
        touched.asking += (edge.newer, edge.older)
    # The command that undoes an update first retracts a living text.
    taken_back = edge.over is not None and not data.separates and data.consequence_of is None
    just_before = Retraction(data.cause, ledger.seen - 1)
    withdrew = taken_back and ledger.retractions.get(edge.newer.id) == just_before
    edge.reversed_by = Reversal(
        event.id, ledger.seen, data.rank, data.cause, data.consequence_of, apart, withdrew
    )
    if data.cause is not None and data.consequence_of is not None:
        ledger.consequences.setdefault(data.cause, {})[edge.id] = edge
    parts = cut(edge)
    for part in parts or (memory,):
        if part.id != before:
            touched.moved(part.members)
        index_face(ledger, part, touched)
    if parts is not None:
        touched.stirred += parts[0].members


def _reinstated(ledger: Ledger, event: Reinstated, touched: Touched) -> None:
    edge = ledger.edges[event.data.decision_id]
    reversal, rank = edge.reversed_by, event.data.rank
    if reversal is not None and reversal.apart is not None:
        put_back(edge, reversal.apart)
        touched.stirred += (edge.newer, edge.older)
    if reversal is not None:
        withdraw(ledger, edge.newer.id, edge.older.id, reversal.event_id)
        if reversal.cause is not None:
            ledger.consequences.get(reversal.cause, {}).pop(edge.id, None)
    edge.standing, edge.reversed_by = True, None
    _stands_for_request(ledger, edge)
    keep_review(ledger, edge.id, None, touched)
    same = Statement(
        event.id,
        ledger.seen,
        False,
        rank,
        back=edge.id,
        only_takes_back=reversal is not None and RANKS[reversal.rank] >= RANKS[rank],
    )
    _state(ledger, edge.newer.id, edge.older.id, same, touched)
    _connect(ledger, edge, touched)


def _composed(ledger: Ledger, event: Composed, touched: Touched) -> None:
    edge = ledger.edges[event.data.decision_id]
    add_text(ledger, edge, event.data.composition, event.id)
    memory = edge.newer.memory
    memory.texted = True
    memory.refold()
    index_face(ledger, memory, touched)


def _refused(ledger: Ledger, event: Refused, touched: Touched) -> None:
    data = event.data
    if data.command == "admit" and data.candidate_id is not None:
        ledger.turned_away.add(data.candidate_id)
    entry = ledger.entries.get(data.candidate_id) if data.candidate_id else None
    if entry is not None and data.command == "settle" and data.verdicts:
        _record(ledger, event, entry, data.rank or "judge", touched)
