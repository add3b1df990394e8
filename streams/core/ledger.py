"""The ledger of one owner: candidates, joins, separations and their indexes (docs/design.md).

It is what the log folds into. Only `streams.core.evolve` changes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import msgspec
from msgspec import Struct

from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.events import (
    Again,
    Composition,
    FaceRule,
    FirstDecision,
    Rank,
    Settlement,
    Vector,
)
from palimpsest.contracts.evidence import Neighbour, Verdict
from palimpsest.streams.core.faces import Face, fold_face, own_face

Review = Literal["confirmed", "reversed"]
"""What a review said of a decision; nothing recorded means unreviewed."""


class Distinct(Struct, eq=False):
    """The candidates of a scope that have the same verbatim text: one row of the search index.

    `hash` is that of the verbatim text, and `search_hash` that of its search form. `said` is by
    which of them faces know the text again: by the former, unless an older event said it first,
    which knew the latter alone. `alias` is the newest source of a composed text that has no
    candidate of its own yet; until it has one there is no `row`. `composed_for` are the joins, also
    those that were taken out, for which the text was composed. `vector` is of the model in force,
    and `beside` are those of other models, by model; `model` is the one in force since it changed.
    """

    hash: str
    namespace: str
    search_hash: str
    said: str
    text: str
    vector: Vector | None = None
    row: int | None = None
    members: list[Entry] = msgspec.field(default_factory=list)
    alias: Entry | None = None
    composed_for: tuple[Edge, ...] = ()
    model: str | None = None
    beside: dict[str, Vector] | None = None

    def vector_of(self, model: str) -> Vector | None:
        """Its vector of a model, whether that is in force or not."""
        if self.vector is not None and self.vector.model == model:
            return self.vector
        return None if self.beside is None else self.beside.get(model)

    @property
    def target(self) -> Entry | None:
        """Whom an exact repeat joins: the earliest current, else the earliest, else the alias.

        Never one that was forgotten, or whose memory was: a newcomer does not bring it back. Nor
        one that has expired: what it said may be said anew.
        """
        if (living := self.lives_outside(())) is not None:
            return living
        for member in self.members or self._newest_source:
            if member.forgotten is None and not (member.expired or member.memory.forgotten):
                return member
        return None

    @property
    def over(self) -> bool:
        """Whether all who had this text have expired: who says it again begins another `Distinct`.

        Unless one of them was forgotten: that stands in the way of whoever says it again.
        """
        said = self.members or self._newest_source
        return (
            bool(said)
            and all(entry.expired and entry.forgotten is None for entry in said)
            and self.lives_outside(()) is None
        )

    @property
    def forgotten(self) -> Entry | None:
        """The latest forgotten candidate with this text; None if it lives.

        A composed text was forgotten with its newest source, also if a candidate says it by now.
        """
        if self.lives_outside(()) is not None:
            return None
        said = (*self.members, *self._newest_source)
        gone = [entry for entry in said if entry.forgotten is not None]
        if not gone:
            return None
        return max(gone, key=lambda entry: entry.forgotten.order if entry.forgotten else 0)

    @property
    def _newest_source(self) -> tuple[Entry, ...]:
        """That of a composed text, if it was one."""
        return (self.alias,) if self.alias is not None else ()

    @property
    def guarded(self) -> Entry | None:
        """Whose forgetting has rewordings of this text wait for a person."""
        gone = self.forgotten
        return gone if gone is not None and gone.forgotten and gone.forgotten.guards else None

    @property
    def representative(self) -> Entry | None:
        """The earliest living candidate with this text, expired or not: who stands for it."""
        for entry in self.members:  # a third of a generator's time; asked for with every event
            if entry.living:
                return entry
        return None

    @property
    def current(self) -> Entry | None:
        """The earliest current candidate with this text: whom a newcomer is compared with."""
        for entry in self.members:
            if entry.living and not entry.expired:
                return entry
        return None

    def lives_outside(self, homes: Collection[Memory]) -> Entry | None:
        """Who has this text current in none of these memories: a candidate, or a composed text."""
        for entry in self.members:
            if entry.living and not entry.expired and entry.memory not in homes:
                return entry
        return self.spoken_outside(homes)

    def spoken_outside(self, homes: Collection[Memory]) -> Entry | None:
        """Of another current memory whose composed face is this text: the alias, or the speaker."""
        for join in self.composed_for:
            memory = join.newer.memory
            if not join.standing or memory in homes or not memory.current:
                continue
            if memory.face.composed is self:
                first = self.alias
                is_its = first is not None and first.living and first.memory is memory
                return first if is_its else memory.face.speaker
        return None


@dataclass(frozen=True, slots=True)
class Answered:
    """The verdicts that came together about one candidate, and who brought them.

    `order` counts the owner's events.
    """

    event_id: str
    order: int
    verdicts: tuple[Verdict, ...]
    composition: Composition | None
    rank: Rank
    actor: str | None
    because: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of a candidate and a neighbour, whose text was compared, and with what else.

    `while_retracted`: one of the two was retracted at the time, so it waits for a restoration.
    """

    verdict: Verdict
    speaker: str
    given: Answered
    while_retracted: bool


@dataclass(frozen=True, slots=True)
class Forgetting:
    """By which request a candidate was forgotten, when, and what becomes of its text then.

    `order` counts the owner's events; a newcomer that waits because of it has 0, before all others.
    """

    cause: str
    again: Again
    earlier: bool
    at: datetime
    order: int

    @property
    def waits(self) -> bool:
        """Whether it is of a newcomer, which a person may let in."""
        return self.order == 0

    @property
    def guards(self) -> bool:
        """Whether rewordings of the text wait for a person."""
        return self.again != "allow"


class Retraction(NamedTuple):
    """By which request a candidate was retracted; `order` counts the owner's events."""

    cause: str | None
    order: int


_NO_MEMORY = cast("Memory", None)
"""That of an entry which no ledger holds: not yet, or not any more."""
_UNANSWERED: Mapping[str, Sequence[Answer]] = MappingProxyType({})


class Entry(Struct, eq=False):
    """One candidate. `place` is its arrival in the owner's log, the order of everything.

    `moment` is when it happened, where the log says so. The question: `asked` are the neighbours
    that the judge was handed, by the decision `asked_by`; `asks_beside`: its first
    decision joined it as well; `closed` says that it was settled by
    keeping, for want of an answer. `answers` are what was said of pairs, by neighbour. What
    `streams.core.walk` makes of them is kept in `pending`, in `open`, the ids still unanswered, and
    in `held`, whose answer joins but is held back.
    `forgotten` is by which request it was, if it was; so are newcomers that wait because of it.
    `apart` are the memories taken apart that it was a part of, `updates` are those that displaced
    it. `text_number` is how many texts the owner had said when it came, its own among them.
    `expires_at` is from when on it is hidden; `expired`: by the moment of the ledger; `pin` is the
    event by which it does not expire any more.
    One is *current* while it is living and has not expired.

    A struct of msgspec, as texts and what an event touched are: one is created for each event, in a
    quarter of the time that a dataclass takes. Most have no join, answer or separation, and share
    what is empty: there are as many entries in memory as candidates.
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
    moment: datetime | None = None
    asked: tuple[Neighbour, ...] = ()
    asked_by: str = ""
    asks_beside: bool = False
    closed: bool = False
    answers: Mapping[str, Sequence[Answer]] = _UNANSWERED
    memory: Memory = _NO_MEMORY
    edges: list[Edge] | tuple[()] = ()
    living: bool = True
    pending: bool = False
    open: tuple[str, ...] = ()
    held: str | None = None
    apart: tuple[SplitMemory, ...] = ()
    updates: tuple[Edge, ...] = ()
    forgotten: Forgetting | None = None
    accesses: int = 0
    last_accessed: datetime | None = None
    text_number: int = 0
    expires_at: datetime | None = None
    expired: bool = False
    pin: str | None = None

    @property
    def text_lives(self) -> bool:
        """Whether its text is living in its memory: as itself, or as a repeat of it."""
        living = self.distinct.representative
        return living is not None and living.memory is self.memory

    def add_edge(self, edge: Edge) -> None:
        """Note a join of this candidate."""
        if isinstance(self.edges, list):
            self.edges.append(edge)
        else:
            self.edges = [edge]


@dataclass(slots=True, eq=False)
class Edge:
    """A join. `place` orders the fold of the face.

    `texts` are its compositions by the events that brought them, oldest first, and `composed` the
    scope's distinct texts of them. `ranked`: the faces
    of both parts stand behind the winner (events that name their speakers). `former`: a person
    chose the face, and where it is `chosen` means the `winner`'s own text; `outright`: a rule did,
    and not by time; `over`: an update did, and this candidate had spoken until then; `forward`: a
    judge did, of this speaker. `differs` is what an exact repeat differs in that is not verbatim.
    `cause` is the request that the join belongs to,
    `reversed_by` the reversal; `freed`: an answer made it that had been held back. `order` counts
    the owner's events.
    """

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
    ranked: bool = False
    former: bool = False
    outright: bool = False
    over: Entry | None = None
    forward: str | None = None
    chosen: bool = False
    cause: str | None = None
    freed: bool = False
    order: int = 0
    standing: bool = True
    reversed_by: Reversal | None = None
    texts: dict[str, Composition] = field(default_factory=dict)
    composed: dict[str, Distinct] | None = None
    differs: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether it is of a verbatim repeat, which stays."""
        return self.face == "repeat" and not self.differs

    @property
    def folded(self) -> bool:
        """Whether its texts differ in more than the case of a sentence's start."""
        return any(kind != "sentence_case" for kind in self.differs)

    @property
    def by_person(self) -> bool:
        """Whether a person said it: only such joins may support a memory that is one already."""
        return self.rank == "person"

    @property
    def repeats_a_composition(self) -> bool:
        """Whether the newcomer said what was composed of the other's text."""
        return self.exact and self.newer.distinct is not self.older.distinct

    @property
    def winner(self) -> Entry:
        """The candidate whose side is to speak; of an update, the one that brings the text."""
        return self.newer if self.face == "take" else self.older

    def other(self, entry: Entry) -> Entry:
        """The candidate at the other end."""
        return self.older if entry is self.newer else self.newer


@dataclass(frozen=True, slots=True)
class Reversal:
    """By which event a join was taken out, for which request, and as whose consequence.

    `order` counts the owner's events; `rank` is that of who said so. `apart` is the memory that the
    request took apart with it, where it separated the two. `withdrew`: it took an update back, and
    with it the newcomer's text, which was living until then.
    """

    event_id: str
    order: int
    rank: Rank
    cause: str | None
    consequence_of: str | None
    apart: SplitMemory | None
    withdrew: bool = False


class Memory:
    """A component of standing joins; `members` by arrival.

    Its face is folded when somebody asks for it, and continued as long as nobody has to fold it
    again. `texted`: a text was composed for one of its joins. `apart` is the request that is taking
    it apart, of whose parts this is one; `divided` are the members that a request took apart from
    others, if there are any. No member or join comes after `last_place`. `updated` is the time of
    the last event that touched it, `seen` the number of that event among the owner's.
    """

    __slots__ = (
        "_again",
        "_face",
        "apart",
        "divided",
        "last_place",
        "members",
        "seen",
        "texted",
        "updated",
    )

    def __init__(self, members: list[Entry], last_place: int) -> None:
        self.members = members
        self.last_place = last_place
        self.texted = False
        self.apart: SplitMemory | None = None
        self.divided: set[Entry] | None = None
        self.updated = members[0].decided_at
        self.seen = 0
        self._face: Face | None = None
        self._again = False

    @property
    def face(self) -> Face:
        """The text that speaks for it."""
        if len(self.members) == 1:
            return own_face(self.members[0])  # what is said by nobody else is not kept
        if self._face is None:
            self._face, self._again = fold_face(self.members, self.edges())
        return self._face

    def keep_face(self, face: Face) -> None:
        """Use a face that was combined from those of its parts."""
        self._face, self._again = face, False

    def refold(self) -> None:
        """Have the face folded from the start when it is next asked for."""
        self._face = None

    @property
    def continuable(self) -> bool:
        """Whether a later join may continue the face from here."""
        if len(self.members) == 1:
            return self.members[0].living
        return self._face is not None and not self._again

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
        return self.members[0].living or any(entry.living for entry in self.members)

    @property
    def current(self) -> bool:
        """Whether any member is living, and has not expired by the ledger's moment."""
        first = self.members[0]  # as most: without a generator
        return (first.living and not first.expired) or any(
            entry.living and not entry.expired for entry in self.members
        )

    @property
    def expires_at(self) -> datetime | None:
        """From when on it is hidden: when its last living member expires; None: never."""
        last: datetime | None = None
        for entry in self.members:
            if entry.living:
                if entry.expires_at is None:
                    return None
                last = entry.expires_at if last is None else max(last, entry.expires_at)
        return last

    def has_expired(self, at: datetime) -> bool:
        """Whether it is hidden at a moment, because all of its living members have expired."""
        expires_at = self.expires_at
        return expires_at is not None and expires_at <= at

    @property
    def forgotten(self) -> bool:
        """Whether nobody in it is living, and somebody was forgotten."""
        return not self.living and any(entry.forgotten is not None for entry in self.members)

    @property
    def former(self) -> bool:
        """Whether an update that is of another memory by now displaced what it says."""
        return any(
            update.standing and update.winner.living and update.newer.memory is not self
            for entry in self.members
            for update in entry.updates
        )

    def edges(self) -> Iterator[Edge]:
        """Its standing joins, each once."""
        for entry in self.members:
            for edge in entry.edges:
                if edge.standing and edge.newer is entry:
                    yield edge


@dataclass(frozen=True, slots=True)
class Question:
    """A candidate's question as it was, and the decision by which it is another, or is closed.

    `order` counts the owner's events; `cause` is the request because of which it was closed.
    """

    decision: FirstDecision | Settlement
    asked: tuple[Neighbour, ...]
    replaced_by: str
    order: int
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """A text that must be recomposed: the sources that are left, and since which event."""

    sources: tuple[str, ...]
    event_id: str


@dataclass(slots=True, eq=False)
class Statement:
    """A statement about a pair; the latest of the highest rank holds (docs/design.md).

    `order` counts the owner's events. `text` is the composed text that it was said of: it holds
    while that one stands. `back` is the join that it brought back; it `only_takes_back` where the
    same rank had taken that out, and so says nothing anew.
    """

    event_id: str
    order: int
    separated: bool
    rank: Rank
    text: str | None = None
    withdrawn: bool = False
    back: str | None = None
    only_takes_back: bool = False


@dataclass(slots=True, eq=False)
class SplitMemory:
    """A memory that one request took apart: the ends of its reversals, with how many stand.

    Recorded by the reversals alone, so it grows with the memory and not with its pairs. `order` is
    that of the latest.
    """

    cause: str
    rank: Rank
    order: int = 0
    ends: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class LastRun:
    """The latest run of a step: its event, when it was due, and when it was recorded."""

    event_id: str
    due: datetime
    at: datetime


@dataclass(slots=True)
class Scope:
    """A namespace of the owner: distinct texts in the order of arrival, and by hash.

    `by_search` has them by the hash of their search form. `changed` are the rows whose vector or
    life changed, in order; `faces` the first members of memories that began, changed or ended, in
    order: a search index reads on from where it stopped. `forgotten` are the texts whose rewordings
    may have to wait for a person, again as they change, and `forgotten_words` the same by their
    words alone.
    """

    namespace: str
    by_hash: dict[str, Distinct] = field(default_factory=dict)
    by_search: dict[str, tuple[Distinct, ...]] = field(default_factory=dict)
    rows: list[Distinct] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    faces: list[Entry] = field(default_factory=list)
    forgotten: list[tuple[Distinct, str]] = field(default_factory=list)
    forgotten_words: dict[str, list[Distinct]] = field(default_factory=dict)
    sessions: dict[str, list[Entry]] = field(default_factory=dict)


@dataclass(slots=True)
class Ledger:
    """All that the log says of one owner.

    `statements` are what was said of pairs, oldest first, and `separations` the pairs by the event
    that separated them. `held` are candidates with an answer that something hinders or has just
    freed; `watchers` are, for a candidate, those whose question depends on where it lives.
    `composing` are the joins whose text must be recomposed, with what is left of it, and
    `composed_by` the joins by the events that brought their texts; `recomposed` are events that
    brought such a text again for its candidate, by those that had. `questions` are former
    questions of candidates that were decided on again, by the request, and `closed` those that an
    answer closed which had been held back. `compacted` is where a
    session's conversation was last compacted, as places are counted. `made` are the standing joins
    that a request made, and `freed` all that an answer made once nothing held it back;
    `consequences` are the joins that a request took out because of another one. `texts` counts what
    the owner said that was not said in its scope before. `runs` are the latest batch runs, by step.
    `uses_recorded` is when gathered uses were last recorded.
    `turned_away` are candidates that were refused because their text was forgotten.
    `retractions` are those that stand and are no forgetting, by candidate.
    `names` are those by which texts may call the owner.
    `unembedded` are the texts that have no vector, because the model was down, by the first
    candidate of each. `expiring` is a heap of who will expire, by when and which event set it,
    and `moment` the latest at which somebody was found to have (`streams.core.expiry`). `model` is
    the embedding model in force, once that has changed (`streams.core.models`).
    """

    owner_id: str
    entries: dict[str, Entry] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    scopes: dict[str, Scope] = field(default_factory=dict)
    statements: dict[str, dict[str, list[Statement]]] = field(default_factory=dict)
    separations: dict[str, tuple[str, str]] = field(default_factory=dict)
    reviews: dict[str, Review] = field(default_factory=dict)
    held: dict[str, Entry] = field(default_factory=dict)
    watchers: dict[str, dict[str, Entry]] = field(default_factory=dict)
    questions: dict[str, dict[str, Question]] = field(default_factory=dict)
    closed: dict[str, Question] = field(default_factory=dict)
    composing: dict[str, Lost] = field(default_factory=dict)
    composed_by: dict[str, Edge] = field(default_factory=dict)
    recomposed: dict[str, str] = field(default_factory=dict)
    compacted: dict[str, int] = field(default_factory=dict)
    made: dict[str, dict[str, Edge]] = field(default_factory=dict)
    freed: list[Edge] = field(default_factory=list)
    consequences: dict[str, dict[str, Edge]] = field(default_factory=dict)
    runs: dict[str, LastRun] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    seen: int = 0
    texts: int = 0
    unembedded: dict[str, Distinct] = field(default_factory=dict)
    turned_away: set[str] = field(default_factory=set)
    retractions: dict[str, Retraction] = field(default_factory=dict)
    expiring: list[tuple[datetime, int, Entry]] = field(default_factory=list)
    moment: datetime | None = None
    last_time: datetime | None = None
    uses_recorded: datetime | None = None
    model: str | None = None
    names: tuple[str, ...] = ()

    def scope(self, namespace: str) -> Scope:
        """The scope of a namespace, made when first asked for."""
        found = self.scopes.get(namespace)
        if found is None:
            found = self.scopes[namespace] = Scope(namespace)
        return found

    def distinct(self, namespace: str, verbatim_hash: str) -> Distinct | None:
        """The distinct candidate with this text, or the alias of a composed one."""
        scope = self.scopes.get(namespace)
        return scope.by_hash.get(verbatim_hash) if scope else None

    def of_search_form(self, namespace: str, search_hash: str) -> Sequence[Distinct]:
        """The distinct texts of one search form, in the order in which they came."""
        scope = self.scopes.get(namespace)
        return scope.by_search.get(search_hash, ()) if scope else ()

    def memories(self) -> list[Memory]:
        """Every memory once, in the order of their earliest members."""
        return [entry.memory for entry in self.entries.values() if entry.memory.id == entry.id]

    def without_windows(self) -> list[Distinct]:
        """The texts of which only the beginning is embedded: from before long ones had windows."""
        rows = (distinct for scope in self.scopes.values() for distinct in scope.rows)
        return [row for row in rows if row.vector is not None and not row.vector.covers_text]

    def at(self, now: datetime) -> datetime:
        """`now`, or the last decision's time where the clock went back."""
        return now if self.last_time is None or now > self.last_time else self.last_time

    def dissolve(self) -> None:
        """Break reference cycles, so that reference counting frees the ledger.

        The ledger is of no use after it; entries keep what they say of themselves.
        """
        self.watchers.clear()
        self.held.clear()
        self.expiring.clear()
        self.composed_by.clear()
        self.recomposed.clear()
        for entry in self.entries.values():
            entry.memory = _NO_MEMORY
            entry.edges = ()
            entry.updates = ()
        for scope in self.scopes.values():
            for distinct in scope.by_hash.values():
                distinct.members.clear()
                distinct.alias = None
                distinct.composed_for = ()
