"""The part of a text that no edit changes: a pair that differs in it needs no alignment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import dropwhile, pairwise

from palimpsest.streams.guard.data.closed_class import PHRASES_ELSEWHERE, VERBATIM_ELSEWHERE
from palimpsest.streams.guard.data.en import (
    CHANGED,
    NUMBERS,
    SIGNS,
    SPACED,
    SUBJECTS,
    VERBATIM,
    VERBATIM_PHRASES,
)
from palimpsest.streams.guard.data.language_table import HAN, KANA, NUMERALS
from palimpsest.streams.guard.data.tables import BUILT_IN, Tables
from palimpsest.streams.guard.text.tokeniser import CODE, NUMBER, PLAIN, Kind

_ZEROS = re.compile(r"([0-9]+)(?:\.([0-9]{1,2}))?")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
_UNSPACED = re.compile(f"[{HAN}{KANA}]")
_NUMERALS = re.compile(rf"[{NUMERALS}\d]+")
_WITH_UNIT = re.compile(rf"`([0-9]+(?:[.,][0-9]+)*)(?:{'|'.join(sorted(SPACED))})")

_PHRASES = VERBATIM_PHRASES + PHRASES_ELSEWHERE
_SAYS = frozenset({"read", "reads", "say", "says", "said"})
_SPEAKERS = (SUBJECTS - {"it"}) | {"user"}
"""Words after which no sign says something: *has a board game and she says it is fun*."""


@lru_cache(maxsize=64)
def _changed_by(tables: Tables) -> tuple[dict[str, str], frozenset[str]]:
    """The number words of all languages with their figures, and all words that an edit changes."""
    values = {word: value for word, value in tables.numbers.items() if word not in CHANGED}
    return values | NUMBERS, CHANGED | tables.numbers.keys() | tables.months


def fixed_of(
    lows: Sequence[str], kinds: Sequence[Kind], tables: Tables = BUILT_IN
) -> frozenset[str]:
    """The words and signs of a text that no edit changes, and its numbers by their value.

    Texts that differ in these are not near-identical: `number-word`, `decimals` and `unit-apart`
    keep the value, and the other edits only change the words of a closed list.
    """
    number_words, changed = _changed_by(tables)
    words = frozenset(lows)
    values = {number_words[word] for word in number_words.keys() & words}
    if not PLAIN.issuperset(kinds):
        pairs = zip(lows, kinds, strict=True)
        written = {low for low, kind in pairs if kind is NUMBER or kind is CODE}
        words -= written
        values.update(map(_value, written))
    fixed = words - changed | values
    if all(map(str.isascii, fixed)):
        return fixed
    return frozenset(_without_numerals(word) for word in fixed)


def _without_numerals(word: str) -> str:
    """A run of a script without spaces with its numbers masked; any other word unchanged."""
    if word.isascii() or not _UNSPACED.search(word):
        return word
    return _NUMERALS.sub("#", word.removeprefix("`"))


def _value(written: str) -> str:
    quantity = _WITH_UNIT.fullmatch(written)
    number = quantity[1] if quantity else written
    return without_zeros(without_thousands(number) or number)


def without_zeros(number: str) -> str:
    """A number without zeros at the end of its decimals, unless its point may mark thousands."""
    parts = _ZEROS.fullmatch(number)
    if parts is None:
        return number
    decimals = (parts[2] or "").rstrip("0")
    return f"{parts[1]}.{decimals}" if decimals else parts[1]


def without_thousands(number: str) -> str | None:
    """A number without the commas between its thousands; None if it has none."""
    return number.replace(",", "") if _THOUSANDS.fullmatch(number) else None


def is_told_verbatim(lows: Sequence[str], text: str) -> bool:
    """Whether a text, with its words in small letters, may tell how something is written."""
    if not (VERBATIM.isdisjoint(lows) and VERBATIM_ELSEWHERE.isdisjoint(lows)):
        return True
    after = dropwhile(lambda pair: pair[0] not in SIGNS, pairwise(lows))
    if any(word in _SAYS and before not in _SPEAKERS for before, word in after):
        return True
    low = f" {text.casefold()}"
    return any(phrase in low for phrase in _PHRASES)
