"""The ledger of one owner: candidates, joins, separations and their indexes (docs/design.md).

The log is folded into it. Only `streams.core.evolve` and `streams.core.expiry.advance` change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import msgspec
from msgspec import Struct

from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.events import (
    Again,
    Composition,
    ExpirySet,
    FaceRule,
    FirstDecision,
    Rank,
    Settlement,
    Vector,
)
from palimpsest.contracts.evidence import Neighbour, Verdict
from palimpsest.streams.core.faces import Face, fold_face

Review = Literal["confirmed", "reversed"]
"""The result of a decision's review; without one the decision is unreviewed."""


class Distinct(Struct, eq=False):
    """The candidates of a scope that have the same verbatim text: one row of the search index.

    `hash` is that of the verbatim text, and `search_hash` that of its search form. `said` is the
    key by which faces recognise the text: its `hash`, or the hash of its search form if the first
    event with the text is an older one that recorded only that. As long as no candidate has a
    composed text as its own, `alias` is the newest source of the text, and there is no `row`.
    `composed_for` are the joins, including reversed ones, for which the text was composed. `vector`
    is of the model in force, and `beside` has those of other models, by model; `model` is the model
    in force, set once that has changed.
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
        """Its vector of a model, whether or not that model is in force."""
        if self.vector is not None and self.vector.model == model:
            return self.vector
        return None if self.beside is None else self.beside.get(model)

    @property
    def target(self) -> Entry | None:
        """The candidate that a repeat joins: the earliest current, else the earliest, else alias.

        It is never one that was forgotten, or whose memory was, because a newcomer does not bring
        it back; nor one that has expired, because its text may be said anew.
        """
        if (living := self.lives_outside(())) is not None:
            return living
        for member in self.members or self._newest_source:
            if member.forgotten is None and not (member.expired or member.memory.forgotten):
                return member
        return None

    @property
    def over(self) -> bool:
        """Whether all candidates with this text have expired: a repeat begins another `Distinct`.

        If one of them was forgotten, the text is not over: the forgetting still applies to repeats.
        """
        said = self.members or self._newest_source
        return (
            bool(said)
            and all(entry.expired and entry.forgotten is None for entry in said)
            and self.lives_outside(()) is None
        )

    @property
    def forgotten(self) -> Entry | None:
        """The latest forgotten candidate with this text; None if the text lives.

        A composed text was forgotten with its newest source, even if a candidate says it by now.
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
        """The newest source of a composed text; empty for other texts."""
        return (self.alias,) if self.alias is not None else ()

    @property
    def guarded(self) -> Entry | None:
        """The forgotten candidate that makes rewordings of this text wait for a person, if any."""
        gone = self.forgotten
        return gone if gone is not None and gone.forgotten and gone.forgotten.guards else None

    @property
    def representative(self) -> Entry | None:
        """The earliest living candidate with this text, expired or not."""
        for entry in self.members:  # runs for every event, in a third of a generator's time
            if entry.living:
                return entry
        return None

    @property
    def current(self) -> Entry | None:
        """The earliest current candidate with this text, which newcomers are compared with."""
        for entry in self.members:
            if entry.living and not entry.expired:
                return entry
        return None

    def lives_outside(self, homes: Collection[Memory]) -> Entry | None:
        """A current candidate outside these memories that has this text, or speaks it as a face."""
        for entry in self.members:
            if entry.living and not entry.expired and entry.memory not in homes:
                return entry
        return self.spoken_outside(homes)

    def spoken_outside(self, homes: Collection[Memory]) -> Entry | None:
        """The alias, or else the speaker, of another current memory with this composed face."""
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
    """The verdicts that arrived together about one candidate, and who sent them.

    `order` is the number of their event among the owner's.
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
    """A verdict on a candidate and a neighbour, the speaker compared, and what came with it.

    `while_retracted`: one of the two was retracted when it came, so it waits for a restoration.
    """

    verdict: Verdict
    speaker: str
    given: Answered
    while_retracted: bool


@dataclass(frozen=True, slots=True)
class Forgetting:
    """The request that forgot a candidate, the time, and what happens if its text comes again.

    `order` is the number of its event among the owner's. A newcomer that waits because of a
    forgetting has one, too, with `order` 0.
    """

    cause: str
    again: Again
    earlier: bool
    at: datetime
    order: int

    @property
    def waits(self) -> bool:
        """Whether its candidate is a newcomer that waits until a person admits it."""
        return self.order == 0

    @property
    def guards(self) -> bool:
        """Whether rewordings of the text wait for a person."""
        return self.again != "allow"


class Retraction(NamedTuple):
    """The request that retracted a candidate; `order` is its event's number among the owner's."""

    cause: str | None
    order: int


_NO_MEMORY = cast("Memory", None)
"""The memory of an entry that is not yet, or no longer, in a ledger."""
_UNANSWERED: Mapping[str, Sequence[Answer]] = MappingProxyType({})


class Entry(Struct, eq=False):
    """One candidate. `place` is the number of its first event among the owner's: its arrival.

    `moment` is when it happened, if the log says so. Its question to the judge is about the
    neighbours `asked`, named by the decision `asked_by`. `asks_beside`: its first decision asked
    the judge and also joined it. `closed`: the question has ended without a join, for lack of an
    answer or of a usable text. `answers` are the verdicts, by neighbour. From these
    `streams.core.walk` derives `pending`, `open` (the neighbours without an answer) and `held` (a
    neighbour whose answer joins, but is held back).
    `forgotten` is set if it was forgotten, or if it is a newcomer that waits because of a
    forgetting. `apart` are the split memories that it was part of, `updates` the updates that
    displaced it. `text_number` counts the owner's texts up to and including its own. `expires_at`
    is when it becomes hidden, and `expired` whether it is at the ledger's moment; `pins` are the
    events by which persons set that time, except those taken back.
    An entry is *current* while it is living and has not expired.

    Like texts and `Touched` it is a msgspec struct, because one is created for each event, in a
    quarter of the time that a dataclass takes. Most entries have no join, answer or separation, and
    share empty values, because there are as many entries in memory as candidates.
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
    pins: tuple[ExpirySet, ...] = ()

    @property
    def text_lives(self) -> bool:
        """Whether its text is living in its memory: its own, or that of a repeat."""
        living = self.distinct.representative
        return living is not None and living.memory is self.memory

    def add_edge(self, edge: Edge) -> None:
        """Add a join of this candidate."""
        if isinstance(self.edges, list):
            self.edges.append(edge)
        else:
            self.edges = [edge]


@dataclass(slots=True, eq=False)
class Edge:
    """A join. `place` orders the fold of the face.

    `texts` are its compositions by the events that brought them, oldest first, and `composed` the
    distinct texts of these. `ranked`: a repeat of either part's face brings back the winner, once
    that is displaced (in events that name their speakers). Who chose the face: a person if `former`
    (with `chosen`, the `winner`'s own text); a rule that ignores time if `outright`; an update if
    `over` is set, to the candidate that spoke until then; the judge if `forward` is set, to the
    speaker that was replaced. `differs` says how an exact repeat that is not verbatim differs.
    `cause` is the request that the join belongs to, `reversed_by` the reversal; `freed`: made by an
    answer that had been held back. `order` is the number of its event among the owner's.
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
        """Whether it joins a verbatim repeat, which stays joined."""
        return self.face == "repeat" and not self.differs

    @property
    def folded(self) -> bool:
        """Whether it joins a repeat that differs in more than the case of sentence starts."""
        return any(kind != "sentence_case" for kind in self.differs)

    @property
    def by_person(self) -> bool:
        """Whether a person made it: only such joins may connect candidates of one memory."""
        return self.rank == "person"

    @property
    def repeats_a_composition(self) -> bool:
        """Whether the newcomer repeats a text that was composed from the other candidate's."""
        return self.exact and self.newer.distinct is not self.older.distinct

    @property
    def winner(self) -> Entry:
        """The candidate whose side is to speak; for an update, the one with the new text."""
        return self.newer if self.face == "take" else self.older

    def other(self, entry: Entry) -> Entry:
        """The candidate at the other end."""
        return self.older if entry is self.newer else self.newer


@dataclass(frozen=True, slots=True)
class Reversal:
    """The event that reversed a join, its request, and the join it is a consequence of, if any.

    `order` is the event's number among the owner's; `rank` is that of the statement. `apart` is the
    memory that the request split, if it separated the pair. `withdrew`: it undid an update, and
    retracted the newcomer, which was living until then.
    """

    event_id: str
    order: int
    rank: Rank
    cause: str | None
    consequence_of: str | None
    apart: SplitMemory | None
    withdrew: bool = False


class Memory:
    """A connected component of standing joins; `members` by arrival.

    Its face is folded on first use; later joins continue it, unless it has to be folded again from
    the start. `texted`: a text was composed for one of its joins. `apart` is set while a request
    splits the memory that this is a part of; `divided` are the members that a request has separated
    from others, if any. No member or join comes after `last_place`. `updated` is the time of the
    last event that touched it, `seen` the number of that event among the owner's.
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
            return Face(self.members[0])  # not kept, to save memory
        if self._face is None:
            self._face, self._again = fold_face(self.members, self.edges())
        return self._face

    @property
    def text(self) -> str:
        """The text of the face; for a single candidate, its own, without making a face."""
        return self.members[0].text if len(self.members) == 1 else self.face.text

    def keep_face(self, face: Face) -> None:
        """Keep a face that was combined from the faces of its parts."""
        self._face, self._again = face, False

    def refold(self) -> None:
        """Mark the face to be folded from the start on its next use."""
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
        """Whether any member is living; a memory without one is not recalled."""
        return self.members[0].living or any(entry.living for entry in self.members)

    @property
    def current(self) -> bool:
        """Whether any member is living, and has not expired by the ledger's moment."""
        first = self.members[0]  # the usual case, without a generator
        return (first.living and not first.expired) or any(
            entry.living and not entry.expired for entry in self.members
        )

    @property
    def expires_at(self) -> datetime | None:
        """When its last living member expires, which hides it; None if never, or none is living."""
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
        """Whether no member is living and at least one was forgotten."""
        return not self.living and any(entry.forgotten is not None for entry in self.members)

    @property
    def former(self) -> bool:
        """Whether its text was displaced by an update that now belongs to another memory."""
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
    """A candidate's former question, which was replaced or closed by an event.

    `decision` is the one to record when it is restored, and `replaced_by` the decision that asks
    now: for a closed question, the one that had asked it. `order` is the number of the replacing or
    closing event among the owner's; `cause` is the request that led to closing it.
    """

    decision: FirstDecision | Settlement
    asked: tuple[Neighbour, ...]
    replaced_by: str
    order: int
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """A text that must be recomposed: the remaining sources, and the event that made it so."""

    sources: tuple[str, ...]
    event_id: str


@dataclass(slots=True, eq=False)
class Statement:
    """A statement about a pair; the latest of the highest rank holds (docs/design.md).

    `order` is the number of its event among the owner's. `text` is the event of the composed text
    that it is about, if any; it holds while that text stands. `back` is the join that it
    reinstated; `only_takes_back`: the reversal that it took back was of the same rank or a higher
    one, so that nothing new is stated.
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
    """A memory that a single request took apart.

    `ends` counts, for each candidate, the reversals of its joins by the request that still stand.
    Only these are recorded, so it grows with the memory and not with its pairs. `order` is that of
    the latest reversal.
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

    `by_search` has them by the hash of their search form. `changed` are the rows whose vector
    changed, or that became living, retracted or hidden; `faces` are the first members of memories
    that began, changed or ended. Both are in order, and a search index reads on from where it
    stopped. `forgotten` are the texts whose rewordings may have to wait for a person, appended
    again when they change; `forgotten_words` has them by the words of their search form.
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
    """All that the log says about one owner.

    `statements` are the statements about pairs, oldest first; `separations` are the pairs by the
    event that separated them. `held` are candidates with an answer that something holds back or has
    just released; `watchers` lists, for a candidate, the entries whose question depends on where it
    lives.
    `composing` are the joins whose text must be recomposed, with the remaining sources;
    `composed_by` has joins by the events that brought their texts; `recomposed` maps the event of
    such a text to the one that brought it again for its candidate. `questions` are the former
    questions of candidates that were decided again, by request; `closed` are questions closed by an
    answer that had been held back. `compacted` is the place at which a session's conversation was
    last compacted.
    `made` are the standing joins that a request made, and `freed` all joins made by an answer once
    nothing held it back; `consequences` are the joins that a request reversed because of another
    one. `texts` counts the owner's texts that were new in their scope. `runs` are the latest batch
    runs, by step. `uses_recorded` is when gathered uses were last recorded.
    `turned_away` are candidates that were refused because their text was forgotten.
    `took` are the candidates that a request ever hid, and the joins that it reversed, by request.
    `retractions` are those in force, except forgettings, by candidate. `names` are the names that
    texts may call the owner by. `unembedded` are the texts that lack a vector because the model was
    down, by the first candidate of each.
    `expiring` is a heap of the candidates that will expire, by time and the event that set it;
    `moment` is the latest moment at which one was found to have expired (`streams.core.expiry`).
    `model` is the embedding model in force, once that has changed (`streams.core.models`).
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
    took: dict[str, list[str]] = field(default_factory=dict)
    expiring: list[tuple[datetime, int, str]] = field(default_factory=list)
    moment: datetime | None = None
    last_time: datetime | None = None
    uses_recorded: datetime | None = None
    model: str | None = None
    names: tuple[str, ...] = ()

    def scope(self, namespace: str) -> Scope:
        """The scope of a namespace, created on first use."""
        found = self.scopes.get(namespace)
        if found is None:
            found = self.scopes[namespace] = Scope(namespace)
        return found

    def distinct(self, namespace: str, verbatim_hash: str) -> Distinct | None:
        """The scope's distinct text with this hash, if any."""
        scope = self.scopes.get(namespace)
        return scope.by_hash.get(verbatim_hash) if scope else None

    def of_search_form(self, namespace: str, search_hash: str) -> Sequence[Distinct]:
        """The distinct texts of one search form, by arrival."""
        scope = self.scopes.get(namespace)
        return scope.by_search.get(search_hash, ()) if scope else ()

    def memories(self) -> list[Memory]:
        """Every memory once, in the order of their earliest members."""
        return [entry.memory for entry in self.entries.values() if entry.memory.id == entry.id]

    def without_windows(self) -> list[Distinct]:
        """The texts embedded only at their beginning, stored before long texts had windows."""
        rows = (distinct for scope in self.scopes.values() for distinct in scope.rows)
        return [row for row in rows if row.vector is not None and not row.vector.covers_text]

    def at(self, now: datetime) -> datetime:
        """`now`, or the time of the last event if the clock went back."""
        return now if self.last_time is None or now > self.last_time else self.last_time

    def dissolve(self) -> None:
        """Break reference cycles, so that reference counting frees the ledger.

        The ledger is unusable afterwards; entries keep their own fields.
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
            for distinct in chain.from_iterable(scope.by_search.values()):
                distinct.members.clear()
                distinct.alias = None
                distinct.composed_for = ()
