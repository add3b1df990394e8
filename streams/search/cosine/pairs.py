"""Pairs of a query and a row that may be an answer, with bounds on their cosine."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.hits import DECIMALS

HALF_STEP: Final = 0.5 * 10**-DECIMALS * 1.001
"""How far below a floor a score can be and still round up to it, with a margin."""


class Pairs(NamedTuple):
    """Four arrays of one length: the query, the row, and `low <= cosine <= high`."""

    query: NDArray[np.intp]
    row: NDArray[np.intp]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def at(self, where: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "Pairs":
        """The pairs at these places, or where a mask is true."""
        return Pairs(self.query[where], self.row[where], self.low[where], self.high[where])

    def shifted(self, rows: int) -> "Pairs":
        """The same pairs with row numbers increased by `rows`."""
        return self._replace(row=self.row + rows)


def joined(parts: list[Pairs]) -> Pairs:
    """All pairs of the parts, of which there is at least one, in order."""
    if len(parts) == 1:
        return parts[0]
    return Pairs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def bars(pairs: Pairs, queries: int, limit: int) -> NDArray[np.float64]:
    """For each query, the cosine below which no row is among its best `limit`, or -inf.

    A rounded score can equal that of the limit-th best only if it is at most one step (.0001)
    lower.
    """
    order = np.lexsort((-pairs.low, pairs.query))
    sorted_queries = pairs.query[order]
    numbers = np.arange(queries)
    nth = np.searchsorted(sorted_queries, numbers) + limit - 1
    enough = nth < np.searchsorted(sorted_queries, numbers, side="right")
    answer = np.full(queries, -np.inf)
    answer[enough] = pairs.low[order[nth[enough]]] - 2 * HALF_STEP
    return answer


def above_floor(pairs: Pairs, floors: NDArray[np.float64]) -> Pairs:
    """The pairs that may reach the floor of their query; floors have shape (queries,)."""
    return pairs.at(pairs.high >= floors[pairs.query])


def lowered(
    floors: NDArray[np.float64], best: NDArray[np.float64] | None, tops: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The floors (b,), lowered to include the best row of each query, if `best` is given.

    `best` are lower bounds of the queries' best cosines among earlier rows, `tops` among these.
    """
    if best is None:
        return floors
    top = np.maximum(best, tops)
    return np.where(np.isfinite(top), np.minimum(floors, top - 2 * HALF_STEP), floors)


def within(
    scores: NDArray[np.float32],
    floors: NDArray[np.float64],
    errors: NDArray[np.float64],
    steps: NDArray[np.float64],
    best: NDArray[np.float64] | None = None,
    living: NDArray[np.bool_] | None = None,
) -> Pairs:
    """The pairs whose cosine, `scores * steps` with an error up to `errors`, may reach the floor.

    Scores have shape (b, n), `living` (n,), the others (b,). With `best`, floors are `lowered`;
    only `living` rows count for that, but others are returned, too.
    """
    if best is not None:
        alive = scores if living is None or living.all() else np.where(living, scores, -np.inf)
        floors = lowered(floors, best, alive.max(axis=1) * steps - errors)
    bar = np.nextafter(((floors - errors) / steps).astype(np.float32), np.float32(-np.inf))
    hits = np.flatnonzero(scores >= bar[:, None])
    query, row = np.divmod(hits, scores.shape[1])
    middle = scores.reshape(-1)[hits] * steps[query]
    return Pairs(query, row, middle - errors[query], middle + errors[query])
