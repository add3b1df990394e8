"""The vectors of one scope in memory: 1,160 bytes per row of 384 numbers.

Rows without codes take 1,536 bytes, or 768 in a small scope.
"""

from math import sqrt
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.cosine.coarse import CoarseRows
from palimpsest.streams.search.cosine.kernels import products_with, widened
from palimpsest.streams.search.exact import SearchVector, squared_norm, squared_norms

Scalar = TypeVar("Scalar", bound=np.generic)
Open = NDArray[np.floating[Any]]
"""An array of float16 or float32."""

FIRST_CAPACITY: Final = 8
SMALL: Final = 256
"""Up to this number of rows a scope is kept as float16, because there are many small scopes.
Searching float16 takes 9 us longer at 100 rows; at 1,000 rows it would take 70 us longer."""


class VectorRows:
    """float16 vectors in order of arrival, in segments that are not copied once they are full.

    A full segment gets codes; `codes[i]` are those of the rows from `i * segment` on. The last
    segment, which is not full, is kept as float32 unless the scope is `SMALL`: it is searched after
    every arrival, and so are scopes smaller than a segment.
    """

    __slots__ = (
        "_open",
        "_segments",
        "_size",
        "codes",
        "dimension",
        "living",
        "norms",
        "segment",
        "squared",
    )

    def __init__(self, dimension: int, segment: int) -> None:
        self.segment = segment
        self.dimension = dimension
        self._size = 0
        self._segments: list[NDArray[np.float16]] = []
        self._open: Open = np.empty((0, dimension), np.float16)
        self.codes: list[CoarseRows] = []
        self.squared: NDArray[np.float64] = np.empty(FIRST_CAPACITY)
        self.norms: NDArray[np.float64] = np.empty(FIRST_CAPACITY)
        self.living: NDArray[np.bool_] = np.empty(FIRST_CAPACITY, np.bool_)

    def __len__(self) -> int:
        return self._size

    def append(self, vector: SearchVector) -> int:
        """Add one vector of this dimension and return its row, in a third of `extend`'s time."""
        row = self._size
        self._make_room(row + 1)
        self._open[row - self.open_from] = (
            vector.recorded if self._open.dtype == np.float16 else vector.single
        )
        self.squared[row] = vector.squared
        self.norms[row] = vector.norm
        self.living[row] = True
        self._size = row + 1
        if self._size % self.segment == 0:
            self._close()
        return row

    def extend(self, vectors: NDArray[np.float16]) -> int:
        """Add vectors (n, dimension) and return the row of the first.

        Raises ValueError like `squared_norm`; then none of them is added.
        """
        firsts = range(0, len(vectors), self.segment)
        squared = np.concatenate(
            [np.empty(0), *(self._squared(vectors[at : at + self.segment]) for at in firsts)]
        )
        first = self._size
        while len(vectors):
            fit = min(len(vectors), self.segment - self._size % self.segment)
            self._add(vectors[:fit], squared[:fit])
            vectors, squared = vectors[fit:], squared[fit:]
        return first

    def _squared(self, vectors: NDArray[np.float16]) -> NDArray[np.float64]:
        return squared_norms(vectors, widened(vectors).astype(np.float64), self.dimension)

    def _add(self, vectors: NDArray[np.float16], squared: NDArray[np.float64]) -> None:
        """Add vectors that fit into the open segment."""
        start, end = self._size, self._size + len(vectors)
        self._make_room(end)
        self._open[start - self.open_from : end - self.open_from] = (
            vectors if self._open.dtype == np.float16 else widened(vectors)
        )
        self.squared[start:end] = squared
        self.norms[start:end] = np.sqrt(squared)
        self.living[start:end] = True
        self._size = end
        if end % self.segment == 0:
            self._close()

    def _close(self) -> None:
        self.codes.append(CoarseRows(self.unit(self._size - self.segment, self._size)))
        self._segments.append(self._open.astype(np.float16))
        self._open = self._open[:0]

    def replace(self, row: int, vector: NDArray[np.float16]) -> None:
        """Put another vector in a row, and mark the row as living.

        Raises IndexError if there is no such row, and ValueError like `squared_norm`.
        """
        self._check(row)
        self._put(row, vector, squared_norm(vector, self.dimension))
        number, place = divmod(row, self.segment)
        if number < len(self.codes):
            self.codes[number].replace(place, self.unit(row, row + 1))

    def remove(self, row: int) -> None:
        """Mark a row as not living. Raises IndexError if there is no such row."""
        self._check(row)
        self.living[row] = False

    @property
    def open_from(self) -> int:
        """The first row of the open segment."""
        return len(self._segments) * self.segment

    def span(self, start: int, end: int) -> NDArray[np.float32]:
        """The vectors of rows start..end-1, widened; exact. Read-only."""
        parts: list[NDArray[np.float32]] = []
        while start < end:
            number, place = divmod(start, self.segment)
            if number == len(self._segments):
                parts.append(_wide(self._open[place : place + end - start]))
            else:
                parts.append(widened(self._segments[number][place : place + end - start]))
            start += len(parts[-1])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def products(self, single: NDArray[np.float32]) -> NDArray[np.float32]:
        """The products of a vector (d,) with the rows of the open segment."""
        rows = self._open[: self._size - self.open_from]
        if rows.dtype == np.float16:
            return products_with(cast("NDArray[np.float16]", rows), single)
        products: NDArray[np.float32] = np.vecdot(rows, single)
        return products

    def unit(self, start: int, end: int) -> NDArray[np.float32]:
        """The rows start..end-1 divided by their lengths, with zero vectors unchanged; rounded."""
        norms = self.norms[start:end]
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        rows: NDArray[np.float32] = self.span(start, end) * inverse.astype(np.float32)[:, None]
        return rows

    def picked(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """The vectors of these rows, widened; exact."""
        closed = rows < self.open_from
        if not closed.any():
            return _wide(self._open[rows - self.open_from])
        answer = np.empty((len(rows), self.dimension), np.float32)
        answer[closed] = widened(self._gathered(rows[closed]))
        answer[~closed] = _wide(self._open[rows[~closed] - self.open_from])
        return answer

    def _gathered(self, rows: NDArray[np.intp]) -> NDArray[np.float16]:
        answer = np.empty((len(rows), self.dimension), np.float16)
        numbers, places = np.divmod(rows, self.segment)
        for number in np.unique(numbers).tolist():
            here = np.flatnonzero(numbers == number)
            answer[here] = self._segments[number][places[here]]
        return answer

    def _put(self, row: int, vector: NDArray[np.float16], squared: float) -> None:
        number, place = divmod(row, self.segment)
        segment = self._segments[number] if number < len(self._segments) else self._open
        segment[place] = vector
        self.squared[row] = squared
        self.norms[row] = sqrt(squared)
        self.living[row] = True

    def _make_room(self, size: int) -> None:
        if size > len(self.squared):
            self.squared = _longer(self.squared, 2 * size)
            self.norms = _longer(self.norms, 2 * size)
            self.living = _longer(self.living, 2 * size)
        wanted = size - self.open_from
        if wanted > len(self._open):
            more = wanted + wanted // 4 + FIRST_CAPACITY
            more = more if wanted > SMALL else min(more, SMALL)
            whole = self.segment if size > self.segment else min(more, self.segment)
            kind = np.float16 if size <= SMALL else np.float32
            self._open = _longer(self._open.astype(kind, copy=False), whole)

    def _check(self, row: int) -> None:
        if not 0 <= row < self._size:
            raise IndexError(f"no row {row} in {self._size}")


def _wide(rows: Open) -> NDArray[np.float32]:
    if rows.dtype == np.float16:
        return widened(cast("NDArray[np.float16]", rows))
    return cast("NDArray[np.float32]", rows)


def _longer(values: NDArray[Scalar], capacity: int) -> NDArray[Scalar]:
    longer = np.empty((capacity, *values.shape[1:]), values.dtype)
    longer[: len(values)] = values
    return longer
