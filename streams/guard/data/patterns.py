"""Patterns of word lists."""

from __future__ import annotations

import re
from collections.abc import Iterable


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches any of some words; put it in a group."""
    return "|".join(map(re.escape, sorted(words)))
