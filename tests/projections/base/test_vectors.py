"""Recorded vectors as numbers, whatever their lengths are."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from palimpsest.contracts.events import Vector
from palimpsest.projections.base.vectors import Packed


def _vector(numbers: list[float]) -> Vector:
    data = base64.b64encode(np.array(numbers, "<f2").tobytes()).decode()
    return Vector(model="m", engine="e", dimension=len(numbers), data=data)


@pytest.mark.parametrize("lengths", [(3, 3), (1, 1), (2, 3), (3, 4, 3)])
def test_vectors_are_decoded_whether_their_texts_end_in_padding_or_not(
    lengths: tuple[int, ...],
) -> None:
    vectors = [[float(10 * row + n) for n in range(long)] for row, long in enumerate(lengths)]
    packed, places = Packed.of([_vector(vector) for vector in vectors])
    assert packed.numbers.tolist() == [number for vector in vectors for number in vector]
    assert places.tolist() == list(range(len(lengths)))
