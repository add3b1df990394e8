"""Exact cosine search over the vectors of one scope."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streams.search.exact import squared_norm
from streams.search.hits import DECIMALS, Hit, ranked
from streams.search.pairs import HALF_STEP, Pairs, bars, joined, reaching
from streams.search.queries import Queries
from streams.search.segment import Segment

SEGMENT_ROWS: Final = 2048
"""A segment's scores for 256 queries are 2 MB; 1,024 and 4,096 rows are no faster (100,000 rows, AVX2)."""

TOGETHER: Final = 256
"""Queries scanned at once: larger products are not faster, and their scores leave the cache."""

WAITING: Final = 64
"""Pairs a query on which the best so far are sought, to raise its floor for the rows to come."""


class VectorIndex:
    """float16 vectors in the order of arrival, found by cosine similarity. Rows are 0..n-1.

    Answers are exact: every score is `cosine` of the two vectors, whatever the size and the batch.
    """

    __slots__ = ("_dimension", "_segment_rows", "_segments")

    def __init__(self, dimension: int = 384, *, segment_rows: int = SEGMENT_ROWS) -> None:
        self._dimension = dimension
        self._segment_rows = segment_rows
        self._segments = [Segment(dimension, segment_rows)]

    def __len__(self) -> int:
        return (len(self._segments) - 1) * self._segment_rows + len(self._segments[-1])

    def append(self, vector: NDArray[np.float16]) -> int:
        """Add a vector (dimension,) and return its row; ValueError as in `squared_norm`."""
        squared = squared_norm(vector, self._dimension)
        if self._segments[-1].full:
            self._segments.append(Segment(self._dimension, self._segment_rows))
        self._segments[-1].append(vector, squared)
        return len(self) - 1

    def replace(self, row: int, vector: NDArray[np.float16]) -> None:
        """Give a row another vector; a removed one is back with it.

        IndexError where there is no such row, ValueError as in `squared_norm`.
        """
        segment, place = self._place(row)
        segment.replace(place, vector, squared_norm(vector, self._dimension))

    def remove(self, row: int) -> None:
        """Never return a row again, until it is replaced. IndexError where there is no such row."""
        segment, place = self._place(row)
        segment.remove(place)

    def above(
        self, queries: NDArray[np.float16], floor: float, *, limit: int, start: int = 0
    ) -> list[list[Hit]]:
        """For each query the best `limit` rows from `start` on with a rounded cosine >= `floor`.

        Queries have shape (b, dimension). Each list is sorted by falling score, then by row.
        ValueError as in `squared_norm`, and where `limit` is under 1 or `start` under 0.
        """
        if limit < 1 or start < 0:
            raise ValueError(f"limit {limit} is under 1 or start {start} under 0")
        answers: list[list[Hit]] = []
        for first in range(0, len(queries), TOGETHER):
            some = Queries(queries[first : first + TOGETHER], self._dimension)
            answers += self._answers(some, floor, limit, start)
        return answers

    def _answers(self, queries: Queries, floor: float, limit: int, start: int) -> list[list[Hit]]:
        answers: list[list[Hit]] = [[] for _ in range(len(queries))]
        if start < len(self):
            near = self._exactly(queries, self._near(queries, floor, limit, start))
            near = reaching(near, bars(near, len(queries), limit))
            for query, row, cosine in zip(*(array.tolist() for array in near[:3]), strict=True):
                score = round(cosine, DECIMALS)
                if score >= floor:
                    answers[query].append(Hit(row, score))
        return [ranked(hits, limit) for hits in answers]

    def _near(self, queries: Queries, floor: float, limit: int, start: int) -> Pairs:
        """The pairs that may be answers, by bounds; the best found so far raise the floors."""
        floors = np.full(len(queries), floor - HALF_STEP)
        found: list[Pairs] = []
        waiting = 0
        for number in range(start // self._segment_rows, len(self._segments)):
            first = number * self._segment_rows
            near = self._segments[number].near(queries, floors, max(0, start - first))
            found.append(near.shifted(first))
            waiting += len(near.row)
            if waiting > WAITING * len(queries) or number == len(self._segments) - 1:
                pairs = joined(found)
                floors = np.maximum(floors, bars(pairs, len(queries), limit))
                found, waiting = [reaching(pairs, floors)], 0
        return found[0]

    def _exactly(self, queries: Queries, pairs: Pairs) -> Pairs:
        cosines: NDArray[np.float64] = np.empty(len(pairs.row))
        segments = pairs.row // self._segment_rows
        for number in np.unique(segments):
            here = np.flatnonzero(segments == number)
            there = pairs.at(here).shifted(-int(number) * self._segment_rows)
            cosines[here] = self._segments[number].exact(queries, there)
        return pairs._replace(low=cosines, high=cosines)

    def _place(self, row: int) -> tuple[Segment, int]:
        if not 0 <= row < len(self):
            raise IndexError(f"no row {row} in {len(self)}")
        number, place = divmod(row, self._segment_rows)
        return self._segments[number], place

