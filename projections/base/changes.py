"""Collects the rows that some events changed, in their current state: one row per key. Pure."""

from __future__ import annotations

from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    Joined,
    Redecided,
    Reinstated,
    Settled,
)
from palimpsest.projections.base.models import Models
from palimpsest.projections.base.rows import (
    NOBODY_ELSE,
    NOTHING_SAID,
    CandidateState,
    DistinctState,
    Fact,
    Gone,
    MemoryState,
    ReviewState,
    Rows,
    as_json,
)
from palimpsest.projections.base.totals import Total
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.touched import Touched

MANY_MEMBERS = 8
"""From this number of members on, a memory's totals are kept between commits, not recomputed."""
MOST_SUMS = 20_000


class RowChanges:
    """Collects what events change. Used only on the thread that folds the ledgers."""

    def __init__(self) -> None:
        self._sums: dict[str, Total] = {}
        self._begin()

    def _begin(self) -> None:
        self._upto = 0
        self._facts: list[Fact] = []
        self._entries: dict[str, tuple[int, Entry]] = {}
        self._distincts: dict[str, tuple[int, Entry]] = {}
        self._memories: dict[str, tuple[int, Memory | None]] = {}
        self._reviews: dict[str, ReviewState] = {}
        self._new: set[str] = set()
        self._models = Models()

    def add(self, position: int, event: AnyEvent, touched: Touched) -> None:
        """Note the changes of one event, as `evolve` reported them; events come in order.

        It is idempotent: a redelivered event changes nothing, and adds no second row.
        """
        self._models.note(position, event)
        if position > self._upto:
            self._upto = position
            self._note_fact(position, event, touched)
        self._note_entries(position, event, touched)
        self._note_memories(position, event, touched)
        for decision_id, review in touched.reviews.items():
            said = "reinstated" if isinstance(event, Reinstated) else review
            self._reviews[decision_id] = ReviewState(position, decision_id, said)

    def _note_fact(self, position: int, event: AnyEvent, touched: Touched) -> None:
        spoken, stated = touched.compared or NOBODY_ELSE, touched.stated or NOTHING_SAID
        edge = touched.edges.get(event.id)
        differs = edge.differs if edge is not None else ()
        about = _about(event, touched)
        self._facts.append(Fact(position, event, about, spoken, stated, differs))
        if isinstance(event, Decided):
            self._new.add(event.subject)

    def _note_entries(self, position: int, event: AnyEvent, touched: Touched) -> None:
        repeats = isinstance(event, Decided) and _repeats(event)
        for key, entry in touched.entries.items():
            self._entries[key] = position, entry
            if not repeats or entry.distinct.representative is entry:
                first = entry.distinct.members[0]
                self._distincts[first.id] = position, first

    def _note_memories(self, position: int, event: AnyEvent, touched: Touched) -> None:
        arrived = isinstance(event, Decided)
        for memory_id, memory in touched.memories.items():
            if memory is None and arrived and memory_id == event.subject:
                continue  # it joined at once, and was never a memory of its own
            self._memories[memory_id] = position, memory
            if not arrived and not self._only_grew(memory_id, event, touched):
                self._sums.pop(memory_id, None)

    def renew_vectors(self, position: int, ledger: Ledger) -> None:
        """Note that each text and memory of an owner now has a vector of another model."""
        self._upto = max(self._upto, position)
        for entry in ledger.entries.values():
            if entry.distinct.members[0] is entry:
                self._distincts[entry.id] = position, entry
        for memory in ledger.memories():
            self._memories[memory.id] = position, memory

    def _only_grew(self, memory_id: str, event: AnyEvent, touched: Touched) -> bool:
        """Whether a memory's totals can be continued: new members come after all counted ones.

        It is not called for a new candidate, which always comes last.
        """
        kept = self._sums.get(memory_id)
        return (
            isinstance(event, Joined)
            and kept is not None
            and all(entry.place > kept.last_place for entry in touched.entries.values())
        )

    def take(self) -> Rows | None:
        """The rows in their current state, before the ledgers change; None if nothing was added."""
        if not self._upto:
            return None
        rows = Rows(
            self._upto,
            self._facts,
            {key: _candidate(*noted) for key, noted in self._entries.items()},
            {key: _distinct(*noted) for key, noted in self._distincts.items()},
            {key: self._memory(key, *noted) for key, noted in self._memories.items()},
            self._reviews,
            self._new,
            self._models,
        )
        self._begin()
        return rows

    def _memory(self, key: str, position: int, memory: Memory | None) -> MemoryState | Gone:
        if memory is None or not memory.living:
            return Gone(position, key)
        first, face, total = memory.members[0], memory.face, self._sum(memory)
        speaker, composition = face.speaker, face.composition
        fields = first.fields
        return MemoryState(
            position=position,
            memory_id=key,
            owner_id=fields.owner_id,
            namespace=fields.namespace,
            face=face.text if composition else speaker.text,
            face_of=speaker.id,
            composed=composition is not None,
            vector=face.vector if composition else speaker.distinct.vector,
            members=total.living,
            topics=tuple(total.topics),
            status=total.status,
            needs_composition=face.needs_composition,
            contradicts=face.contradicts,
            accesses=total.accesses,
            last_accessed=total.last_accessed,
            created_at=first.decided_at,
            updated_at=memory.updated,
            occurred_at=total.occurred_at,
            expires_at=memory.expires_at,
            intensity=total.intensity,
            metadata=as_json(total.metadata),
            confidence=total.confidence,
            importance=total.importance,
        )

    def _sum(self, memory: Memory) -> Total:
        """The memory's totals; if a large memory only grew, only its new members are counted."""
        members = memory.members
        if len(members) < MANY_MEMBERS:
            return Total.of(memory)
        kept = self._sums.get(memory.id)
        if kept is None:
            if len(self._sums) >= MOST_SUMS:
                self._sums.clear()
            kept = self._sums[memory.id] = Total()
        kept.add(members[kept.counted :])
        return kept


def _repeats(event: Decided) -> bool:
    """Whether it brought an exact repeat, which usually leaves the row of its text unchanged."""
    join = event.data.join
    return join is not None and join.face == "repeat"


def _about(event: AnyEvent, touched: Touched) -> Entry | None:
    """The candidate of any decision but its first; its fields go into the decision's row."""
    if not isinstance(event, Settled | Joined | Redecided):
        return None
    edge = touched.edges.get(event.id)
    return edge.newer if edge is not None else touched.entries.get(event.data.candidate_id)


def _candidate(position: int, entry: Entry) -> CandidateState:
    return CandidateState(
        position=position,
        entry=entry,
        text=entry.text,
        memory_id=entry.memory.id,
        living=entry.living,
        pending=entry.pending,
        waits_for=entry.open,
        held=entry.held,
        expires_at=entry.expires_at,
    )


def _distinct(position: int, first: Entry) -> DistinctState | Gone:
    stands = first.distinct.representative
    if stands is None:
        return Gone(position, first.id)
    vector = first.distinct.vector
    return DistinctState(position, first.id, stands, stands.text, stands.memory.id, vector)
