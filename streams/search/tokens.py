"""Exact Jaccard search over the token sets of one scope.

A set with Jaccard >= t to a query of n tokens shares at least ceil(t n) of them, so it contains at
least one of any n - ceil(t n) + 1 of them. Choosing the rarest keeps the search off the long
postings of common tokens (prefix filter: Chaudhuri et al. 2006, Bayardo et al. 2007). The set's
size m is from t n to n / t, and it shares at least t (n + m) / (1 + t) tokens. Only sets within
these bounds are scored.
"""

from array import array
from collections.abc import Sequence
from math import ceil
from sys import intern
from typing import Final

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.search.cosine.pairs import HALF_STEP
from palimpsest.streams.search.hits import DECIMALS, SearchHit, ranked

SLACK: Final = 1e-6
"""Margin for the rounding of bounds computed in floats."""

SORTING_COSTS: Final = 16
"""The cost of sorting a row, relative to that of skipping one in a table of counts."""

FEW_TO_SCORE: Final = 64
"""Up to this number, scoring rows one by one is faster than making a table of a token's rows."""


class TokenIndex:
    """Token sets in the order of arrival, found by Jaccard similarity.

    Rows are 0..n-1. Postings name rows. Entries of rows that were replaced or removed stay, and do
    no harm, because every score is computed from the row's current set.
    """

    __slots__ = ("_ids", "_postings", "_rows", "_sizes")

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._postings: list[array[int]] = []
        self._rows: list[tuple[int, ...] | None] = []
        self._sizes = array("I")

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, tokens: frozenset[str]) -> int:
        """Add a token set and return its row."""
        row, now = len(self._rows), self._numbers(tokens)
        self._rows.append(now)
        self._sizes.append(len(now))
        for token in now:
            self._postings[token].append(row)
        return row

    def replace(self, row: int, tokens: frozenset[str]) -> None:
        """Replace a row's tokens; this restores a removed row.

        Raises IndexError if there is no such row.
        """
        before = self._rows[self._existing(row)] or ()
        now = self._numbers(tokens)
        for token in now:
            if token not in before:
                self._postings[token].append(row)
        self._rows[row] = now
        self._sizes[row] = len(now)

    def remove(self, row: int) -> None:
        """Exclude `row` until it is replaced. Raises IndexError if there is no such row."""
        self._rows[self._existing(row)] = None

    def above(self, tokens: frozenset[str], floor: float, *, limit: int) -> list[SearchHit]:
        """The best `limit` rows whose Jaccard, rounded to four decimals, is at least `floor`.

        Sorted by falling score, then by row. Two empty sets have Jaccard 0.
        """
        known = self._known(tokens)
        hits = []
        for row in self._sharing(known, len(tokens), floor - HALF_STEP):
            score = self._score(known, len(tokens), row)
            if score >= floor:
                hits.append(SearchHit(row, score))
        return ranked(hits, limit)

    def among(self, tokens: frozenset[str], rows: Sequence[int], floor: float) -> list[SearchHit]:
        """The given rows whose rounded Jaccard is at least `floor`, in order."""
        known = self._known(tokens)
        scored = (
            SearchHit(row, self._score(known, len(tokens), self._existing(row))) for row in rows
        )
        return [hit for hit in scored if hit.score >= floor]

    def _known(self, tokens: frozenset[str]) -> frozenset[int]:
        """The numbers of the tokens that any row has or had."""
        return frozenset(map(self._ids.__getitem__, tokens & self._ids.keys()))

    def _existing(self, row: int) -> int:
        if not 0 <= row < len(self._rows):
            raise IndexError(row)
        return row

    def _numbers(self, tokens: frozenset[str]) -> tuple[int, ...]:
        """The numbers of tokens; new tokens get one.

        A tuple, because a set of twelve takes 600 bytes more.
        """
        ids = self._ids
        if not tokens <= ids.keys():
            for token in tokens:
                if token not in ids:
                    # Scopes share the strings, which would take more memory than all the rest.
                    ids[intern(token)] = len(ids)
                    self._postings.append(array("I"))
        return tuple(map(ids.__getitem__, tokens))

    def _sharing(self, known: frozenset[int], size: int, floor: float) -> list[int]:
        """Rows that could reach `floor` with a query of `size` tokens; the index has `known`."""
        if floor <= 0.0:
            return list(range(len(self._rows)))
        prefix = len(known) - max(1, ceil(floor * size - SLACK)) + 1
        if prefix <= 0:
            return []
        by_rarity = sorted(known, key=lambda token: len(self._postings[token]))
        rare, common = by_rarity[:prefix], by_rarity[prefix:]
        if sum(len(self._postings[token]) for token in rare) > FEW_TO_SCORE:
            return self._sharing_many(rare, common, size, floor)
        least, most, lengths = floor * size - SLACK, (size + SLACK) / floor, self._sizes
        found = {row for token in rare for row in self._postings[token]}
        return [row for row in found if least <= lengths[row] <= most]

    def _sharing_many(
        self, rare: Sequence[int], common: Sequence[int], size: int, floor: float
    ) -> list[int]:
        """Like `_sharing`, if many rows have the `rare` tokens: counts the `common` ones, too."""
        rows = np.concatenate([np.frombuffer(self._postings[token], np.uint32) for token in rare])
        sizes = np.frombuffer(self._sizes, np.uint32)
        fits = sizes[rows] >= floor * size - SLACK
        fits &= sizes[rows] * floor <= size + SLACK
        # A row named twice by one posting, after replacements, only passes more easily.
        rows, shared = _counted(rows[fits], len(self._rows))
        # How many common tokens a row may still lack: at first it is assumed to have them all.
        spare = shared + len(common) - (floor * (size + sizes[rows]) / (1 + floor) - SLACK)
        rows, spare = rows[spare >= 0], spare[spare >= 0]
        for token in common:
            if len(rows) <= FEW_TO_SCORE:
                break
            has_it = np.zeros(len(self._rows), np.bool_)  # or had it, before it was replaced
            has_it[np.frombuffer(self._postings[token], np.uint32)] = True
            spare = spare - ~has_it[rows]
            rows, spare = rows[spare >= 0], spare[spare >= 0]
        possible: list[int] = rows.tolist()
        return possible

    def _score(self, known: frozenset[int], size: int, row: int) -> float:
        other = self._rows[row]
        if not other:
            return -1.0 if other is None else 0.0
        shared = len(known.intersection(other))
        return round(shared / (size + len(other) - shared), DECIMALS)


def _counted(rows: NDArray[np.uint32], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The distinct rows, all below `size`, and the number of times that each occurs."""
    if len(rows) * SORTING_COSTS < size:
        distinct, counts = np.unique(rows.astype(np.intp), return_counts=True)
        return distinct, counts
    counts = np.bincount(rows, minlength=size)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]
