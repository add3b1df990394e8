"""Cuts texts between characters as people see them, which may have several code points."""

from __future__ import annotations

import unicodedata

PREVIEW = 80
"""Maximum number of code points of a preview."""
_JOINER = "\u200d"
_TAGS = ("\U000e0020", "\U000e007f")
"""The first and last tag characters, which spell a region behind a flag (England, Scotland)."""
_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""Two of these are a flag."""
_MOST_STEPS = 64
"""Code points of the longest character that is kept whole; a longer one is a heap of accents."""


def place_to_cut(text: str, at: int) -> int:
    """The last place up to `at` that is not within a character; `at` itself if there is none."""
    place = at
    while 0 < place < len(text) and at - place <= _MOST_STEPS and is_within(text, place):
        place -= 1
    return place if place and at - place <= _MOST_STEPS else at


def preview(text: str) -> str:
    """The beginning of a text, for a column of a table."""
    return text[: place_to_cut(text, PREVIEW)]


def is_within(text: str, at: int) -> bool:
    """Whether a place is within a character, which has several code points."""
    before, after = text[at - 1], text[at]
    if after.isascii():
        return False  # the usual case
    if _JOINER in (before, after) or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True  # a family, or a skin tone
    if _TAGS[0] <= after <= _TAGS[1]:
        return True
    if before in _HALVES and after in _HALVES:
        halves = text[:at]
        return (len(halves) - len(halves.rstrip(_HALVES))) % 2 == 1
    return unicodedata.category(after).startswith("M") or "\u1160" <= after <= "\u11ff"
