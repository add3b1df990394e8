"""Which rows some events touched, and their present state: one row per key. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from contracts.events import (
    AnyEvent,
    Composed,
    Confirmed,
    Decided,
    Invalid,
    Joined,
    PolicySet,
    Redecided,
    Refused,
    Reversed,
    Separated,
    Settled,
)
from projections.models import Models
from projections.rows import (
    CandidateState,
    DistinctState,
    Fact,
    Gone,
    MemoryState,
    ReviewState,
    Rows,
)
from streams.core.ledger import Entry, Memory
from streams.core.touched import Touched

MANY_MEMBERS = 64
"""Above it, what a memory's members add up to is kept between commits, not summed anew."""
MOST_SUMS = 20_000


@dataclass(slots=True)
class _Sum:
    """What the first `counted` members of a memory add up to."""

    counted: int = 0
    living: int = 0
    pending: int = 0
    accesses: int = 0
    last_accessed: datetime | None = None
    occurred_at: datetime | None = None
    topics: dict[str, None] = field(default_factory=dict)

    def add(self, members: Iterable[Entry]) -> None:
        """Count more members, in order."""
        for entry in members:
            self.counted += 1
            if entry.accesses:
                self.accesses += entry.accesses
                self.last_accessed = _later(self.last_accessed, entry.last_accessed)
            if entry.living:
                fields = entry.fields
                self.living += 1
                self.pending += entry.pending
                self.occurred_at = _later(self.occurred_at, fields.occurred_at)
                for topic in fields.topics:
                    self.topics[topic] = None

    @property
    def status(self) -> Literal["living", "pending"]:
        """`pending` while every living member waits for the judge."""
        return "pending" if self.pending == self.living else "living"


def _later(a: datetime | None, b: datetime | None) -> datetime | None:
    return b if a is None or (b is not None and b > a) else a


class Changes:
    """Collects what events touch. Of one thread: the one that folds the ledgers."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}
        self._begin()

    def _begin(self) -> None:
        self._upto = 0
        self._facts: list[Fact] = []
        self._entries: dict[str, tuple[int, Entry]] = {}
        self._distincts: dict[str, tuple[int, Entry]] = {}
        self._memories: dict[str, tuple[int, datetime, Memory | None]] = {}
        self._reviews: dict[str, ReviewState] = {}
        self._new: set[str] = set()
        self._models = Models()

    def add(self, position: int, event: AnyEvent, touched: Touched) -> None:
        """Note what one event changed, as `evolve` told it; events come in order.

        A redelivered event touched nothing, and leaves no second row.
        """
        self._upto = position
        self._models.note(position, event)
        match event:
            case Decided() if event.subject in touched.entries:
                self._facts.append(Fact(position, event, None))
                self._new.add(event.subject)
            case Settled() | Joined() | Redecided() if touched.memories:
                entry = touched.entries.get(event.data.candidate_id) or _newer(event, touched)
                self._facts.append(Fact(position, event, entry))
            case Invalid() | PolicySet():
                self._facts.append(Fact(position, event, None))
            case Refused() | Separated() | Confirmed() | Reversed() if event.data.verdicts:
                self._facts.append(Fact(position, event, None))
            case Composed() if event.data.evidence.verdicts and touched.memories:
                self._facts.append(Fact(position, event, None))
            case _:
                pass
        for entry in touched.entries.values():
            self._entries[entry.id] = (position, entry)
            if not _repeats(event) or entry.distinct.representative is entry:
                first = entry.distinct.members[0]
                self._distincts[first.id] = (position, first)
        for memory_id, memory in touched.memories.items():
            if memory is None and memory_id == event.subject and isinstance(event, Decided):
                continue  # it joined at once, and never was a memory of its own
            self._memories[memory_id] = (position, event.time, memory)
            if not isinstance(event, Decided):
                self._sums.pop(memory_id, None)
        for decision_id, review in touched.reviews.items():
            self._reviews[decision_id] = ReviewState(position, decision_id, review)

    def take(self) -> Rows | None:
        """The rows as they are now, before the ledgers move on; None where nothing was added."""
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

    def _memory(
        self, key: str, position: int, time: datetime, memory: Memory | None
    ) -> MemoryState | Gone:
        if memory is None or not memory.living:
            return Gone(position, key)
        first, face, total = memory.members[0], memory.face, self._sum(memory)
        return MemoryState(
            position=position,
            memory_id=key,
            owner_id=first.fields.owner_id,
            namespace=memory.namespace,
            face=face.text,
            face_of=face.speaker.id,
            composed=face.composition is not None,
            vector=face.vector,
            members=total.living,
            topics=tuple(total.topics),
            status=total.status,
            needs_composition=face.needs_composition,
            accesses=total.accesses,
            last_accessed=total.last_accessed,
            created_at=first.decided_at,
            updated_at=time,
            occurred_at=total.occurred_at,
        )

    def _sum(self, memory: Memory) -> _Sum:
        """Of a large memory that only grew since it was summed, only the newcomers are counted."""
        members = memory.members
        if len(members) < MANY_MEMBERS:
            total = _Sum()
            total.add(members)
            return total
        kept = self._sums.get(memory.id)
        if kept is None:
            if len(self._sums) >= MOST_SUMS:
                self._sums.clear()
            kept = self._sums[memory.id] = _Sum()
        kept.add(members[kept.counted :])
        return kept


def _repeats(event: AnyEvent) -> bool:
    """Whether it brought an exact repeat: the row of its text is most often as it was."""
    return (
        isinstance(event, Decided)
        and event.data.join is not None
        and (event.data.join.face == "repeat")
    )


def _newer(event: Settled | Joined | Redecided, touched: Touched) -> Entry | None:
    edge = touched.edges.get(event.id)
    return edge.newer if edge is not None else None


def _candidate(position: int, entry: Entry) -> CandidateState:
    return CandidateState(position, entry, entry.text, entry.memory.id, entry.living, entry.pending)


def _distinct(position: int, first: Entry) -> DistinctState | Gone:
    stands = first.distinct.representative
    if stands is None:
        return Gone(position, first.id)
    vector = first.distinct.vector
    return DistinctState(position, first.id, stands, stands.text, stands.memory.id, vector)
