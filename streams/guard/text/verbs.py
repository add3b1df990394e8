"""Tokens that may be verbs, as far as lists and endings tell."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.frame_words import BINDING, VERBS
from palimpsest.streams.guard.text.tokeniser import WORD, Kind


def may_be_verb(lows: Sequence[str], kinds: Sequence[Kind], at: int) -> bool:
    """Whether a token may be a verb, whatever its case: a name may end like one."""
    low = lows[at]
    if is_listed(low):
        return True
    if not at or kinds[at] is not WORD or low in BINDING:
        return False
    if lows[at - 1] in en.SUBJECTS:
        return True
    return len(low) > 3 and low.endswith(("s", "ed")) and not low.endswith(("ss", "'s"))


def is_listed(low: str) -> bool:
    """Whether a word is a listed verb, or a pronoun with one (*she's*)."""
    return low in VERBS or ("'" in low and low.partition("'")[0] in en.SUBJECTS)


def may_be_participle(low: str) -> bool:
    """Whether a word may be a participle that describes the noun before it: *cars built there*."""
    return low in en.PARTICIPLES or (len(low) > 4 and low.endswith("ed") and low[-3] != "e")
