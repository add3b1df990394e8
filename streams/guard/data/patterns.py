"""Patterns of word lists."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CAPITALS = "".join(c for c in map(chr, [*range(0x530), *range(0x1E00, 0x1F00)]) if c.isupper())
_OTHER_SCRIPTS = (
    r"\u0531-\u1dff\u1f00-\u1fff\u2c00-\u2dff\u3041-\ud7ff\uf900-\ufdff\uff21-\uff3a\uff66-\uffdc"
    r"\U00010000-\U0001efff\U00020000-\U0003ffff"
)
NAME_START = f"[{_CAPITALS}{_OTHER_SCRIPTS}]"
"""What a name may begin with: a Latin, Greek or Cyrillic capital, or a character of another script,
for most of these have no capitals."""


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches any of some words; put it in a group."""
    return "|".join(map(re.escape, sorted(words)))
