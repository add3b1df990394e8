"""Compares the new candidates of a batch with each other: which earlier ones each would find.

It is one product of the batch with itself, instead of a search for each after every arrival.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.cosine.kernels import products
from palimpsest.streams.search.cosine.pairs import HALF_STEP
from palimpsest.streams.search.cosine.queries import Queries
from palimpsest.streams.search.exact import cosines
from palimpsest.streams.search.hits import DECIMALS, SearchHit

CROWD: Final = 64
"""With more peers than this, none are returned: a new search costs less than a list of all."""


def peers(vectors: NDArray[np.float16], floor: float) -> list[list[SearchHit] | None]:
    """For each of the vectors (b, d), the earlier ones whose rounded cosine is at least `floor`.

    A hit's `row` is its number in the batch. None means too many; ValueError as in `squared_norm`.
    """
    if len(vectors) < 2:
        return [[] for _ in vectors]
    queries = Queries(vectors, vectors.shape[1])
    later, earlier = _near(queries, floor)
    answers: list[list[SearchHit] | None] = [[] for _ in vectors]
    for number in np.flatnonzero(np.bincount(later, minlength=len(vectors)) > CROWD).tolist():
        answers[number] = None
    dots = np.einsum("ij,ij->i", queries.wide[later], queries.wide[earlier])
    scores = cosines(dots, queries.squared[later] * queries.squared[earlier])
    for one, other, score in zip(later.tolist(), earlier.tolist(), scores.tolist(), strict=True):
        hits, rounded = answers[one], round(score, DECIMALS)
        if hits is not None and rounded >= floor:
            hits.append(SearchHit(other, rounded))
    return answers


def _near(queries: Queries, floor: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of a later and an earlier one that may reach the floor, by a float32 product."""
    # d products and sums, each off by at most 2**-24 of |a||b| = 1; twice that, to be safe.
    error = (queries.unit.shape[1] + 8) * 2.0**-23
    rough = products(queries.unit, queries.unit)
    later, earlier = np.nonzero(rough >= floor - HALF_STEP - error)
    before = earlier < later
    return later[before], earlier[before]
