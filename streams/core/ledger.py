"""The ledger of one owner: candidates, joins, separations and the indexes over them (design 1).

It is what the log folds into. Only `streams.core.evolve` changes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from contracts.candidate import CandidateFields
from contracts.events import RANKS, Composition, FaceRule, Rank, Vector
from contracts.evidence import Neighbour, Verdict

Review = Literal["confirmed", "reversed"]
"""What a review said of a decision; nothing recorded means unreviewed."""


@dataclass(slots=True, eq=False)
class Distinct:
    """The candidates of a scope that have the same normalised text: one row of the search index.

    `alias` is the newest source of a composed text that has no candidate of its own yet; until it
    has one there is no `row`.
    """

    hash: str
    namespace: str
    vector: Vector | None = None
    row: int | None = None
    members: list[Entry] = field(default_factory=list)
    alias: Entry | None = None

    @property
    def target(self) -> Entry | None:
        """Whom an exact repeat joins: the earliest living, else the earliest, else the alias."""
        return self.representative or (self.members[0] if self.members else self.alias)

    @property
    def representative(self) -> Entry | None:
        """The earliest living candidate with this text: whom a search returns."""
        for entry in self.members:  # a third of a generator's time; asked for with every event
            if entry.living:
                return entry
        return None


@dataclass(slots=True, eq=False)
class KeptVerdicts:
    """Verdicts that could not settle their candidate yet (design section 4)."""

    candidate_id: str
    verdicts: tuple[Verdict, ...]
    composition: Composition | None
    rank: Rank
    actor: str | None
    because: str | None


@dataclass(slots=True, eq=False)
class Entry:
    """One candidate. `place` is its arrival in the owner's log, the order of everything.

    `asked` are the neighbours that the judge was handed, while it is pending; `asked_by` is the
    decision that handed them over.
    """

    id: str
    place: int
    decided_at: datetime
    decision_id: str
    decision: str
    fields: CandidateFields
    text: str
    distinct: Distinct
    fingerprint: str | None
    asked: tuple[Neighbour, ...] = ()
    asked_by: str = ""
    memory: Memory = field(init=False)
    edges: list[Edge] = field(default_factory=list)
    living: bool = True
    pending: bool = False
    accesses: int = 0
    last_accessed: datetime | None = None


@dataclass(slots=True, eq=False)
class Edge:
    """A join. `place` orders the fold of the face; `texts` are its compositions, oldest first."""

    id: str
    decision: str
    newer: Entry
    older: Entry
    face: FaceRule
    similarity: float | None
    place: int
    decided_at: datetime
    rank: Rank
    policy: str | None
    standing: bool = True
    texts: list[Composition] = field(default_factory=list)

    @property
    def by_person(self) -> bool:
        """Whether a person said it: only such joins may support a memory that is one already."""
        return self.rank == "person"

    def other(self, entry: Entry) -> Entry:
        """The candidate at the other end."""
        return self.older if entry is self.newer else self.newer


class Face(NamedTuple):
    """The text that speaks: a candidate's or a composed one's, and what it displaced.

    `displaced` holds hashes of faces that an exact repeat may bring back; `lacking` is the join
    whose text would speak, had it not lost a source.
    """

    speaker: Entry
    composition: Composition | None = None
    displaced: frozenset[str] = frozenset()
    lacking: Edge | None = None

    @property
    def needs_composition(self) -> bool:
        """Whether a text has to be composed anew, of the sources that are left."""
        return self.lacking is not None

    @property
    def text(self) -> str:
        """What recall returns."""
        return self.composition.content.text if self.composition else self.speaker.text

    @property
    def hash(self) -> str:
        """The hash of the text that speaks."""
        return self.composition.content.hash if self.composition else self.speaker.distinct.hash

    @property
    def vector(self) -> Vector | None:
        """The vector of the text that speaks."""
        if self.composition is not None:
            return self.composition.content.vector
        return self.speaker.distinct.vector


@dataclass(slots=True, eq=False)
class Memory:
    """A component of standing joins; `members` by arrival.

    `refold` says that the face cannot be continued from here and must be folded from the start.
    """

    members: list[Entry]
    face: Face
    last_place: int
    refold: bool = False

    @property
    def id(self) -> str:
        """The id of the earliest member."""
        return self.members[0].id

    @property
    def namespace(self) -> str:
        """The namespace of all its members."""
        return self.members[0].fields.namespace

    @property
    def living(self) -> bool:
        """Whether any member is living: else it is not recalled."""
        return self.face.speaker.living

    def edges(self) -> Iterator[Edge]:
        """Its standing joins, each once."""
        for entry in self.members:
            for edge in entry.edges:
                if edge.standing and edge.newer is entry:
                    yield edge


@dataclass(frozen=True, slots=True)
class Lost:
    """A text that has to be composed anew: the sources that are left, and since which event."""

    sources: tuple[str, ...]
    event_id: str


@dataclass(frozen=True, slots=True)
class Statement:
    """What somebody said of a pair; the latest of the highest rank holds (design section 2)."""

    separated: bool
    rank: Rank

    def yields_to(self, later: Statement) -> bool:
        """Whether a later statement replaces this one."""
        return RANKS[later.rank] >= RANKS[self.rank]


@dataclass(slots=True)
class Scope:
    """A namespace of the owner: distinct texts in the order of arrival, and by hash.

    `changed` are the rows whose vector or life changed, in order; `faces` the first members of
    memories that began, changed or ended, in order: a search index reads on from where it stopped.
    """

    namespace: str
    by_hash: dict[str, Distinct] = field(default_factory=dict)
    rows: list[Distinct] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    faces: list[Entry] = field(default_factory=list)
    sessions: dict[str, list[Entry]] = field(default_factory=dict)


@dataclass(slots=True)
class Ledger:
    """All that the log says of one owner.

    `kept` are verdicts that may settle a pending candidate yet, in the order in which they came;
    `composing` are the joins whose text has to be composed anew, with what is left of it;
    `compacted` is where a session's conversation was last compacted, as places are counted.
    """

    owner_id: str
    entries: dict[str, Entry] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    scopes: dict[str, Scope] = field(default_factory=dict)
    statements: dict[str, dict[str, Statement]] = field(default_factory=dict)
    reviews: dict[str, Review] = field(default_factory=dict)
    kept: list[KeptVerdicts] = field(default_factory=list)
    composing: dict[str, Lost] = field(default_factory=dict)
    compacted: dict[str, int] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    seen: int = 0
    last_time: datetime | None = None

    def scope(self, namespace: str) -> Scope:
        """The scope of a namespace, made when first asked for."""
        found = self.scopes.get(namespace)
        if found is None:
            found = self.scopes[namespace] = Scope(namespace)
        return found

    def distinct(self, namespace: str, text_hash: str) -> Distinct | None:
        """The distinct candidate with this text, or the alias of a composed one."""
        scope = self.scopes.get(namespace)
        return scope.by_hash.get(text_hash) if scope else None

    def separated(self, a: str, b: str) -> Statement | None:
        """The standing separation of two candidates, if there is one."""
        statement = self.statements.get(a, {}).get(b)
        return statement if statement is not None and statement.separated else None

    def memories(self) -> list[Memory]:
        """Every memory once, in the order of their earliest members."""
        return [entry.memory for entry in self.entries.values() if entry.memory.id == entry.id]

    def at(self, now: datetime) -> datetime:
        """`now`, or the last decision's time where the clock went back."""
        return now if self.last_time is None or now > self.last_time else self.last_time

    def dissolve(self) -> None:
        """Part what holds each other, so that all of it goes without Python's collector.

        The ledger is of no use after it; entries keep what they say of themselves.
        """
        for entry in self.entries.values():
            del entry.memory
            entry.edges.clear()
        for scope in self.scopes.values():
            for distinct in scope.by_hash.values():
                distinct.members.clear()
                distinct.alias = None
