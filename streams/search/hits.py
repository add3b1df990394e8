"""What both searches answer with."""

from dataclasses import dataclass

DECIMALS = 4
"""Scores are rounded to so many decimals before anything is compared with them (docs/design.md)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that reaches the floor, with its cosine or Jaccard rounded to four decimals."""

    row: int
    score: float


def ranked(hits: list[Hit], limit: int) -> list[Hit]:
    """The best `limit` hits, the highest score first; of equal scores the earlier row first."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.row))[:limit]
