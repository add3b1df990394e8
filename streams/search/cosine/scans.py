"""Three ways to find every pair that may reach a floor: exact, by a float32 product, or by codes.

None of them misses a pair: each inexact way has a proven maximum error, and allows for it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.cosine.coarse import near_by_codes
from palimpsest.streams.search.cosine.kernels import products
from palimpsest.streams.search.cosine.pairs import Pairs, lowered, within
from palimpsest.streams.search.cosine.queries import Queries
from palimpsest.streams.search.cosine.rows import VectorRows
from palimpsest.streams.search.exact import cosines

Floors = NDArray[np.float64]

FEW_ROWS: Final = 256
"""Up to this number of rows, exact scores take fewer steps than a scan."""

CROWDED: Final = 1 / 16
"""If codes find more than this share of pairs, a float32 product, slower but finer, pays off."""

TOGETHER: Final = 1024
"""Number of pairs scored together: 3 MB per matrix, which stays in the cache."""


def scan(
    queries: Queries,
    rows: VectorRows,
    start: int,
    end: int,
    floors: Floors,
    best: Floors | None = None,
) -> Pairs:
    """The pairs with living rows start..end-1 that may reach their query's floor (b,).

    `best` are lower bounds of the best cosines (b,) of earlier rows: with it, pairs that may be the
    best of all are included, too, however low they are.
    """
    found = _found(queries, rows, start, end, floors, best)
    living = rows.living[found.row]
    return found if living.all() else found.at(living)


def score(queries: Queries, rows: VectorRows, pairs: Pairs) -> Pairs:
    """The same pairs with `low` and `high` both their exact cosine."""
    if np.array_equal(pairs.low, pairs.high):
        return pairs
    exact: NDArray[np.float64] = np.empty(len(pairs.row))
    for first in range(0, len(exact), TOGETHER):
        some = pairs.at(slice(first, first + TOGETHER))
        wide = rows.picked(some.row).astype(np.float64)
        dots = np.einsum("ij,ij->i", queries.wide[some.query], wide)
        squared = queries.squared[some.query] * rows.squared[some.row]
        exact[first : first + TOGETHER] = cosines(dots, squared)
    return pairs._replace(low=exact, high=exact)


def _found(
    queries: Queries, rows: VectorRows, start: int, end: int, floors: Floors, best: Floors | None
) -> Pairs:
    if end - start <= FEW_ROWS:
        return _directly(queries, rows, start, end, floors, best)
    if start % rows.segment == 0 and end % rows.segment == 0:
        codes = rows.codes[start // rows.segment : end // rows.segment]
        living = rows.living[start:end]
        found = near_by_codes(codes, queries.coarse, floors, best, living).shifted(start)
        if len(found.row) <= CROWDED * len(queries) * (end - start):
            return found
    return _plainly(queries, rows, start, end, floors, best)


def _directly(
    queries: Queries, rows: VectorRows, start: int, end: int, floors: Floors, best: Floors | None
) -> Pairs:
    dots = products(queries.wide, rows.span(start, end).astype(np.float64))
    exact = cosines(dots, queries.squared[:, None] * rows.squared[start:end])
    if best is not None:
        alive = np.where(rows.living[start:end], exact, -np.inf)
        floors = lowered(floors, best, alive.max(axis=1))
    query, row = np.nonzero(exact >= floors[:, None])
    found = exact[query, row]
    return Pairs(query, row + start, found, found)


def _plainly(
    queries: Queries, rows: VectorRows, start: int, end: int, floors: Floors, best: Floors | None
) -> Pairs:
    firsts = range(start, end, rows.segment)
    units = (rows.unit(first, min(first + rows.segment, end)) for first in firsts)
    scores = np.concatenate([products(queries.unit, unit) for unit in units], axis=1)
    # d products and sums, each off by at most 2**-24 of |a||b| = 1; twice that, to be safe.
    error = (queries.unit.shape[1] + 8) * 2.0**-23
    ones = np.ones(len(queries))
    living = rows.living[start:end]
    return within(scores, floors, error * ones, ones, best, living).shifted(start)
