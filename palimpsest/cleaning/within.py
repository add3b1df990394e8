"""Joins by cosine alone: finds rewordings without a judge, and says what the guard would stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from palimpsest.cleaning.texts import RowJoin, Texts
from palimpsest.cleaning.vectors import TextVectors
from palimpsest.contracts.counting import counted
from palimpsest.streams.embedder import Progress
from palimpsest.streams.guard import compare, kept_reading
from palimpsest.streams.search.exact import cosine

WITHIN = "within"
"""The rule that joins by cosine alone."""
LEAST_WITHIN = 0.5
"""The lowest cosine that may join two texts."""
_BLOCK = 256
_CHUNK = 16_384
_SLACK = 1e-4
"""How far a product in single precision may fall below a floor that the exact cosine reaches."""

Single = NDArray[np.float32]


def join_within(
    rows: Sequence[int],
    texts: Texts,
    similarity: float,
    vectors: TextVectors,
    unite: Callable[[int, int], bool],
    progress: Progress,
) -> list[RowJoin]:
    """Join each row to the nearest earlier row that stays, if their cosine reaches `similarity`.

    `rows` are those of all scopes, in order of preference. So each removed row is this near to one
    that stays, and chains of joins cannot drift further. `unite` records the join of two rows, or
    returns False if it is forbidden. Ties go to the earlier of `rows`.
    """
    vectors.prepare(texts.of[row] for row in rows)
    nearest = _Nearest(texts, similarity, vectors, unite)
    found: list[RowJoin] = []
    done = 0
    for some in texts.by_scope(rows):
        progress(f"comparing {counted(len(rows), 'text')}", done / len(rows))
        found += nearest.join_scope(some)
        done += len(some)
    return found


@dataclass(frozen=True, slots=True)
class _Nearest:
    """Joins each row of a scope to the nearest row that stays."""

    texts: Texts
    similarity: float
    vectors: TextVectors
    unite: Callable[[int, int], bool]

    def join_scope(self, rows: Sequence[int]) -> Iterator[RowJoin]:
        """Yield the joins of a scope's rows, block by block."""
        kept: list[int] = []
        matrix = np.empty((len(rows), len(self._vector(rows[0]))), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            units = _unit([self._vector(row) for row in block])
            near = _near(units, matrix[: len(kept)], self.similarity)
            near_in_block = units @ units.T >= self.similarity - _SLACK
            stay: list[int] = []
            for number, row in enumerate(block):
                others = [kept[place] for place in near[number]]
                others += [block[other] for other in stay if near_in_block[number, other]]
                join = self._join(row, others)
                if join is None:
                    stay.append(number)
                else:
                    yield join
            matrix[len(kept) : len(kept) + len(stay)] = units[stay]
            kept += [block[number] for number in stay]

    def _join(self, row: int, others: Sequence[int]) -> RowJoin | None:
        """Join a row to the nearest of the others, which are in order, that is near enough."""
        own = self._vector(row)
        scored = [(cosine(self._vector(other), own), other) for other in others]
        scored.sort(key=itemgetter(0), reverse=True)
        for score, other in scored:
            if score >= self.similarity and self.unite(row, other):
                stopped = stopped_by(self.texts, self.vectors, row, other)
                return RowJoin(row, other, WITHIN, score, stopped)
        return None

    def _vector(self, row: int) -> NDArray[np.float16]:
        return self.vectors[self.texts.of[row]].vector


def _near(block: Single, kept: Single, similarity: float) -> list[list[int]]:
    """For each vector of a block, the indices of the kept vectors that may be near enough."""
    near: list[list[int]] = [[] for _ in block]
    for start in range(0, len(kept), _CHUNK):
        scores = block @ kept[start : start + _CHUNK].T
        for number, place in np.argwhere(scores >= similarity - _SLACK).tolist():
            near[number].append(start + place)
    return near


def _unit(vectors: Sequence[NDArray[np.float16]]) -> Single:
    """Vectors of unit length, (b, dimension); a zero vector stays zero."""
    rows = np.stack(vectors).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), np.float32)


def stopped_by(texts: Texts, vectors: TextVectors, row: int, other: int) -> tuple[str, ...]:
    """The cues for which the guard would stop the join of two rows; empty if it would not."""
    one, two = (
        kept_reading(texts.texts[number], unknown=vectors[number].unknown)
        for number in (texts.of[row], texts.of[other])
    )
    seen = compare(one, two)
    cues = tuple(map(str, seen.cues))
    return cues or (() if seen.near_identical else ("differs",))
