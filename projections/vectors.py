"""Recorded vectors as numbers, many at once: base64 of little-endian float16 (contracts.events)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from contracts.events import Vector

AT_ONCE = 64
"""Vectors decoded together: what is read and written then stays in the processor's cache."""


def dimension_of(vectors: Sequence[Vector | None]) -> int | None:
    """The dimension of the last vector that there is."""
    return next((vector.dimension for vector in reversed(vectors) if vector is not None), None)


def decoded(vectors: Sequence[Vector], dimension: int) -> NDArray[np.float16]:
    """Vectors of one dimension as an array (n, dimension)."""
    texts = [vector.data for vector in vectors]
    if dimension * 2 % 3 == 0:
        data = base64.b64decode("".join(texts))
    else:
        data = b"".join(map(base64.b64decode, texts))
    return np.frombuffer(data, dtype="<f2").reshape(len(vectors), dimension)


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
        mask = pa.array(missing) if missing.any() else None
        values = pa.array(numbers.ravel())
        return pa.FixedSizeListArray.from_arrays(values, self.dimension, mask=mask)
