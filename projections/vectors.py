"""Recorded vectors as numbers, many at once: base64 of little-endian float16 (contracts.events)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from palimpsest.contracts.events import Vector

AT_ONCE = 64
"""Vectors decoded together: what is read and written then stays in the processor's cache."""


def decoded(vectors: Sequence[Vector], dimension: int) -> NDArray[np.float16]:
    """Vectors of one dimension as an array (n, dimension)."""
    return _numbers([vector.data for vector in vectors], dimension)


def _numbers(texts: Sequence[str], dimension: int) -> NDArray[np.float16]:
    if dimension * 2 % 3 == 0:
        data = base64.b64decode("".join(texts))
    else:
        data = b"".join(map(base64.b64decode, texts))
    return np.frombuffer(data, dtype="<f2").reshape(len(texts), dimension)


def numbers_of(column: pa.FixedSizeListArray) -> NDArray[np.float32]:
    """A column of vectors as an array (n, dimension); anything where there is none."""
    size = column.type.list_size
    numbers = column.values.slice(column.offset * size, len(column) * size)
    rows: NDArray[np.float32] = numbers.to_numpy(zero_copy_only=False).reshape(len(column), size)
    return rows


def _column(numbers: NDArray[np.float32], missing: NDArray[np.bool_]) -> pa.Array:
    mask = pa.array(missing) if missing.any() else None
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), numbers.shape[1], mask=mask)


class Decoded:
    """Vectors of one dimension as numbers, each decoded once in however many rows it is.

    They are told apart by identity: hashing one reads all of its text.
    """

    def __init__(self, vectors: Iterable[Vector | None], dimension: int) -> None:
        found = {id(v): v for v in vectors if v is not None and v.dimension == dimension}
        self.dimension = dimension
        self._vectors = list(found.values())
        self._rows = {identity: row for row, identity in enumerate(found)}
        self._numbers = np.empty((len(found), dimension), np.float32)
        for start in range(0, len(found), AT_ONCE):
            some = self._vectors[start : start + AT_ONCE]
            self._numbers[start : start + len(some)] = decoded(some, dimension)

    def column(self, vectors: Sequence[Vector | None]) -> pa.Array:
        """Some of them as a column of float32 lists; null where there is none of the dimension."""
        rows = np.array([self._rows.get(id(vector), -1) for vector in vectors], np.intp)
        missing = rows < 0
        if missing.any():
            numbers = np.zeros((len(rows), self.dimension), np.float32)
            numbers[~missing] = self._numbers[rows[~missing]]
        else:
            numbers = self._numbers[rows]
        return _column(numbers, missing)

    def foreign(self, vectors: Sequence[Vector | None]) -> pa.Array:
        """Those of other dimensions as they were recorded; null where there is none."""
        fits = self.dimension
        texts = [None if v is None or v.dimension == fits else v.data for v in vectors]
        return pa.array(texts, pa.string())


def of_dimension(
    column: pa.FixedSizeListArray, foreign: pa.StringArray, dimension: int
) -> tuple[pa.Array, pa.Array]:
    """The columns of vectors and of foreign ones, where another dimension is wanted from now on."""
    texts = _recorded(column, foreign)
    fitting = {row: t for row, t in enumerate(texts) if t is not None and _length(t) == dimension}
    numbers = np.zeros((len(texts), dimension), np.float32)
    if fitting:
        numbers[list(fitting)] = _numbers(list(fitting.values()), dimension)
    missing = np.ones(len(texts), np.bool_)
    missing[list(fitting)] = False
    others = [None if row in fitting else text for row, text in enumerate(texts)]
    return _column(numbers, missing), pa.array(others, pa.string())


def _recorded(column: pa.FixedSizeListArray, foreign: pa.StringArray) -> list[str | None]:
    """Each row's vector as it was recorded: float16 became float32, and comes back the same."""
    texts: list[str | None] = foreign.to_pylist()
    there = np.flatnonzero(column.is_valid())
    for row, half in zip(there, numbers_of(column)[there].astype("<f2"), strict=True):
        texts[row] = base64.b64encode(half.tobytes()).decode()
    return texts


def _length(text: str) -> int:
    """How many numbers a recorded vector has."""
    return (len(text) // 4 * 3 - text.count("=", -2)) // 2
