"""Full-text search over the texts of one scope: BM25 as SQLite's FTS5 ranks.

A row with any term of the query is a hit. A term in at least half of the rows weighs next to
nothing, as in FTS5. Scores are rounded before they are compared, because logarithms differ in the
last digit between machines, and the order must not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

K1: Final = 1.2
B: Final = 0.75
LEAST_IDF: Final = 1e-6
"""FTS5's weight of a term in half of the rows or more."""
DECIMALS: Final = 9


class FullTextIndex:
    """The terms of texts, in order of arrival. Rows are 0..n-1."""

    __slots__ = ("_length", "_living", "_postings", "_rows")

    def __init__(self) -> None:
        self._rows: list[Counter[str] | None] = []
        self._postings: dict[str, dict[int, int]] = {}
        self._living = 0
        self._length = 0

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, terms: Sequence[str]) -> int:
        """Add a text and return its row."""
        row = len(self._rows)
        self._rows.append(None)
        self.replace(row, terms)
        return row

    def replace(self, row: int, terms: Sequence[str]) -> None:
        """Replace the text of a row; this restores a removed row.

        Raises IndexError if there is no such row.
        """
        self.remove(row)
        counted = self._rows[row] = Counter(terms)
        self._living += 1
        self._length += counted.total()
        for term, count in counted.items():
            self._postings.setdefault(term, {})[row] = count

    def remove(self, row: int) -> None:
        """Exclude `row` until it is replaced. Raises IndexError if there is no such row."""
        if row < 0:
            raise IndexError(row)
        before, self._rows[row] = self._rows[row], None
        if before is None:
            return
        self._living -= 1
        self._length -= before.total()
        for term in before:
            postings = self._postings[term]
            del postings[row]
            if not postings:
                del self._postings[term]

    def best(self, terms: Sequence[str], limit: int) -> list[int]:
        """The best `limit` rows with a term of the query; ties go to the earlier row."""
        scores: dict[int, float] = {}
        for term in dict.fromkeys(terms):
            postings = self._postings.get(term, {})
            weight = self._idf(len(postings)) * (K1 + 1)
            for row, count in postings.items():
                scores[row] = scores.get(row, 0.0) + weight * count / (count + self._norm(row))
        order = sorted(scores, key=lambda row: (-round(scores[row], DECIMALS), row))
        return order[:limit]

    def _idf(self, rows: int) -> float:
        if 2 * rows >= self._living:
            return LEAST_IDF
        return math.log((self._living - rows + 0.5) / (rows + 0.5))

    def _norm(self, row: int) -> float:
        """What BM25 adds to a term's count for the length of a row, relative to the average."""
        counted = self._rows[row]
        assert counted is not None, "postings name living rows"
        average = self._length / self._living
        return K1 * (1 - B + B * counted.total() / average)
