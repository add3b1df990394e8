"""The hits of both searches."""

from dataclasses import dataclass

DECIMALS = 4
"""Scores are rounded to this many decimals before they are compared (docs/design.md)."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A row that reaches the floor, with its cosine or Jaccard rounded to four decimals."""

    row: int
    score: float


def ranked(hits: list[SearchHit], limit: int) -> list[SearchHit]:
    """The best `limit` hits, the highest score first; of equal scores the earlier row first."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.row))[:limit]
