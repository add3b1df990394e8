"""A newcomer's neighbours in its scope, from indexes that follow the ledger (design sections 2, 5).

An index is a function of the ledger: it reads on from where it stopped, so nobody has to tell it
about events. `search: candidates` looks through distinct candidates, `search: memories` through
the faces of living memories.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from contracts.commands import Admit
from contracts.events import Vector
from contracts.evidence import Neighbour
from contracts.policy import CosineCheck, Policy, SessionCheck, TokenCheck
from streams.core.checks import session_texts
from streams.core.ledger import Entry, Ledger, Scope
from streams.guard import tokens
from streams.search import Hit, TokenIndex, VectorIndex

Float16 = NDArray[np.float16]

_tokens = lru_cache(maxsize=1024)(tokens)
"""A newcomer's tokens are needed twice: for its own search, and for the row that it becomes."""


def vector_of(vector: Vector) -> Float16:
    """The numbers of a recorded vector, (dimension,) float16."""
    return np.frombuffer(base64.b64decode(vector.data), dtype="<f2")


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a policy looks in a namespace: floors, inclusive, and how many of the best."""

    cosine: float
    cosine_top: int
    jaccard: float | None
    jaccard_top: int
    session: SessionCheck | None

    @classmethod
    def of(cls, policy: Policy, namespace: str) -> Reach:
        """What the checks of a policy need to see."""
        by_name = {check.check: check for check in policy.checks}
        near, words, session = (by_name.get(name) for name in ("cosine", "tokens", "session"))
        zones = near.zones_of(namespace) if isinstance(near, CosineCheck) else ()
        return cls(
            cosine=zones[-1].at_least if zones else 2.0,
            cosine_top=near.top if isinstance(near, CosineCheck) else 0,
            jaccard=words.threshold if isinstance(words, TokenCheck) else None,
            jaccard_top=words.top if isinstance(words, TokenCheck) else 0,
            session=session if isinstance(session, SessionCheck) else None,
        )


@dataclass(slots=True)
class _Rows:
    """One index row for each thing searched: whom it stands for, and both kinds of index."""

    dimension: int
    with_tokens: bool
    entries: list[Entry | None] = field(default_factory=list)
    vectors: VectorIndex = field(init=False)
    tokens: TokenIndex = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = VectorIndex(self.dimension)
        self.tokens = TokenIndex()

    def put(self, row: int, entry: Entry | None, text: str, vector: Vector | None) -> None:
        """Set a row, or take it out of the search where nobody living speaks for it."""
        new = row == len(self.entries)
        if new:
            self.entries.append(entry)
            self._append(text, vector)
        else:
            self.entries[row] = entry
        if entry is None or vector is None:
            self.vectors.remove(row)
            self.tokens.remove(row)
        elif not new:
            self.vectors.replace(row, vector_of(vector))
            if self.with_tokens:
                self.tokens.replace(row, _tokens(text))

    def _append(self, text: str, vector: Vector | None) -> None:
        numbers = vector_of(vector) if vector else _unit(self.dimension)
        self.vectors.append(numbers)
        self.tokens.append(_tokens(text) if self.with_tokens else frozenset())


def _unit(dimension: int) -> Float16:
    """A stand-in for a row that is taken out at once: an index holds unit vectors only."""
    numbers = np.zeros(dimension, dtype=np.float16)
    numbers[0] = 1.0
    return numbers


class ScopeIndex:
    """The search index of one scope under one kind of search."""

    def __init__(self, scope: Scope, policy: Policy, dimension: int) -> None:
        self._scope = scope
        self._reach = Reach.of(policy, scope.namespace)
        self._faces = policy.search == "memories"
        self._rows = _Rows(dimension, self._reach.jaccard is not None)
        self._seen = self._changed = 0
        self._row_of: dict[Entry, int] = {}
        self._ahead: dict[str, list[Hit]] = {}
        self._ahead_of = (0, 0)

    def look_ahead(self, queries: Sequence[tuple[str, Float16]]) -> None:
        """Search for many newcomers at once; what arrives before their turn is searched then.

        Faces change under a newcomer's feet, so with `search: memories` nothing is looked up early.
        """
        self._ahead.clear()
        self._follow()
        if self._faces or len(queries) < 2 or not self._rows.entries:
            return
        found = self._above(np.stack([vector for _, vector in queries]), 0)
        self._ahead = {query[0]: hits for query, hits in zip(queries, found, strict=True)}
        self._ahead_of = len(self._rows.entries), self._changed

    def neighbours(self, ledger: Ledger, admit: Admit) -> tuple[Neighbour, ...]:
        """Everyone whom the policy's checks must see, with exact scores."""
        self._follow()
        vector = admit.content.vector
        if vector is None:
            return ()
        numbers = vector_of(vector)
        found = {e.id: (e, score, None) for e, score in self._by_cosine(admit, numbers)}
        scored: dict[str, tuple[Entry, float, float | None]] = dict(found)
        for entry, score in self._by_session(ledger, admit, numbers):
            scored.setdefault(entry.id, (entry, score, None))
        by_tokens = self._by_tokens(admit)
        rows = [self._row(entry) for entry, _ in by_tokens]
        cosines = self._rows.vectors.cosines(numbers, rows)
        for (entry, jaccard), near in zip(by_tokens, cosines, strict=True):
            scored[entry.id] = (entry, near, jaccard)
        return tuple(
            Neighbour(candidate_id=entry.id, cosine=near, jaccard=jaccard)
            for entry, near, jaccard in scored.values()
        )

    def _by_cosine(self, admit: Admit, numbers: Float16) -> list[tuple[Entry, float]]:
        start, hits = self._looked_up(admit.candidate_id)
        if start < len(self._rows.entries):
            hits = hits + self._above(numbers[None, :], start)[0]
            hits.sort(key=lambda hit: (-hit.score, hit.row))
        return self._living(hits)[: self._reach.cosine_top]

    def _looked_up(self, candidate_id: str) -> tuple[int, list[Hit]]:
        """How many rows were searched early, and what was found, if no row has changed since."""
        hits = self._ahead.pop(candidate_id, None)
        size, changed = self._ahead_of
        return (0, []) if hits is None or changed != self._changed else (size, hits)

    def _above(self, queries: Float16, start: int) -> list[list[Hit]]:
        if not self._reach.cosine_top:
            return [[] for _ in queries]
        floor, top = self._reach.cosine, self._reach.cosine_top
        return self._rows.vectors.above(queries, floor, limit=top, start=start)

    def _by_session(
        self, ledger: Ledger, admit: Admit, numbers: Float16
    ) -> list[tuple[Entry, float]]:
        check = self._reach.session
        if check is None:
            return []
        recent = session_texts(ledger, admit, check.last)
        rows = [*dict.fromkeys(map(self._row, recent))]
        return self._living(self._rows.vectors.among(numbers, rows, check.threshold))

    def _living(self, hits: list[Hit]) -> list[tuple[Entry, float]]:
        pairs = ((self._rows.entries[hit.row], hit.score) for hit in hits)
        return [(entry, score) for entry, score in pairs if entry is not None]

    def _by_tokens(self, admit: Admit) -> list[tuple[Entry, float]]:
        floor = self._reach.jaccard
        if floor is None:
            return []
        words = _tokens(admit.content.text)
        return self._living(self._rows.tokens.above(words, floor, limit=self._reach.jaccard_top))

    def _row(self, entry: Entry) -> int:
        if self._faces:
            return self._row_of[entry.memory.members[0]]
        assert entry.distinct.row is not None, "whoever was admitted has a row"
        return entry.distinct.row

    def _follow(self) -> None:
        if self._faces:
            self._follow_faces()
        else:
            self._follow_candidates()

    def _follow_candidates(self) -> None:
        rows, changed = self._scope.rows, self._scope.changed
        for row in [*range(self._seen, len(rows)), *changed[self._changed :]]:
            distinct = rows[row]
            speaks = distinct.representative
            text = distinct.members[0].text
            self._rows.put(row, speaks, text, distinct.vector)
        self._seen, self._changed = len(rows), len(changed)

    def _follow_faces(self) -> None:
        journal = self._scope.faces
        for entry in dict.fromkeys(journal[self._seen :]):
            memory = entry.memory
            row = self._row_of.setdefault(entry, len(self._rows.entries))
            stands = memory.members[0] is entry and memory.living
            speaker = memory.face.speaker if stands else None
            self._rows.put(row, speaker, memory.face.text, memory.face.vector)
        self._seen = len(journal)
