"""Exact Jaccard search over the token sets of one scope.

A set with Jaccard >= t to a query of n tokens shares at least ceil(t n) of them, so it has one of any
n - ceil(t n) + 1; the rarest of them keep the search off the long postings of common tokens
(prefix filter: Chaudhuri et al. 2006, Bayardo et al. 2007). Its size is from t n to n / t.
"""

from array import array
from math import ceil

from streams.search.hits import DECIMALS, Hit, ranked

HALF_STEP = 0.5 * 10**-DECIMALS * 1.001
"""How far under a floor a Jaccard can be and still round up to it, and a little more."""


class TokenIndex:
    """Token sets in the order of arrival, found by Jaccard similarity.

    Rows are 0..n-1. Postings name rows; entries of rows that were replaced or removed stay until
    they are met and are then seen through, because every score is taken from the row's present set.
    """

    __slots__ = ("_ids", "_postings", "_rows")

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._postings: list[array[int]] = []
        self._rows: list[frozenset[int] | None] = []

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, tokens: frozenset[str]) -> int:
        """Add a token set and return its row."""
        row = len(self._rows)
        self._rows.append(None)
        self.replace(row, tokens)
        return row

    def replace(self, row: int, tokens: frozenset[str]) -> None:
        """Give a row other tokens; a removed one is back with them. IndexError where there is none."""
        before = self._rows[self._existing(row)] or frozenset()
        now = frozenset(map(self._intern, tokens))
        for token in now - before:
            self._postings[token].append(row)
        self._rows[row] = now

    def remove(self, row: int) -> None:
        """Never return `row` again, until it is replaced. IndexError where there is no such row."""
        self._rows[self._existing(row)] = None

    def above(self, tokens: frozenset[str], floor: float, *, limit: int) -> list[Hit]:
        """The best `limit` rows whose Jaccard, rounded to four decimals, is at least `floor`.

        Sorted by falling score, then by row. Two empty sets have Jaccard 0: they say nothing alike.
        """
        known = frozenset(self._ids[token] for token in tokens if token in self._ids)
        hits = []
        for row in self._sharing(known, len(tokens), floor - HALF_STEP):
            score = self._score(known, len(tokens), row)
            if score >= floor:
                hits.append(Hit(row, score))
        return ranked(hits, limit)

    def _existing(self, row: int) -> int:
        if not 0 <= row < len(self._rows):
            raise IndexError(row)
        return row

    def _intern(self, token: str) -> int:
        number = self._ids.setdefault(token, len(self._ids))
        if number == len(self._postings):
            self._postings.append(array("I"))
        return number

    def _sharing(self, known: frozenset[int], size: int, floor: float) -> set[int]:
        """Rows that could reach `floor`; `known` are the tokens of the query's `size` seen before."""
        if floor <= 0.0:
            return {row for row, other in enumerate(self._rows) if other is not None}
        needed = max(1, ceil(floor * size - 1e-9))
        prefix = sorted(known, key=lambda token: len(self._postings[token]))[
            : len(known) - needed + 1
        ]
        found: set[int] = set()
        for token in prefix:
            found.update(self._postings[token])
        return found

    def _score(self, known: frozenset[int], size: int, row: int) -> float:
        other = self._rows[row]
        if not other:
            return -1.0 if other is None else 0.0
        shared = len(known & other)
        return round(shared / (size + len(other) - shared), DECIMALS)
