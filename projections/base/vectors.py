"""Decodes recorded vectors in bulk: base64 of little-endian float16 (contracts.events)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from msgspec import json
from numpy.typing import NDArray

from palimpsest.contracts.events import Vector

_BASE64: json.Decoder[bytes] = json.Decoder(bytes)
"""Decodes base64, as a JSON string, in a third of the standard library's time."""
NONE = -1
Places = NDArray[np.intp]
"""For each value of a list, the row of its vector in `Packed`, or NONE."""


def decoded(vectors: Iterable[Vector], dimension: int) -> NDArray[np.float16]:
    """Vectors of one dimension as an array (n, dimension)."""
    return _numbers(vector.data for vector in vectors).reshape(-1, dimension)


def _numbers(texts: Iterable[str]) -> NDArray[np.float16]:
    """The numbers of recorded vectors, concatenated."""
    found = list(texts)
    if all(len(text) % 4 == 0 and text[-1:] != "=" for text in found):
        found = ["".join(found)]  # unpadded texts decode as one, a quarter faster
    return np.frombuffer(b"".join([_BASE64.decode(f'"{text}"') for text in found]), "<f2")


def numbers_of(column: pa.FixedSizeListArray) -> NDArray[np.float32]:
    """A column of vectors as an array (n, dimension); rows without a vector are undefined."""
    size = column.type.list_size
    numbers = column.values.slice(column.offset * size, len(column) * size)
    rows: NDArray[np.float32] = numbers.to_numpy(zero_copy_only=False).reshape(len(column), size)
    return rows


def _column(numbers: NDArray[np.float32], missing: NDArray[np.bool_]) -> pa.Array:
    mask = pa.array(missing) if missing.any() else None
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), numbers.shape[1], mask=mask)


@dataclass(frozen=True, slots=True)
class Packed:
    """Distinct vectors of any dimension: their concatenated numbers, and their dimensions."""

    numbers: NDArray[np.float16]
    dimensions: NDArray[np.intp]

    @classmethod
    def of(cls, vectors: Sequence[Vector | None]) -> tuple[Packed, Places]:
        """Pack the distinct vectors; also return the place of each given vector.

        Vectors are compared by identity, because hashing one would read all of its text.
        """
        found = {id(vector): vector for vector in vectors if vector is not None}
        row_of = {identity: row for row, identity in enumerate(found)}
        places = [row_of.get(id(vector), NONE) for vector in vectors]
        dimensions = [vector.dimension for vector in found.values()]
        packed = cls(
            _numbers(vector.data for vector in found.values()), np.array(dimensions, np.intp)
        )
        return packed, np.array(places, np.intp)


class Numbers:
    """Packed vectors of one dimension as float32; vectors of other dimensions are *foreign*.

    A vector that contains NaN counts as missing.
    """

    def __init__(self, packed: Packed, dimension: int) -> None:
        self.dimension = dimension
        self._packed = packed
        self._fits = packed.dimensions == dimension
        if self._fits.all():
            halves = packed.numbers
        else:
            halves = packed.numbers[np.repeat(self._fits, packed.dimensions)]
        self._numbers = halves.reshape(-1, dimension).astype(np.float32)
        wrong = np.isnan(self._numbers).any(axis=1)
        rows = np.where(wrong, NONE, np.arange(len(self._numbers)))
        self._rows = np.full(len(packed.dimensions) + 1, NONE, np.intp)  # the last row is for NONE
        self._rows[:-1][self._fits] = rows

    def column(self, places: Places) -> pa.Array:
        """The vectors of some places as a column of float32 lists; null if there is none."""
        rows = self._rows[places]
        missing = rows == NONE
        if missing.any():
            numbers = np.zeros((len(rows), self.dimension), np.float32)
            numbers[~missing] = self._numbers[rows[~missing]]
        else:
            numbers = self._numbers[rows]
        return _column(numbers, missing)

    def foreign(self, places: Places) -> pa.Array:
        """The foreign vectors of some places, as recorded (base64); null if there is none."""
        if self._fits.all():
            return pa.nulls(len(places), pa.string())
        return pa.array(map(self._text, places.tolist()), pa.string())

    def _text(self, place: int) -> str | None:
        if place == NONE or self._fits[place]:
            return None
        dimension = self._packed.dimensions[place]
        first = self._packed.dimensions[:place].sum()
        data = self._packed.numbers[first : first + dimension].tobytes()
        return base64.b64encode(data).decode()


def of_dimension(
    column: pa.FixedSizeListArray, foreign: pa.StringArray, dimension: int
) -> tuple[pa.Array, pa.Array]:
    """Convert the columns of vectors and of foreign vectors to another dimension."""
    # float16 values survive as float32 without change.
    texts: list[str | None] = foreign.to_pylist()
    there = np.flatnonzero(column.is_valid())
    for row, half in zip(there, numbers_of(column)[there].astype("<f2"), strict=True):
        texts[row] = base64.b64encode(half.tobytes()).decode()
    fitting = {row: t for row, t in enumerate(texts) if t is not None and _length(t) == dimension}
    numbers = np.zeros((len(texts), dimension), np.float32)
    if fitting:
        numbers[list(fitting)] = _numbers(fitting.values()).reshape(-1, dimension)
    missing = np.ones(len(texts), np.bool_)
    missing[list(fitting)] = False
    others = [None if row in fitting else text for row, text in enumerate(texts)]
    return _column(numbers, missing), pa.array(others, pa.string())


def _length(text: str) -> int:
    """The dimension of a recorded vector."""
    return (len(text) // 4 * 3 - text.count("=", -2)) // 2
