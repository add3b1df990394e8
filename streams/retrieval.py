"""A newcomer's neighbours in its scope, from indexes that follow the ledger (docs/design.md).

An index is a function of the ledger: it reads on from where it stopped, so nobody has to tell it
about events. `search: candidates` looks through distinct candidates, `search: memories` through
the faces of living memories.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.errors import SearchError
from palimpsest.contracts.events import Vector
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.model import unchecked
from palimpsest.contracts.policy import CosineCheck, Policy, SessionCheck, TokenCheck
from palimpsest.streams.ahead import Ahead
from palimpsest.streams.core.checks import said_in, session_texts
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger, Scope
from palimpsest.streams.guard import tokens
from palimpsest.streams.search import FullTextIndex, Hit, TokenIndex, VectorIndex, peers
from palimpsest.streams.search.content import content_tokens, terms

Float16 = NDArray[np.float16]

_REMEMBERED = 1024
"""Newcomers of two windows: they are searched for, and then become rows."""
_tokens = lru_cache(maxsize=_REMEMBERED)(tokens)


def vector_of(vector: Vector) -> Float16:
    """The numbers of a recorded vector, (dimension,) float16; not to be written to."""
    return _numbers_of(vector.data)


@lru_cache(maxsize=_REMEMBERED)
def _numbers_of(data: str) -> Float16:
    return np.frombuffer(a2b_base64(data), dtype="<f2")


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a policy looks in a namespace: floors, inclusive, and how many of the best."""

    cosine: float
    cosine_top: int
    jaccard: float
    tokens: TokenCheck | None
    session: SessionCheck | None

    @property
    def near(self) -> float:
        """The lowest cosine that a check of the scope or of the session looks at."""
        return min(self.cosine, self.session.threshold) if self.session else self.cosine

    @property
    def near_top(self) -> int:
        """How many of the best these checks look at."""
        nearest = self.session.nearest if self.session else None
        return max(self.cosine_top, nearest or 0)

    @classmethod
    def of(cls, policy: Policy, namespace: str) -> Reach:
        """What the checks of a policy need to see."""
        by_name = {check.check: check for check in policy.active}
        near, words, session = (by_name.get(name) for name in ("cosine", "tokens", "session"))
        zones = near.zones_of(namespace) if isinstance(near, CosineCheck) else ()
        told = policy.similar.at_least if policy.similar else 1.0
        return cls(
            cosine=min(zones[-1].at_least, told) if zones else 2.0,
            cosine_top=near.top if isinstance(near, CosineCheck) else 0,
            jaccard=min(words.threshold, told) if isinstance(words, TokenCheck) else 2.0,
            tokens=words if isinstance(words, TokenCheck) else None,
            session=session if isinstance(session, SessionCheck) else None,
        )


@dataclass(slots=True)
class _Rows:
    """One index row for each thing searched: whom it stands for, and each kind of index."""

    dimension: int
    check: TokenCheck | None
    entries: list[Entry | None] = field(default_factory=list)
    vectors: VectorIndex = field(init=False)
    tokens: TokenIndex = field(init=False)
    full_text: FullTextIndex = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = VectorIndex(self.dimension)
        self.tokens = TokenIndex()
        self.full_text = FullTextIndex()

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
            self.full_text.remove(row)
        elif not new:
            self.vectors.replace(row, vector_of(vector))
            if self.check is not None:
                self.tokens.replace(row, self.tokens_of(text))
                self.full_text.replace(row, self.terms_of(text))

    def _append(self, text: str, vector: Vector | None) -> None:
        numbers = vector_of(vector) if vector else _unit(self.dimension)
        self.vectors.append(numbers)
        self.tokens.append(self.tokens_of(text))
        self.full_text.append(self.terms_of(text))

    def tokens_of(self, text: str) -> frozenset[str]:
        """The tokens of a text, as the check reads them; none where there is no check."""
        if self.check is None:
            return frozenset()
        return content_tokens(text) if self.check.tokenizer == "content" else _tokens(text)

    def terms_of(self, text: str) -> tuple[str, ...]:
        """What the full-text search has of a text, where there is one."""
        return terms(text) if self.check is not None and self.check.among == "full_text" else ()

    def by_tokens(self, text: str, floor: float) -> list[Hit]:
        """The rows whose Jaccard the check looks at, from a floor on."""
        if self.check is None:
            return []
        words = self.tokens_of(text)
        if self.check.among == "scope":
            return self.tokens.above(words, floor, limit=self.check.top)
        rows = self.full_text.best(terms(text), self.check.top)
        return self.tokens.among(words, rows, floor)


def _numbers(admit: Admit) -> Float16:
    assert admit.content.vector is not None, "who is compared has a vector"
    return vector_of(admit.content.vector)


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
        self._rows = _Rows(dimension, self._reach.tokens)
        self._seen = self._changed = 0
        self._row_of: dict[Entry, int] = {}
        self._ahead: Ahead | None = None

    def look_ahead(self, newcomers: Mapping[str, Vector]) -> None:
        """Search for a window's newcomers at once; what else arrives is searched for in its turn.

        Faces change under a newcomer's feet, so with `search: memories` nothing is looked up early.
        """
        self._ahead = None
        self.follow()
        top, floor = self._reach.near_top, self._reach.near
        if self._faces or not top:
            return
        vectors = np.stack([vector_of(vector) for vector in newcomers.values()])
        found = self._rows.vectors.above(vectors, floor, limit=top)
        self._ahead = Ahead(list(newcomers), found, peers(vectors, floor), top)

    def neighbours(self, ledger: Ledger, admit: Admit) -> tuple[Neighbour, ...]:
        """Everyone whom the policy's checks must see, with exact scores."""
        self.follow()
        if admit.content.vector is None:
            return ()
        near = self._near(admit)
        scored: dict[int, tuple[float, float | None]] = {
            hit.row: (hit.score, None)
            for hit in near[: self._reach.cosine_top]
            if hit.score >= self._reach.cosine
        }
        scored.update((hit.row, (hit.score, None)) for hit in self._by_session(ledger, admit, near))
        scored.update(self._by_tokens(admit))
        entries = self._rows.entries
        return tuple(
            unchecked(Neighbour, candidate_id=entry.id, cosine=cosine, jaccard=jaccard)
            for row, (cosine, jaccard) in scored.items()
            if (entry := entries[row]) is not None
        )

    def _near(self, admit: Admit) -> list[Hit]:
        """The rows that the checks of the scope and of the session look at, the best of them."""
        top = self._reach.near_top
        if not top:
            return []
        hits = self._ahead.hits(admit.candidate_id) if self._ahead else None
        if hits is None:
            query = _numbers(admit)[None, :]
            [hits] = self._rows.vectors.above(query, self._reach.near, limit=top)
        return hits

    def _by_session(self, ledger: Ledger, admit: Admit, near: list[Hit]) -> list[Hit]:
        """The session's rows over its threshold; unless there are many near, they are in `near`."""
        check = self._reach.session
        if check is not None and check.nearest is not None:
            return self._of_session(check, admit, near)
        all_near = len(near) < self._reach.cosine_top
        if check is None or (all_near and not near):
            return []
        recent = session_texts(ledger, admit, check.last)
        rows = [*dict.fromkeys(map(self._row, recent))]
        if all_near:
            return [hit for hit in near if hit.score >= check.threshold and hit.row in rows]
        return self._rows.vectors.among(_numbers(admit), rows, check.threshold)

    def _of_session(self, check: SessionCheck, admit: Admit, near: list[Hit]) -> list[Hit]:
        """Of the nearest, those over the threshold that were said in the newcomer's session."""
        said, entries = admit.candidate.session_id, self._rows.entries
        return [
            hit
            for hit in near
            if hit.score >= check.threshold
            and (entry := entries[hit.row]) is not None
            and said_in(entry.distinct, said)
        ]

    def _by_tokens(self, admit: Admit) -> dict[int, tuple[float, float | None]]:
        hits = self._rows.by_tokens(admit.content.text, self._reach.jaccard)
        if not hits:
            return {}
        cosines = self._rows.vectors.cosines(_numbers(admit), [hit.row for hit in hits])
        return {hit.row: (cosine, hit.score) for hit, cosine in zip(hits, cosines, strict=True)}

    def _row(self, entry: Entry) -> int:
        if self._faces:
            return self._row_of[entry.memory.members[0]]
        assert entry.distinct.row is not None, "whoever was admitted has a row"
        return entry.distinct.row

    def follow(self) -> None:
        """Take in what is new in the ledger; soon after it came this costs less than later.

        Its vector and tokens are still remembered then.
        """
        if self._faces:
            self._follow_faces()
        else:
            self._follow_candidates()

    def _follow_candidates(self) -> None:
        rows, changed = self._scope.rows, self._scope.changed
        for row in range(self._seen, len(rows)):
            self._put(row, rows[row])
            if self._ahead is not None:
                self._ahead.arrived(rows[row].members[0].id, row)
        for row in changed[self._changed :]:
            self._put(row, rows[row])
            self._ahead = None
        self._seen, self._changed = len(rows), len(changed)

    def _put(self, row: int, distinct: Distinct) -> None:
        text = distinct.members[0].text
        self._set(row, distinct.representative, text, distinct.vector)

    def _follow_faces(self) -> None:
        journal = self._scope.faces
        for entry in dict.fromkeys(journal[self._seen :]):
            memory = entry.memory
            row = self._row_of.setdefault(entry, len(self._rows.entries))
            stands = memory.members[0] is entry and memory.living
            speaker = memory.face.speaker if stands else None
            self._set(row, speaker, memory.face.text, memory.face.vector)
        self._seen = len(journal)

    def _set(self, row: int, entry: Entry | None, text: str, vector: Vector | None) -> None:
        """Set a row; SearchError where its vector cannot be searched."""
        try:
            self._rows.put(row, entry, text, vector)
        except ValueError as error:
            whose = f"the vector of candidate {entry.id}" if entry else "a vector"
            raise SearchError(f"{whose} cannot be searched: {error}") from error
