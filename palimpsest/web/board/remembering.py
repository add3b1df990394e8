"""Restores from the log what was answered before the server's start, so that it can be undone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from palimpsest.api.store import Palimpsest
from palimpsest.projections.duckdb.activity import PairStatement
from palimpsest.queries.evidence import evidence_of
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.separations import separation
from palimpsest.web.board.answers import Choice, GivenAnswer, together_again, undone
from palimpsest.web.board.waiting import WaitingPair


def by_name(statements: Iterable[PairStatement]) -> dict[str, list[PairStatement]]:
    """The statements of each person, by their name in the log."""
    found: dict[str, list[PairStatement]] = defaultdict(list)
    for statement in statements:
        found[statement.actor].append(statement)
    return dict(found)


def answers(store: Palimpsest, statements: Iterable[PairStatement]) -> list[GivenAnswer]:
    """The answers that a person's statements about pairs stand for, in order, if they still hold.

    An answer about a join that also chose the face made two statements; they become one answer.
    """
    found: list[GivenAnswer] = []
    last: PairStatement | None = None
    for statement in statements:
        ledger = store.reader.ledger(statement.owner_id)
        for answer in _answer(store, ledger, statement):
            agrees = last is not None and (last.event, statement.event) == ("joined", "confirmed")
            if last is not None and agrees and _ends(found[-1]) == _ends(answer):
                take_back = undone(answer.pair, statement.actor, last.event_id)
                events = (last.event_id, statement.event_id)
                word = found[-1].word
                found[-1] = replace(answer, word=word, take_back=take_back, events=events)
            else:
                found.append(replace(answer, events=(statement.event_id,)))
            last = statement
    return found


def _ends(answer: GivenAnswer) -> set[str]:
    return {answer.pair.candidate_id, answer.pair.existing_id}


def _answer(store: Palimpsest, ledger: Ledger, statement: PairStatement) -> Iterator[GivenAnswer]:
    """The answer of a statement, unless it was undone."""
    edge = ledger.edges.get(statement.decision_id or "")
    match statement.event:
        case "separated":
            pair = _pending(ledger, statement.candidate_id, statement.other_id or "")
            a, b = (ledger.entries[name] for name in (pair.candidate_id, pair.existing_id))
            holds = separation(ledger, a, b)
            if holds is not None and holds.event_id == statement.event_id:
                yield _different(pair, statement)
        case "reversed" if edge is not None and not edge.by_person:
            if edge.reversed_by is not None and edge.reversed_by.event_id == statement.event_id:
                pair = _joined(store, edge)
                yield _different(pair, statement)
        case "confirmed" if edge is not None:
            if edge.standing and ledger.reviews.get(edge.id) == "confirmed":
                pair = _joined(store, edge)
                yield GivenAnswer(
                    pair, "same", statement.because, undone(pair, statement.actor, None)
                )
        case "joined" if edge is not None and edge.standing and edge.over is None:
            pair = _pending(ledger, edge.newer.id, edge.older.id)
            yield GivenAnswer(
                pair, _word(edge), statement.because, undone(pair, statement.actor, edge.id)
            )


def _different(pair: WaitingPair, statement: PairStatement) -> GivenAnswer:
    take_back = together_again(pair, statement.actor, statement.event_id)
    return GivenAnswer(pair, "different", statement.because, take_back)


def _word(edge: Edge) -> Choice:
    if not edge.former:
        return "same"
    return "newer" if edge.face == "take" else "former"


def _pending(ledger: Ledger, a: str, b: str) -> WaitingPair:
    """A pair of a pending question: the later candidate, and its neighbour."""
    older, newer = sorted((ledger.entries[a], ledger.entries[b]), key=lambda entry: entry.place)
    looked_at = {neighbour.candidate_id: neighbour for neighbour in newer.asked}
    near = looked_at.get(older.id)
    return _pair(
        newer,
        older,
        waits_as="pending",
        decision_id=newer.asked_by,
        decision="pending",
        similarity=near.cosine if near else None,
        cues=tuple(near.cues) if near else (),
    )


def _joined(store: Palimpsest, edge: Edge) -> WaitingPair:
    """The pair that a join connects."""
    evidence = evidence_of(store.reader, edge.id)
    neighbours = (evidence.neighbours if evidence is not None else ()) or edge.newer.asked
    seen = [neighbour for neighbour in neighbours if neighbour.candidate_id == edge.older.id]
    return _pair(
        edge.newer,
        edge.older,
        waits_as="unreviewed",
        decision_id=edge.id,
        decision=edge.decision,
        similarity=edge.similarity,
        cues=tuple(cue for neighbour in seen for cue in neighbour.cues),
    )


def _pair(
    newer: Entry,
    older: Entry,
    *,
    waits_as: str,
    decision_id: str,
    decision: str,
    similarity: float | None,
    cues: tuple[str, ...],
) -> WaitingPair:
    return WaitingPair(
        decision_id=decision_id,
        candidate_id=newer.id,
        existing_id=older.id,
        owner_id=newer.fields.owner_id,
        namespace=newer.fields.namespace,
        waits_as=waits_as,
        decision=decision,
        similarity=similarity,
        cues=cues,
        position=0,
        source=newer.fields.source,
        memory_id=older.memory.id,
        older_text=None,  # until the queue is read again
        newer_text=None,
        later_joins=0,
    )
