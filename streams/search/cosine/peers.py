"""Finds, for each new candidate of a batch, the earlier ones of the batch that a search would find.

It takes one product of the batch with itself, instead of a separate search for each candidate as it
arrives.
"""

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.cosine.kernels import products
from palimpsest.streams.search.cosine.pairs import HALF_STEP
from palimpsest.streams.search.cosine.queries import Queries
from palimpsest.streams.search.exact import cosines
from palimpsest.streams.search.hits import DECIMALS, SearchHit, ranked

CROWD: Final = 64
"""With more peers than this, none are returned: a new search costs less than a list of all."""


class Peers:
    """A batch of one or more vectors (b, d), compared with each other by one product.

    A hit's `row` is its number in the batch. Raises ValueError like `squared_norm`.
    """

    def __init__(self, vectors: NDArray[np.float16]) -> None:
        self._queries = Queries(vectors, vectors.shape[1])
        # d products and sums, each off by at most 2**-24 of |a||b| = 1; twice that, to be safe.
        self._error = (vectors.shape[1] + 8) * 2.0**-23
        self._rough = products(self._queries.unit, self._queries.unit)
        self._earlier = np.tri(len(vectors), k=-1, dtype=np.bool_)

    def above(self, floors: float | NDArray[np.float64]) -> list[list[SearchHit] | None]:
        """For each vector, the earlier ones whose rounded cosine is at least its floor.

        None for a vector with more than about `CROWD` of them. `floors` is one floor for all, or
        one for each (b,).
        """
        size = len(self._queries)
        each = np.broadcast_to(floors, size)
        near = self._rough >= (each - HALF_STEP - self._error)[:, None]
        later, earlier = np.nonzero(near & self._earlier)
        answers: list[list[SearchHit] | None] = [[] for _ in range(size)]
        for number in np.flatnonzero(np.bincount(later, minlength=size) > CROWD).tolist():
            answers[number] = None
        scores = self._scores(later, earlier)
        least = each.tolist()
        for one, other, score in zip(later.tolist(), earlier.tolist(), scores, strict=True):
            hits = answers[one]
            if hits is not None and score >= least[one]:
                hits.append(SearchHit(other, score))
        return answers

    @cached_property
    def nearest_earlier(self) -> list[SearchHit | None]:
        """For each vector, the nearest earlier one; ties go to the earliest. None for the first.

        All are found together, in the time that `nearest` takes for a few.
        """
        rough = np.where(self._earlier, self._rough, -np.inf)
        bars = rough.max(axis=1, keepdims=True) - 2 * (HALF_STEP + self._error)
        later, earlier = np.nonzero((rough >= bars) & self._earlier)
        found: list[SearchHit | None] = [None] * len(rough)
        scores = self._scores(later, earlier)
        for one, other, score in zip(later.tolist(), earlier.tolist(), scores, strict=True):
            best = found[one]
            if best is None or score > best.score:  # they come in order: the earliest stays
                found[one] = SearchHit(other, score)
        return found

    def nearest(self, number: int, among: NDArray[np.intp]) -> list[SearchHit]:
        """The nearest of the given others; ties go to the earliest. Empty if there are none."""
        if not len(among):
            return []
        rough = self._rough[number, among]
        close = among[rough >= rough.max() - 2 * (HALF_STEP + self._error)]
        scores = self._scores(np.full(len(close), number), close)
        return ranked([*map(SearchHit, close.tolist(), scores)], 1)

    def _scores(self, one: NDArray[np.intp], other: NDArray[np.intp]) -> list[float]:
        """The cosines of pairs, computed exactly and then rounded."""
        queries = self._queries
        dots: NDArray[np.float64] = np.vecdot(queries.wide[one], queries.wide[other])
        exact = cosines(dots, queries.squared[one] * queries.squared[other])
        return [round(score, DECIMALS) for score in exact.tolist()]
