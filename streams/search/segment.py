"""A run of rows that are scanned together.

A scan finds, quickly and roughly, every pair that may reach a floor; its error is bounded, so it
misses none. What it finds is then scored exactly.
"""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from streams.search.coarse import CoarseRows
from streams.search.exact import cosines
from streams.search.kernels import widened
from streams.search.pairs import Pairs, within
from streams.search.queries import Queries

Scalar = TypeVar("Scalar", bound=np.generic)

FIRST_CAPACITY: Final = 8

CROWDED: Final = 1 / 16
"""The share of pairs found by codes from which the plain product, dearer but finer, pays."""

TOGETHER: Final = 1024
"""Pairs scored in one go: 3 MB a matrix, which stays in the cache."""


class Segment:
    """At most `room` vectors of `dimension` numbers; when full they get codes for the coarse scan too."""

    __slots__ = ("_coarse", "_living", "_room", "_size", "_squared", "_vectors")

    def __init__(self, dimension: int, room: int) -> None:
        capacity = min(FIRST_CAPACITY, room)
        self._room = room
        self._size = 0
        self._vectors = np.empty((capacity, dimension), np.float16)
        self._squared = np.empty(capacity)
        self._living = np.empty(capacity, np.bool_)
        self._coarse: CoarseRows | None = None

    def __len__(self) -> int:
        return self._size

    @property
    def full(self) -> bool:
        """Whether no vector fits any more."""
        return self._size == self._room

    def append(self, vector: NDArray[np.float16], squared: float) -> None:
        """Add a vector with its exact squared norm."""
        if self._size == len(self._vectors):
            self._grow()
        self._size += 1
        self.replace(self._size - 1, vector, squared)
        if self.full:
            self._coarse = CoarseRows(self._unit(0))

    def replace(self, row: int, vector: NDArray[np.float16], squared: float) -> None:
        """Put another vector in a row of this segment."""
        self._vectors[row] = vector
        self._squared[row] = squared
        self._living[row] = True
        if self._coarse is not None:
            self._coarse.replace(row, self._unit(row, row + 1))

    def remove(self, row: int) -> None:
        """Leave a row out of every scan."""
        self._living[row] = False

    def near(self, queries: Queries, floors: NDArray[np.float64], start: int) -> Pairs:
        """Every living pair from row `start` on that may reach its query's floor, with bounds."""
        if self._coarse is not None and start == 0:
            found = self._coarse.near(queries.coarse, floors)
            if len(found.query) <= CROWDED * len(queries) * self._size:
                return self._alive(found)
        return self._alive(self._plainly(queries, floors, start))

    def exact(self, queries: Queries, pairs: Pairs) -> NDArray[np.float64]:
        """The exact cosines (p,) of pairs with rows of this segment."""
        answer = np.empty(len(pairs.row))
        for first in range(0, len(answer), TOGETHER):
            some = slice(first, first + TOGETHER)
            query, row = pairs.query[some], pairs.row[some]
            rows = widened(self._vectors[row]).astype(np.float64)
            dots = np.einsum("ij,ij->i", queries.wide[query], rows)
            answer[some] = cosines(dots, queries.squared[query] * self._squared[row])
        return answer

    def _plainly(self, queries: Queries, floors: NDArray[np.float64], start: int) -> Pairs:
        scores = queries.unit @ self._unit(start).T
        # Of d products and sums, each off by at most 2**-24 of |a||b| = 1; twice that, to be safe.
        error = (self._vectors.shape[1] + 8) * 2.0**-23
        return within(scores, floors, np.full(len(queries), error), np.ones(len(queries)), start)

    def _alive(self, pairs: Pairs) -> Pairs:
        living = self._living[pairs.row]
        return pairs if living.all() else pairs.at(living)

    def _unit(self, start: int, end: int | None = None) -> NDArray[np.float32]:
        end = self._size if end is None else end
        rows = widened(self._vectors[start:end])
        norms = np.sqrt(self._squared[start:end])
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        rows *= inverse.astype(np.float32)[:, None]
        return rows

    def _grow(self) -> None:
        capacity = min(2 * len(self._vectors), self._room)
        self._vectors = _longer(self._vectors, capacity)
        self._squared = _longer(self._squared, capacity)
        self._living = _longer(self._living, capacity)


def _longer(values: NDArray[Scalar], capacity: int) -> NDArray[Scalar]:
    longer = np.empty((capacity, *values.shape[1:]), values.dtype)
    longer[: len(values)] = values
    return longer
