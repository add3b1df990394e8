"""Exact cosine search over the vectors of one scope."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.cosine.close import among, nearest, scored
from palimpsest.streams.search.cosine.pairs import (
    HALF_STEP,
    Pairs,
    above_floor,
    bars,
    joined,
    lowered,
)
from palimpsest.streams.search.cosine.queries import Queries
from palimpsest.streams.search.cosine.rows import VectorRows
from palimpsest.streams.search.cosine.scans import scan, score
from palimpsest.streams.search.exact import SearchVector
from palimpsest.streams.search.hits import DECIMALS, SearchHit, ranked

SEGMENT_ROWS: Final = 2048
"""Codes of 2,048 rows are multiplied as fast as those of 1,024 and 4,096 (100,000 rows, AVX2)."""

TOGETHER: Final = 256
"""Queries scanned together: larger products are not faster, and their scores exceed the cache."""

SCORES: Final = 2**19
"""Scores examined together (2 MB): several segments for few queries, one for many."""

WAITING: Final = 64
"""Pairs per query after which the best so far are sought, to raise the floor of later rows."""


class VectorIndex:
    """float16 vectors in order of arrival, found by cosine similarity. Rows are 0..n-1.

    Answers are exact: every score is `cosine` of the two vectors, whatever the size and the batch.
    """

    __slots__ = ("_rows", "dimension")

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._rows = VectorRows(dimension, SEGMENT_ROWS)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def has_any(self) -> bool:
        """Whether there is a row that was not removed."""
        return bool(self._rows.living[: len(self)].any())

    def append(self, vector: SearchVector) -> int:
        """Add a vector and return its row. Raises ValueError if it has another dimension."""
        return self._rows.append(self._checked(vector))

    def extend(self, vectors: NDArray[np.float16]) -> int:
        """Add vectors (n, dimension) and return the row of the first.

        Raises ValueError like `squared_norm`; then none of them is added.
        """
        return self._rows.extend(vectors)

    def replace(self, row: int, vector: NDArray[np.float16]) -> None:
        """Replace the vector of a row; this restores a removed row.

        Raises IndexError if there is no such row, and ValueError like `squared_norm`.
        """
        self._rows.replace(row, vector)

    def remove(self, row: int) -> None:
        """Exclude a row until it is replaced. Raises IndexError if there is no such row."""
        self._rows.remove(row)

    def above(
        self,
        queries: NDArray[np.float16],
        floor: float,
        *,
        limit: int,
        best: bool = False,
    ) -> list[list[SearchHit]]:
        """For each query the best `limit` rows with a rounded cosine of at least `floor`.

        With `best`, the best row even if it is below the floor. Queries have shape (b, dimension).
        Each list is sorted by falling score, then by row.
        Raises ValueError like `squared_norm`, and if `limit` is below 1.
        """
        _require(limit)
        answers: list[list[SearchHit]] = []
        for first in range(0, len(queries), TOGETHER):
            some = Queries(queries[first : first + TOGETHER], self.dimension)
            answers += self._answers(some, floor, limit, best=best)
        return answers

    def near(
        self, query: SearchVector, floor: float, *, limit: int, best: bool = False
    ) -> list[SearchHit]:
        """Like `above`, for one query: in a small scope that takes a third of the time."""
        _require(limit)
        self._checked(query)
        if self._rows.open_from == 0:
            return nearest(query, self._rows, floor, limit, best=best)
        [hits] = self.above(query.recorded[None], floor, limit=limit, best=best)
        return hits

    def cosines(self, query: SearchVector, rows: Sequence[int]) -> list[float | None]:
        """The exact cosines of a query and some rows; None for a removed row.

        Raises ValueError if it has another dimension, and IndexError if there is no such row.
        """
        if not rows:
            return []
        picked = self._existing(rows)
        scores = scored(self._checked(query), self._rows, picked)
        living = self._rows.living[picked].tolist()
        return [score if lives else None for score, lives in zip(scores, living, strict=True)]

    def among(self, query: SearchVector, rows: Sequence[int], floor: float) -> list[SearchHit]:
        """The given rows whose rounded cosine with a query is at least `floor`, in order.

        Raises ValueError if it has another dimension, and IndexError if there is no such row.
        """
        if not rows:
            return []
        return among(self._checked(query), self._rows, self._existing(rows), floor)

    def _checked(self, vector: SearchVector) -> SearchVector:
        if len(vector.recorded) != self.dimension:
            shape = vector.recorded.shape
            raise ValueError(f"need float16 ({self.dimension},), got float16 {shape}")
        return vector

    def _existing(self, rows: Sequence[int]) -> NDArray[np.intp]:
        if not 0 <= min(rows) <= max(rows) < len(self):
            raise IndexError(f"rows {min(rows)} to {max(rows)} of {len(self)}")
        return np.array(rows, np.intp)

    def _answers(
        self, queries: Queries, floor: float, limit: int, *, best: bool
    ) -> list[list[SearchHit]]:
        answers: list[list[SearchHit]] = [[] for _ in range(len(queries))]
        under: list[list[SearchHit]] = [[] for _ in range(len(queries))]
        if len(self):
            near = self._near(queries, floor, limit, best=best)
            for query, row, cosine in zip(*(array.tolist() for array in near[:3]), strict=True):
                rounded = round(cosine, DECIMALS)
                (answers if rounded >= floor else under)[query].append(SearchHit(row, rounded))
        if best:
            return [
                ranked(hits, limit) or ranked(others, 1)
                for hits, others in zip(answers, under, strict=True)
            ]
        return [ranked(hits, limit) for hits in answers]

    def _near(self, queries: Queries, floor: float, limit: int, *, best: bool) -> Pairs:
        """The scored pairs that may be answers; the best so far raise the floors."""
        floors = np.full(len(queries), floor - HALF_STEP)
        tops = np.full(len(queries), -np.inf) if best else None
        found: list[Pairs] = []
        waiting = 0
        for first, end in self._spans(len(queries)):
            found.append(scan(queries, self._rows, first, end, floors, tops))
            if tops is not None:
                np.maximum.at(tops, found[-1].query, found[-1].low)
            waiting += len(found[-1].row)
            if waiting > WAITING * len(queries):
                pairs = joined(found)
                floors = np.maximum(floors, bars(pairs, len(queries), limit))
                kept = floors if tops is None else lowered(floors, tops, tops)
                found, waiting = [above_floor(pairs, kept)], 0
        pairs = _contenders(joined(found), len(queries), limit)
        return _contenders(score(queries, self._rows, pairs), len(queries), limit)

    def _spans(self, queries: int) -> Iterator[tuple[int, int]]:
        """Ranges of rows to scan: whole segments, and the rest."""
        segment, size = self._rows.segment, len(self)
        several = max(1, SCORES // (queries * segment)) * segment
        whole = size // segment * segment
        for start in range(0, whole, several):
            yield start, min(start + several, whole)
        if whole < size:
            yield whole, size


def _require(limit: int) -> None:
    if limit < 1:
        raise ValueError(f"limit {limit} is under 1")


def _contenders(pairs: Pairs, queries: int, limit: int) -> Pairs:
    """The pairs that may be among the best `limit` of their query."""
    if len(pairs.row) <= limit:
        return pairs
    return above_floor(pairs, bars(pairs, queries, limit))


def pairs_above(vectors: NDArray[np.float16], floor: float) -> list[tuple[float, int, int]]:
    """All pairs of vectors (n, dimension) whose rounded cosine is at least `floor`.

    As (cosine, earlier row, later row), nearest first; ties go to the earlier rows. Raises
    ValueError like `squared_norm`.
    """
    index = VectorIndex(vectors.shape[1])
    index.extend(vectors)
    pairs = [
        (hit.score, hit.row, row)
        for row, hits in enumerate(index.above(vectors, floor, limit=len(vectors)))
        for hit in hits
        if hit.row < row
    ]
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    return pairs
