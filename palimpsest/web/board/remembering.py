"""Restores answers from before the server's start from the log, so that they can be undone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from palimpsest.api.store import Palimpsest
from palimpsest.projections.duckdb.activity import PairStatement
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.separations import separation
from palimpsest.web.board.answers import Answer, Choice, together_again, undone
from palimpsest.web.board.pictures import evidence_of
from palimpsest.web.board.waiting import Pair


def by_name(statements: Iterable[PairStatement]) -> dict[str, list[PairStatement]]:
    """The statements of each person, by their name in the log."""
    found: dict[str, list[PairStatement]] = defaultdict(list)
    for one in statements:
        found[one.actor].append(one)
    return dict(found)


def answers(store: Palimpsest, statements: Iterable[PairStatement]) -> list[Answer]:
    """A person's statements about pairs that still hold, each as the answer that it was, in order.

    An answer about a join that also chose the face was two statements, and is one answer again.
    """
    found: list[Answer] = []
    last: PairStatement | None = None
    for one in statements:
        ledger = store.reader.ledger(one.owner_id)
        for answer in _answer(store, ledger, one):
            agrees = last is not None and (last.event, one.event) == ("joined", "confirmed")
            if last is not None and agrees and _ends(found[-1]) == _ends(answer):
                take_back = undone(answer.pair, one.actor, last.event_id)
                events = (last.event_id, one.event_id)
                word = found[-1].word
                found[-1] = replace(answer, word=word, take_back=take_back, events=events)
            else:
                found.append(replace(answer, events=(one.event_id,)))
            last = one
    return found


def _ends(answer: Answer) -> set[str]:
    return {answer.pair.candidate_id, answer.pair.existing_id}


def _answer(store: Palimpsest, ledger: Ledger, one: PairStatement) -> Iterator[Answer]:
    """The answer of a statement, unless it was undone."""
    edge = ledger.edges.get(one.decision_id or "")
    match one.event:
        case "separated":
            pair = _pending(ledger, one.candidate_id, one.other_id or "")
            a, b = (ledger.entries[name] for name in (pair.candidate_id, pair.existing_id))
            holds = separation(ledger, a, b)
            if holds is not None and holds.event_id == one.event_id:
                yield _different(pair, one)
        case "reversed" if edge is not None and not edge.by_person:
            if edge.reversed_by is not None and edge.reversed_by.event_id == one.event_id:
                pair = _joined(store, edge)
                yield _different(pair, one)
        case "confirmed" if edge is not None:
            if edge.standing and ledger.reviews.get(edge.id) == "confirmed":
                pair = _joined(store, edge)
                yield Answer(pair, "same", one.because, undone(pair, one.actor, None))
        case "joined" if edge is not None and edge.standing and edge.over is None:
            pair = _pending(ledger, edge.newer.id, edge.older.id)
            yield Answer(pair, _word(edge), one.because, undone(pair, one.actor, edge.id))


def _different(pair: Pair, one: PairStatement) -> Answer:
    take_back = together_again(pair, one.actor, one.event_id)
    return Answer(pair, "different", one.because, take_back)


def _word(edge: Edge) -> Choice:
    if not edge.former:
        return "same"
    return "newer" if edge.face == "take" else "former"


def _pending(ledger: Ledger, a: str, b: str) -> Pair:
    """A pair of a pending question: the later candidate, and its neighbour."""
    older, newer = sorted((ledger.entries[a], ledger.entries[b]), key=lambda one: one.place)
    looked_at = {one.candidate_id: one for one in newer.asked}
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


def _joined(store: Palimpsest, edge: Edge) -> Pair:
    """A pair of a join."""
    evidence = evidence_of(store, edge.id)
    neighbours = (evidence.neighbours if evidence is not None else ()) or edge.newer.asked
    seen = [one for one in neighbours if one.candidate_id == edge.older.id]
    return _pair(
        edge.newer,
        edge.older,
        waits_as="unreviewed",
        decision_id=edge.id,
        decision=edge.decision,
        similarity=edge.similarity,
        cues=tuple(cue for one in seen for cue in one.cues),
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
) -> Pair:
    return Pair(
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
        hangs=0,
    )
