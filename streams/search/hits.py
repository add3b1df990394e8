"""Hits of a search by cosine or by Jaccard similarity."""

from operator import itemgetter
from typing import NamedTuple

DECIMALS = 4
"""Scores are rounded to this many decimals before they are compared (docs/design.md)."""


class SearchHit(NamedTuple):
    """A row that reaches the floor, with its cosine or Jaccard rounded to four decimals."""

    row: int
    score: float


def ranked(hits: list[SearchHit], limit: int) -> list[SearchHit]:
    """The best `limit` hits, the highest score first; of equal scores the earlier row first."""
    if len(hits) < 2:
        return hits[:limit]
    found = sorted(hits, key=itemgetter(0))
    found.sort(key=itemgetter(1), reverse=True)  # equal scores stay in the order of their rows
    return found[:limit]
