"""The vectors of one scope in memory: 768 bytes a row of 384, and 392 more where it has codes."""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from streams.search.coarse import CoarseRows
from streams.search.exact import squared_norm
from streams.search.kernels import widened

Scalar = TypeVar("Scalar", bound=np.generic)

FIRST_CAPACITY: Final = 8


class Rows:
    """float16 vectors in the order of arrival, in segments not copied once they are full.

    A full segment gets codes; `codes[i]` are those of the rows from `i * segment` on.
    """

    __slots__ = ("_dimension", "_segments", "_size", "codes", "living", "segment", "squared")

    def __init__(self, dimension: int, segment: int) -> None:
        self.segment = segment
        self._dimension = dimension
        self._size = 0
        self._segments: list[NDArray[np.float16]] = []
        self.codes: list[CoarseRows] = []
        self.squared: NDArray[np.float64] = np.empty(FIRST_CAPACITY)
        self.living: NDArray[np.bool_] = np.empty(FIRST_CAPACITY, np.bool_)

    def __len__(self) -> int:
        return self._size

    def append(self, vector: NDArray[np.float16]) -> int:
        """Add a vector and return its row; ValueError as in `squared_norm`."""
        squared = squared_norm(vector, self._dimension)
        row = self._size
        self._make_room(row)
        self._size += 1
        self._put(row, vector, squared)
        if self._size % self.segment == 0:
            self.codes.append(CoarseRows(self.unit(self._size - self.segment, self._size)))
        return row

    def replace(self, row: int, vector: NDArray[np.float16]) -> None:
        """Put another vector in a row, which lives from now on."""
        self._check(row)
        self._put(row, vector, squared_norm(vector, self._dimension))
        number, place = divmod(row, self.segment)
        if number < len(self.codes):
            self.codes[number].replace(place, self.unit(row, row + 1))

    def remove(self, row: int) -> None:
        """Mark a row as not living."""
        self._check(row)
        self.living[row] = False

    def span(self, start: int, end: int) -> NDArray[np.float32]:
        """The vectors of rows start..end-1, widened; exact."""
        parts = []
        while start < end:
            number, place = divmod(start, self.segment)
            some = self._segments[number][place : place + end - start]
            parts.append(some)
            start += len(some)
        return widened(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def unit(self, start: int, end: int) -> NDArray[np.float32]:
        """The rows start..end-1 divided by their lengths, zero vectors as they are; rounded."""
        norms = np.sqrt(self.squared[start:end])
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        rows = self.span(start, end)
        rows *= inverse.astype(np.float32)[:, None]
        return rows

    def picked(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """The vectors of these rows, widened; exact."""
        answer = np.empty((len(rows), self._dimension), np.float16)
        numbers, places = np.divmod(rows, self.segment)
        for number in np.unique(numbers).tolist():
            here = np.flatnonzero(numbers == number)
            answer[here] = self._segments[number][places[here]]
        return widened(answer)

    def _put(self, row: int, vector: NDArray[np.float16], squared: float) -> None:
        number, place = divmod(row, self.segment)
        self._segments[number][place] = vector
        self.squared[row] = squared
        self.living[row] = True

    def _make_room(self, row: int) -> None:
        if row == len(self.squared):
            self.squared = _longer(self.squared, 2 * row)
            self.living = _longer(self.living, 2 * row)
        number, place = divmod(row, self.segment)
        if place == 0:
            capacity = min(FIRST_CAPACITY, self.segment) if number == 0 else self.segment
            self._segments.append(np.empty((capacity, self._dimension), np.float16))
        elif place == len(self._segments[number]):
            self._segments[number] = _longer(self._segments[number], min(2 * place, self.segment))

    def _check(self, row: int) -> None:
        if not 0 <= row < self._size:
            raise IndexError(f"no row {row} in {self._size}")


def _longer(values: NDArray[Scalar], capacity: int) -> NDArray[Scalar]:
    longer = np.empty((capacity, *values.shape[1:]), values.dtype)
    longer[: len(values)] = values
    return longer
