"""Recorded vectors as numbers, many at once: base64 of little-endian float16 (contracts.events)."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from contracts.events import Vector


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


def column(vectors: Sequence[Vector | None], dimension: int) -> pa.Array:
    """Vectors as a column of float32 lists; null where there is none of this dimension."""
    known = [v is not None and v.dimension == dimension for v in vectors]
    numbers = np.zeros((len(vectors), dimension), np.float32)
    present = np.array(known, dtype=np.bool_)
    if present.any():
        numbers[present] = decoded(
            [v for v in vectors if v is not None and v.dimension == dimension], dimension
        )
    mask = pa.array(~present) if not present.all() else None
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), dimension, mask=mask)
