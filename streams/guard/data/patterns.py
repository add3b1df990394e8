"""Patterns of word lists."""

from __future__ import annotations

import re
from collections.abc import Iterable

CAPITAL = (
    f"[{''.join(c for c in map(chr, [*range(0x530), *range(0x1E00, 0x1F00)]) if c.isupper())}]"
)
"""A capital letter: Latin, Greek or Cyrillic."""


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches any of some words; put it in a group."""
    return "|".join(map(re.escape, sorted(words)))
