"""Exact cosine search over the vectors of one scope.

Scores are exact and the same everywhere. A float16 is a multiple of 2**-24, so a product of two is a
multiple of 2**-48, and while |a||b| < 32 every partial sum, in whatever order, is a multiple of
2**-48 below 2**5: 53 bits, a float64 holds it without rounding. Dot products and squared norms are
therefore exact, and `dot / sqrt(|a|^2 |b|^2)` is three correctly rounded operations on exact numbers.
Nothing depends on the batch, the order of the dimensions, the BLAS or the machine.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streams.search.hits import DECIMALS, Hit, ranked

LARGEST_SQUARED_NORM: Final = 32.0
"""Below it a float64 sum of float16 products is exact. Embeddings are of unit length."""

FIRST_CAPACITY: Final = 8
BLOCK: Final = 2048


def _sums_of_products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.einsum("...i,...i->...", a, b)
    return sums


def _checked(vector: NDArray[np.float16], dimension: int) -> float:
    """The exact squared norm of a vector, or ValueError where it cannot be searched exactly."""
    if vector.dtype != np.float16 or vector.shape != (dimension,):
        raise ValueError(f"expected float16 of shape ({dimension},), got {vector.dtype} {vector.shape}")
    wide = vector.astype(np.float64)
    squared = float(wide @ wide)
    if not squared < LARGEST_SQUARED_NORM:
        raise ValueError(f"squared norm {squared} is not below {LARGEST_SQUARED_NORM}")
    return squared


def cosine(a: NDArray[np.float16], b: NDArray[np.float16]) -> float:
    """The exact cosine of two float16 vectors, rounded to four decimals; 0.0 where one is zero.

    ValueError where the shapes differ or a squared norm is not below 32.
    """
    squared = _checked(a, len(a)) * _checked(b, len(a))
    dot = float(a.astype(np.float64) @ b.astype(np.float64))
    return round(dot / float(np.sqrt(squared)), DECIMALS) if squared else 0.0


class VectorIndex:
    """float16 vectors in the order of arrival, found by cosine similarity. Rows are 0..n-1."""

    __slots__ = ("_dimension", "_living", "_size", "_squared", "_vectors")

    def __init__(self, dimension: int = 384) -> None:
        self._dimension = dimension
        self._size = 0
        self._vectors = np.zeros((FIRST_CAPACITY, dimension), np.float16)
        self._squared = np.zeros(FIRST_CAPACITY)
        self._living = np.zeros(FIRST_CAPACITY, np.bool_)

    def __len__(self) -> int:
        return self._size

    def append(self, vector: NDArray[np.float16]) -> int:
        """Add a vector (dimension,) and return its row; ValueError as in `cosine`."""
        squared = _checked(vector, self._dimension)
        row = self._size
        if row == len(self._vectors):
            self._grow()
        self._size += 1
        self._put(row, vector, squared)
        return row

    def replace(self, row: int, vector: NDArray[np.float16]) -> None:
        """Give `row` another vector; a removed row is back with it. IndexError where there is no such row."""
        self._put(self._existing(row), vector, _checked(vector, self._dimension))

    def remove(self, row: int) -> None:
        """Never return `row` again, until it is replaced. IndexError where there is no such row."""
        self._living[self._existing(row)] = False

    def above(
        self, queries: NDArray[np.float16], floor: float, *, limit: int, start: int = 0
    ) -> list[list[Hit]]:
        """For each query the best `limit` rows from `start` on whose rounded cosine is at least `floor`.

        Queries have shape (b, dimension). Each list is sorted by falling score, then by row.
        """
        answers = []
        for query in queries:
            squared = _checked(query, self._dimension)
            wide = query.astype(np.float64)
            rows = np.flatnonzero(self._living[start : self._size]) + start
            dots = self._vectors[rows].astype(np.float64) @ wide
            norms = np.sqrt(self._squared[rows] * squared)
            scores = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
            near = np.flatnonzero(scores >= floor - 0.0001)
            hits = [Hit(int(rows[i]), round(float(scores[i]), DECIMALS)) for i in near]
            answers.append(ranked([hit for hit in hits if hit.score >= floor], limit))
        return answers

    def _existing(self, row: int) -> int:
        if not 0 <= row < self._size:
            raise IndexError(row)
        return row

    def _put(self, row: int, vector: NDArray[np.float16], squared: float) -> None:
        self._vectors[row] = vector
        self._squared[row] = squared
        self._living[row] = True

    def _grow(self) -> None:
        more = len(self._vectors)
        self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._squared = np.concatenate([self._squared, np.zeros(more)])
        self._living = np.concatenate([self._living, np.zeros(more, np.bool_)])
