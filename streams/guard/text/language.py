"""Whether a text is English, decided first: most of the table's edits are those of English."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from palimpsest.streams.guard.data.closed_class import AMBIGUOUS, CONTENT, ENGLISH, OTHERS, PAIRS
from palimpsest.streams.guard.data.en import ACTIONS, COLOURS, LOANS, PERSONS, SHOWN, STATES, THINGS

FEWEST = 0.1
"""The share of words that have to speak for English."""

_SPEAKING = (ENGLISH | CONTENT | SHOWN | STATES | ACTIONS | PERSONS | THINGS | COLOURS) - AMBIGUOUS


def is_english(words: Sequence[str]) -> bool:
    """Whether words, as written, are English and nothing else; in doubt they are not.

    A function word of another language makes a text mixed, as does a letter that English does not
    write in a word in lower case. Capitalised words inside a text may be names from anywhere.
    """
    if any(map(_is_of_another, words)):
        return False
    lows = [word.casefold() for word in words]
    if not words or lows[0] in OTHERS:
        return False
    spoken = sum(map(_SPEAKING.__contains__, lows))
    if not 0 < spoken >= FEWEST * len(words):
        spoken += sum(f"{one} {other}" in PAIRS for one, other in pairwise(lows))
    return 0 < spoken >= FEWEST * len(words)


@lru_cache(maxsize=8_192)
def _is_of_another(word: str) -> bool:
    if not word.islower():
        return False
    return word in OTHERS or not (word.isascii() or word.removesuffix("'s") in LOANS)
