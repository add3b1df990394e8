"""The order in which joins are labelled, from a seed that nobody knew beforehand. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def rank_of(seed: str, pair: str) -> bytes:
    """The sort key of a pair: SHA-256 of the seed, a line feed and the pair's id."""
    return hashlib.sha256(f"{seed}\n{pair}".encode()).digest()


def sealed_order(seed: str, pairs: Iterable[str]) -> list[str]:
    """The ids of pairs, in an order that anybody can compute again from the seed."""
    return sorted(pairs, key=lambda pair: rank_of(seed, pair))
