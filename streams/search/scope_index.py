"""Finds a new candidate's neighbours, by indexes that follow the ledger (docs/design.md).

An index depends on the ledger alone: it reads on from where it stopped, so events are not passed to
it. `search: candidates` searches distinct candidates, `search: memories` the faces of living
memories.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.errors import SearchError
from palimpsest.contracts.events import Vector
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.language import Language
from palimpsest.contracts.policy import CosineCheck, Policy, SessionCheck, TokenCheck
from palimpsest.streams.core.checks import in_session, session_texts
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger, Memory, Scope
from palimpsest.streams.guard import (
    Reading,
    is_note,
    kept_reading,
    kept_subject,
    shares_a_word,
    speaks_of,
    tables_of,
    tells_change,
    tells_deed,
    tells_past,
    tokens,
)
from palimpsest.streams.search import (
    FullTextIndex,
    Peers,
    SearchHit,
    SearchVector,
    TokenIndex,
    VectorIndex,
)
from palimpsest.streams.search.alike_index import AlikeIndex
from palimpsest.streams.search.content import content_tokens, terms
from palimpsest.streams.search.cosine.prepared import MOST, SearchVectors
from palimpsest.streams.search.exact import covered
from palimpsest.streams.search.frame_index import FrameIndex
from palimpsest.streams.search.morphemes import morphemes
from palimpsest.streams.search.prefetch import Prefetch

Float16 = NDArray[np.float16]

CHANGED_NEAR = 0.45
"""The cosine from which a text that reports a change is taken to change its nearest text."""
CHANGED_FROM = 0.35
"""The same, if the two have a word of content in common."""
NEAREST = 32
"""Number of nearest texts that are searched for one that speaks of the owner."""
_FEW = 8
"""Up to this number, adding rows one by one is faster."""
_tokens = lru_cache(maxsize=MOST)(tokens)
_ready = SearchVectors()


def vector_of(vector: Vector) -> Float16:
    """The numbers of a recorded vector, (dimension,) float16; read-only."""
    return np.frombuffer(a2b_base64(vector.data), dtype="<f2")


def coverage(one: Vector | None, other: Vector | None) -> float | None:
    """The score of the least similar window of two texts (`Neighbour.covered`).

    None if both fit the model's input, or if either is not completely embedded.
    """
    if one is None or other is None or not (one.truncated or other.truncated):
        return None
    if not (one.covers_text and other.covers_text) or one.model != other.model:
        return None
    return covered(windows_of(one), windows_of(other))


def windows_of(vector: Vector) -> Float16:
    """The numbers of a recorded vector and of its windows, (windows, dimension)."""
    return np.stack([vector_of(window) for window in vector.each()])


def prepare(vectors: Iterable[Vector]) -> None:
    """Prepare the vectors of a window, before its new candidates are searched one by one."""
    _ready.prepare(vector.data for vector in vectors)


def _searchable(vector: Vector) -> SearchVector:
    """A new candidate's vector for searching. Raises SearchError if it cannot be searched."""
    try:
        return _ready.of(vector.data)
    except ValueError as error:
        raise SearchError(_cannot(error)) from error


def _is_searchable(vector: Vector, dimension: int | None) -> bool:
    """Whether a vector has this dimension, and only finite numbers."""
    return _dimension(vector) == dimension and bool(np.isfinite(vector_of(vector)).all())


def _cannot(error: ValueError) -> str:
    return f"the scope cannot be searched for a newcomer: {error}"


def _dimension(vector: Vector) -> int:
    """The recorded dimension, computed from the data."""
    data = vector.data
    return (len(data) * 3 // 4 - data.count("=", -2)) // 2


Scores = dict[int, tuple[float | None, float | None]]
"""The cosine and the Jaccard score of each row."""


@cache
def _placeholder(dimension: int) -> SearchVector:
    """A unit vector for rows without one, which are never returned."""
    numbers = np.zeros(dimension, np.float16)
    numbers[0] = 1.0
    return SearchVector.of(numbers)


class Surroundings(NamedTuple):
    """What the checks must see of a new candidate, and the nearest by cosine, however far."""

    neighbours: tuple[Neighbour, ...]
    nearest: Neighbour | None


@dataclass(frozen=True, slots=True)
class Reach:
    """A policy's reach in a namespace: inclusive floors, and numbers of neighbours.

    It is all that a search takes from the policy, so policies of the same reach find the same.
    `languages` are the policy's, used to find texts that are near-identical but for the owner's
    names; None if those are not searched for.
    """

    cosine: float
    cosine_top: int
    jaccard: float
    tokens: TokenCheck | None
    session: SessionCheck | None
    model: str
    faces: bool
    frames: int
    languages: tuple[Language, ...] | None

    @property
    def near(self) -> float:
        """The lowest cosine that matters to a check of the scope or of the session."""
        return min(self.cosine, self.session.threshold) if self.session else self.cosine

    @property
    def near_top(self) -> int:
        """The number of nearest neighbours that these checks need."""
        nearest = self.session.nearest if self.session else None
        return max(self.cosine_top, nearest or 0)

    @classmethod
    def of(cls, policy: Policy, namespace: str) -> Reach:
        """The reach that a policy's checks need."""
        by_name = {check.check: check for check in policy.active}
        near, words, session = (by_name.get(name) for name in ("cosine", "tokens", "session"))
        zones = near.zones_of(namespace) if isinstance(near, CosineCheck) else ()
        similar = policy.similar.at_least if policy.similar else 1.0
        floors = [zones[-1].at_least, similar] if zones else [2.0]
        faces = policy.search == "memories"
        if isinstance(near, CosineCheck) and near.near_identical is not None:
            floors.append(near.near_identical)
        if zones and policy.judge.of_owner is not None:
            floors.append(policy.judge.of_owner)
        return cls(
            cosine=min(floors),
            cosine_top=near.top if isinstance(near, CosineCheck) else 0,
            jaccard=min(words.threshold, similar) if isinstance(words, TokenCheck) else 2.0,
            tokens=words if isinstance(words, TokenCheck) else None,
            session=session if isinstance(session, SessionCheck) else None,
            model=policy.model,
            faces=faces,
            frames=policy.judge.frames if policy.judge.enabled else 0,
            languages=policy.languages if policy.proves and not faces else None,
        )


@dataclass(slots=True)
class _Rows:
    """One row per searched candidate or face: its entry, and the indexes."""

    check: TokenCheck | None
    entries: list[Entry | None] = field(default_factory=list)
    vectors: VectorIndex | None = None
    tokens: TokenIndex = field(default_factory=TokenIndex)
    full_text: FullTextIndex | None = None
    _waiting: list[Vector | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.check is not None and self.check.among == "full_text":
            self.full_text = FullTextIndex()

    def put(self, row: int, entry: Entry | None, text: str, vector: Vector | None) -> None:
        """Set a row, or remove it from the search if it has no living entry.

        Raises ValueError, and changes nothing, if the vector is of another dimension than the rest.
        """
        new = row == len(self.entries)
        self._put_vector(row, vector if entry is not None else None, new=new)
        if new:
            self.entries.append(entry)
        else:
            self.entries[row] = entry
        if self.check is not None:
            self._put_words(row, text, new=new, out=entry is None)

    def _put_vector(self, row: int, vector: Vector | None, *, new: bool) -> None:
        """Set the vector of a row; as long as there is any, all have the dimension of the first."""
        if vector is not None:
            dimension = _dimension(vector)
            if self.vectors is None:
                self.vectors = VectorIndex(dimension)
            if dimension != self.vectors.dimension:
                if any(self._waiting) or self.vectors.has_any:
                    need = self.vectors.dimension
                    raise ValueError(f"need float16 {(need,)}, got {(dimension,)}")
                self.vectors, self._waiting = VectorIndex(dimension), [None] * len(self.entries)
        index = self.vectors
        if new:
            self._waiting.append(vector)
        elif index is None or row >= len(index):
            self._waiting[row - len(self.entries)] = vector
        elif vector is None:
            index.remove(row)
        else:
            index.replace(row, vector_of(vector))

    def _index(self) -> VectorIndex | None:
        """The index of all rows; None if there are no vectors. Raises ValueError for invalid ones.

        New vectors are added at the next search: if they were not prepared, a hundred together take
        half of the time.
        """
        index, waiting = self.vectors, self._waiting
        if index is None or not waiting:
            return index
        like = _placeholder(index.dimension)
        find = _ready.of if len(waiting) <= _FEW else _ready.kept
        ready = [find(vector.data) if vector else like for vector in waiting[:MOST]]
        if len(ready) == len(waiting) and all(ready):
            for one in filter(None, ready):
                index.append(one)
        else:
            each = (vector_of(vector) if vector else like.recorded for vector in waiting)
            index.extend(np.stack([*each]))
        first = len(index) - len(waiting)
        for number, vector in enumerate(waiting):
            if vector is None:
                index.remove(first + number)
        waiting.clear()
        return index

    def _index_for(self, dimension: int) -> VectorIndex | None:
        """The index of all rows; None if none is left, and they had another dimension."""
        index = self._index()
        if index is not None and index.dimension != dimension and not index.has_any:
            return None
        return index

    def near(
        self, query: SearchVector, floor: float, limit: int, *, best: bool = False
    ) -> list[SearchHit]:
        """The best rows of a query by cosine. Raises SearchError for another dimension.

        With `best`, the best row even if it is below the floor.
        """
        try:
            index = self._index_for(len(query.recorded))
            return index.near(query, floor, limit=limit, best=best) if index is not None else []
        except ValueError as error:
            raise SearchError(_cannot(error)) from error

    def near_each(self, queries: Float16, floor: float, limit: int) -> list[list[SearchHit]]:
        """Like `near` with `best`, for each query (b, dimension)."""
        try:
            index = self._index_for(queries.shape[1])
            if index is None:
                return [[] for _ in queries]
            return index.above(queries, floor, limit=limit, best=True)
        except ValueError as error:
            raise SearchError(_cannot(error)) from error

    def among(self, query: SearchVector, rows: list[int], floor: float) -> list[SearchHit]:
        """The given rows whose cosine with a query is at least a floor."""
        index = self._index()
        return index.among(query, rows, floor) if index is not None else []

    def cosines(self, query: SearchVector | None, rows: list[int]) -> list[float | None]:
        """The cosines of a query and some rows; None if either has no vector."""
        index = self._index() if query is not None and rows else None
        if index is None or query is None:
            return [None] * len(rows)
        return index.cosines(query, rows)

    def _put_words(self, row: int, text: str, *, new: bool, out: bool) -> None:
        """Set the words of a row, by which it is found even without a vector."""
        if new:
            self.tokens.append(self.tokens_of(text))
        if out:
            self.tokens.remove(row)
        elif not new:
            self.tokens.replace(row, self.tokens_of(text))
        if self.full_text is None:
            return
        if new:
            self.full_text.append(self._terms(text))
        if out:
            self.full_text.remove(row)
        elif not new:
            self.full_text.replace(row, self._terms(text))

    def tokens_of(self, text: str) -> frozenset[str]:
        """The tokens of a text, by the check's tokenizer."""
        if self.check is None:
            return frozenset()
        match self.check.tokenizer:
            case "words":
                return _tokens(text)
            case "content":
                return content_tokens(text)
            case "morphemes":
                return frozenset(morphemes(text))

    def _terms(self, text: str) -> tuple[str, ...]:
        """The terms of a text for full-text search."""
        as_morphemes = self.check is not None and self.check.tokenizer == "morphemes"
        return morphemes(text) if as_morphemes else terms(text)

    def by_tokens(self, text: str, floor: float) -> list[SearchHit]:
        """The rows whose Jaccard score reaches a floor, among those that the check considers."""
        if self.check is None:
            return []
        words = self.tokens_of(text)
        if self.full_text is None:
            return self.tokens.above(words, floor, limit=self.check.top)
        rows = self.full_text.best(self._terms(text), self.check.top)
        return self.tokens.among(words, rows, floor)


class _Gone:
    """The forgotten texts of a scope whose rewordings wait for a person; most scopes have none.

    A text whose vector cannot be compared with a new candidate's is found by its words alone. It
    raises no error, because nobody could take it out of the search, as is possible with a living
    text.
    """

    def __init__(self, scope: Scope, reach: Reach) -> None:
        self._scope = scope
        self._reach = reach
        self._begin(None)

    def _begin(self, dimension: int | None) -> None:
        """Index all texts anew, for candidates with vectors of a dimension."""
        self._dimension = dimension
        self._rows = _Rows(self._reach.tokens)
        self._texts: list[Distinct] = []
        self._row_of: dict[Distinct, int] = {}
        self._seen = 0

    def near(self, admit: Admit, query: SearchVector | None) -> tuple[Neighbour, ...]:
        """Forgotten texts near the new candidate, with exact scores."""
        if query is not None and len(query.recorded) != self._dimension:
            self._begin(len(query.recorded))
        journal = self._scope.forgotten
        for distinct, text in journal[self._seen :]:
            row = self._row_of.setdefault(distinct, len(self._texts))
            if row == len(self._texts):
                self._texts.append(distinct)
            vector = distinct.vector_of(self._reach.model)
            usable = vector is not None and _is_searchable(vector, self._dimension)
            self._rows.put(row, distinct.guarded, text, vector if usable else None)
        self._seen = len(journal)
        scored: Scores = {}
        if query is not None and self._reach.cosine_top:
            near = self._rows.near(query, self._reach.cosine, self._reach.cosine_top)
            scored = {hit.row: (hit.score, None) for hit in near}
        words = self._rows.by_tokens(admit.content.text, self._reach.jaccard)
        cosines = self._rows.cosines(query, [hit.row for hit in words])
        scored |= {hit.row: (c, hit.score) for hit, c in zip(words, cosines, strict=True)}
        return tuple(
            Neighbour(candidate_id=gone.id, cosine=cosine, jaccard=jaccard)
            for row, (cosine, jaccard) in scored.items()
            if (gone := self._texts[row].guarded) is not None
        )


def _is_of_a_relative(older: Reading, newcomer: Reading, names: tuple[str, ...]) -> bool:
    """Whether a text is about a relative of the owner whom the newcomer does not mention."""
    person = kept_subject(older.text, names)
    if person in (None, "owner", "other"):
        return False
    mentioned = {low.removesuffix("'s") for low in newcomer.lows}
    named = {text for text in older.texts[1:] if text[:1].isupper()}
    return mentioned.isdisjoint({person, "he", "she", "they"}) and named.isdisjoint(newcomer.texts)


class ScopeIndex:
    """The search index of one scope under one policy, only with vectors of the policy's model."""

    def __init__(self, scope: Scope, policy: Policy) -> None:
        self._scope = scope
        self._reach = reach = Reach.of(policy, scope.namespace)
        self._floor, self._top = reach.near, reach.near_top
        self._model, self._faces = reach.model, reach.faces
        self._rows = _Rows(reach.tokens)
        self._gone = _Gone(scope, reach)
        self._frames = FrameIndex(scope)
        self._alike = (
            AlikeIndex(scope, tables_of(reach.languages)) if reach.languages is not None else None
        )
        self._seen = self._changed = 0
        self._row_of: dict[Entry, int] = {}
        self._prefetched: Prefetch | None = None

    def prefetch(self, newcomers: Mapping[str, Vector]) -> None:
        """Search for all new candidates of a window together; a single one is left to `_near`.

        With `search: memories` each decision may change faces, so nothing is prefetched.
        """
        self._prefetched = None
        self.follow()
        top, floor = self._top, self._floor
        if self._faces or not top or len(newcomers) == 1:
            return
        queries = (_searchable(vector) for vector in newcomers.values())
        vectors = np.stack([query.recorded for query in queries])
        found = self._rows.near_each(vectors, floor, top)
        self._prefetched = Prefetch(list(newcomers), found, Peers(vectors), floor, top)

    def neighbours(self, ledger: Ledger, admit: Admit) -> tuple[Neighbour, ...]:
        """The candidates that the policy's checks must see, with exact scores."""
        return self.surroundings(ledger, admit, best=False).neighbours

    def surroundings(self, ledger: Ledger, admit: Admit, *, best: bool = True) -> Surroundings:
        """The neighbours of a new candidate, and with `best` the nearest of all, by one search.

        A new candidate without a vector is compared only by words.
        """
        self.follow()
        query = self._query(admit.content.vector)
        near = self._near(admit, query, best=best) if query is not None else []
        nearest = self._nearest(near)
        near = [hit for hit in near if hit.score >= self._floor]
        scored: Scores = {
            hit.row: (hit.score, None)
            for hit in near[: self._reach.cosine_top]
            if hit.score >= self._reach.cosine
        }
        if query is not None:
            by_session = self._by_session(ledger, admit, query, near)
            scored.update((hit.row, (hit.score, None)) for hit in by_session)
        known = {hit.row: hit.score for hit in near}
        scored.update(self._by_tokens(admit.content.text, query, known))
        if query is not None:
            scored.update(self._near_identical(ledger, admit, query, scored))
        return Surroundings(self._neighbours(admit, scored), nearest)

    def _nearest(self, near: list[SearchHit]) -> Neighbour | None:
        entry = self._rows.entries[near[0].row] if near else None
        if entry is None:
            return None
        return Neighbour(candidate_id=entry.id, cosine=near[0].score)

    def _near_identical(
        self, ledger: Ledger, admit: Admit, query: SearchVector, known: Scores
    ) -> Scores:
        """The rows that may differ from the new candidate only in how they call the owner."""
        if self._alike is None or not ledger.names:
            return {}
        alike = [distinct.row for distinct in self._alike.of(admit.content, ledger.names)]
        rows = [row for row in alike if row is not None and row not in known]
        cosines = self._rows.cosines(query, rows)
        return {row: (cosine, None) for row, cosine in zip(rows, cosines, strict=True)}

    def _neighbours(self, admit: Admit, scored: Scores) -> tuple[Neighbour, ...]:
        entries, own = self._rows.entries, admit.content.vector
        return tuple(
            Neighbour(
                candidate_id=entry.id,
                cosine=cosine,
                jaccard=jaccard,
                covered=coverage(own, self._vector(entry)),
            )
            for row, (cosine, jaccard) in scored.items()
            if (entry := entries[row]) is not None
        )

    def with_framed(
        self, admit: Admit, near: tuple[Neighbour, ...], names: tuple[str, ...]
    ) -> tuple[Neighbour, ...]:
        """The neighbours `near`, and the newest of those that share the new candidate's frame.

        The policy limits the number of the latter; those not in `near` get their cosine. `names`
        are the owner's.
        """
        row_of = self._framed(admit, names) if self._reach.frames else {}
        if not row_of:
            return near
        also = tuple(
            structs.replace(one, frame="also") if one.candidate_id in row_of else one
            for one in near
        )
        known = {one.candidate_id for one in near}
        only = [candidate for candidate in row_of if candidate not in known]
        rows = [row_of[candidate] for candidate in only]
        cosines = self._rows.cosines(self._query(admit.content.vector), rows)
        return also + tuple(
            Neighbour(candidate_id=candidate, cosine=cosine, frame="only")
            for candidate, cosine in zip(only, cosines, strict=True)
        )

    def _framed(self, admit: Admit, names: tuple[str, ...]) -> dict[str, int]:
        """The newest candidates that share a new candidate's frame, each with its row."""
        mates = self._frames.of(admit.content, names)
        mates += [one for one in self._changed_by(admit, names) if one not in mates]
        if names:
            alike = self._frames.of_one_gist(admit.content, names)
            mates += [one for one in alike if one not in mates]
        return {
            distinct.current.id: distinct.row
            for distinct in mates[: self._reach.frames]
            if distinct.current is not None and distinct.row is not None
        }

    def _changed_by(self, admit: Admit, names: tuple[str, ...]) -> list[Distinct]:
        """The text that a new candidate may change, if it reports a change; empty if none.

        It is the nearest text of one sentence that speaks of the owner or leaves its subject out;
        if the new candidate does neither, only the nearest text is considered. Something that the
        owner did may be a change as well, if the two texts are near and have a word in common.
        """
        content = admit.content
        query, newcomer = self._query(content.vector), kept_reading(content.text)
        if not names or query is None:
            return []
        speaks = speaks_of(content.text, names)
        tells = tells_change(newcomer)
        if not (tells or (speaks and tells_deed(newcomer))):
            return []
        looked_at = NEAREST if speaks or is_note(newcomer) else 1
        for hit in self._rows.near(query, CHANGED_FROM, looked_at):
            found = self._scope.rows[hit.row]
            older = kept_reading(found.members[0].text)
            if tells_past(older) or _is_of_a_relative(older, newcomer, names):
                continue
            if older.sentences == 1 and (speaks_of(older.text, names) or is_note(older)):
                shares = shares_a_word(older, newcomer, names)
                near = hit.score >= CHANGED_NEAR
                return [found] if (near and shares) or (tells and (near or shares)) else []
        return []

    def _vector(self, entry: Entry) -> Vector | None:
        """An entry's vector of the policy's model, for searching."""
        if self._faces:
            return self._of_face(entry.memory)
        return entry.distinct.vector_of(self._model)

    def _of_face(self, memory: Memory) -> Vector | None:
        vector = memory.face.vector
        if vector is not None and vector.model == self._model:
            return vector
        return memory.face.distinct.vector_of(self._model)

    def _query(self, vector: Vector | None) -> SearchVector | None:
        """A newcomer's vector for searching; None if its model is not that of the rows."""
        return _searchable(vector) if vector and vector.model == self._model else None

    def forgotten(self, admit: Admit) -> tuple[Neighbour, ...]:
        """The forgotten texts near a new candidate, if their rewordings wait for a person."""
        if not self._scope.forgotten:
            return ()
        return self._gone.near(admit, self._query(admit.content.vector))

    def _near(self, admit: Admit, query: SearchVector, *, best: bool) -> list[SearchHit]:
        """The best rows for the checks of the scope and of the session."""
        if not self._top:
            return []
        hits = self._prefetched.hits(admit.candidate_id) if self._prefetched else None
        if hits is None:
            hits = self._rows.near(query, self._floor, self._top, best=best)
        return hits

    def _by_session(
        self, ledger: Ledger, admit: Admit, query: SearchVector, near: list[SearchHit]
    ) -> list[SearchHit]:
        """The session's rows from its threshold on, in `near` unless many rows are near."""
        check = self._reach.session
        if check is not None and check.nearest is not None:
            return self._of_session(check, admit, near)
        if check is None:
            return []
        # `near` is sorted: if the last is under the threshold, so are all rows that it lacks.
        all_near = len(near) < self._reach.cosine_top or (
            bool(near) and near[-1].score < check.threshold
        )
        reaching = [hit for hit in near if hit.score >= check.threshold]
        if all_near and not reaching:
            return []
        recent = session_texts(ledger, admit, check.last)
        rows = [*dict.fromkeys(map(self._row, recent))]
        if all_near:
            return [hit for hit in reaching if hit.row in rows]
        return self._rows.among(query, rows, check.threshold)

    def _of_session(
        self, check: SessionCheck, admit: Admit, near: list[SearchHit]
    ) -> list[SearchHit]:
        """The nearest rows from the threshold on that are of the new candidate's session."""
        session_id, entries = admit.candidate.session_id, self._rows.entries
        return [
            hit
            for hit in near
            if hit.score >= check.threshold
            and (entry := entries[hit.row]) is not None
            and in_session(entry.distinct, session_id)
        ]

    def _by_tokens(
        self, text: str, query: SearchVector | None, known: Mapping[int, float]
    ) -> Scores:
        """The rows near by their tokens, with their cosines; `known` are those found already."""
        hits = self._rows.by_tokens(text, self._reach.jaccard)
        if not hits:
            return {}
        others = [hit.row for hit in hits if hit.row not in known]
        cosines: dict[int, float | None] = {**known}
        cosines.update(zip(others, self._rows.cosines(query, others), strict=True))
        return {hit.row: (cosines[hit.row], hit.score) for hit in hits}

    def _row(self, entry: Entry) -> int:
        if self._faces:
            return self._row_of[entry.memory.members[0]]
        assert entry.distinct.row is not None, "every admitted candidate has a row"
        return entry.distinct.row

    def follow(self) -> None:
        """Index what is new in the ledger.

        This is cheaper soon after an arrival, while the vector and tokens are cached.
        """
        if self._faces:
            journal = self._scope.faces
            for entry in dict.fromkeys(journal[self._seen :]):
                memory = entry.memory
                row = self._row_of.setdefault(entry, len(self._rows.entries))
                stands = memory.members[0] is entry and memory.current
                speaker = memory.face.speaker if stands else None
                self._set(row, speaker, memory.text, self._of_face(memory))
            self._seen = len(journal)
        else:
            rows, changed = self._scope.rows, self._scope.changed
            for row in range(self._seen, len(rows)):
                self._put(row, rows[row])
                # A row that no search returns must not count among the window's nearest either.
                if self._prefetched is not None and rows[row].current is not None:
                    self._prefetched.note_arrived(rows[row].members[0].id, row)
            for row in changed[self._changed :]:
                self._put(row, rows[row])
                self._prefetched = None
            self._seen, self._changed = len(rows), len(changed)

    def _put(self, row: int, distinct: Distinct) -> None:
        text = distinct.members[0].text
        self._set(row, distinct.current, text, distinct.vector_of(self._model))

    def _set(self, row: int, entry: Entry | None, text: str, vector: Vector | None) -> None:
        """Set a row. Raises SearchError if its vector cannot be searched."""
        try:
            self._rows.put(row, entry, text, vector)
        except ValueError as error:
            whose = f"the vector of candidate {entry.id}" if entry else "a vector"
            raise SearchError(f"{whose} cannot be searched: {error}") from error
