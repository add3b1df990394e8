"""Determines the language of a text: nearly every edit applies to one language only."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import dropwhile, pairwise

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data.closed_class import (
    AMBIGUOUS,
    BEHIND_NAMES,
    CONTENT,
    ENGLISH,
    OTHERS,
    PAIRS,
    SHARED,
    WRITTEN_ELSEWHERE,
)
from palimpsest.streams.guard.data.en import ACTIONS, COLOURS, LOANS, PERSONS, SHOWN, STATES, THINGS
from palimpsest.streams.guard.data.language_table import HAN, KANA
from palimpsest.streams.guard.data.tables import BUILT_IN, Tables

Language = str
"""The code of a language: `en`, or that of a table."""

FEWEST = 0.1
"""Minimum share of words that indicate a language."""

_SPEAKING = (ENGLISH | CONTENT | SHOWN | STATES | ACTIONS | PERSONS | THINGS | COLOURS) - AMBIGUOUS
_PROOF = (ENGLISH | CONTENT | STATES | ACTIONS) - AMBIGUOUS - WRITTEN_ELSEWHERE
_PROOF -= SHARED - {"the", "and", "from"}
"""Words that no other language has: they prove English after a word that may be a name."""
_FOLLOW_NAMES = BEHIND_NAMES | (_PROOF - ENGLISH)


_KANA, _HAN_OR_KANA = compile_later(f"[{KANA}]"), compile_later(f"[{HAN}{KANA}]")
_HANGUL = compile_later("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")


def language_of(words: Sequence[str], text: str, tables: Tables = BUILT_IN) -> Language | None:
    """The language of a text of these words: English or one with a table; None if in doubt."""
    if not text.isascii() and any(map(is_foreign, frozenset(text))):
        if _HAN_OR_KANA.search(text) and not _HANGUL.search(text):
            return "ja" if _KANA.search(text) else "zh"
        if not tables.added:
            return None
    lows = [word.casefold() for word in words]
    own = sum(map(tables.own.__contains__, lows)) if tables.added else 0
    if is_english(words) and own <= sum(map(_SPEAKING.__contains__, lows)):
        return "en"
    if not own and OTHERS.isdisjoint(lows):
        return None
    functions = {word.casefold() for word in words if word.islower()} | {*lows[:1]}
    functions &= OTHERS | ENGLISH
    spoken = {
        table.code: sum(map(table.words.__contains__, lows))
        for table in tables.by_code.values()
        if table.script == "latin" and functions <= table.words
    }
    most = max(spoken.values(), default=0)
    known = [code for code, count in spoken.items() if count == most]
    return known[0] if len(known) == 1 and most >= max(2, FEWEST * len(lows)) else None


def is_english(words: Sequence[str]) -> bool:
    """Whether words, as written, are certainly English only; False if in doubt.

    A function word of another language makes a text mixed, and so does a word in lower case with a
    letter that English does not use. Capitalised words inside a text may be names from anywhere.
    """
    if any(map(_is_of_another, words)):
        return False
    lows = [word.casefold() for word in words]
    if not words or (lows[0] in OTHERS and not _is_name(words)):
        return False
    spoken = sum(map(_SPEAKING.__contains__, lows))
    if not 0 < spoken >= FEWEST * len(words):
        spoken += sum(f"{one} {other}" in PAIRS for one, other in pairwise(lows))
    return 0 < spoken >= FEWEST * len(words)


def _is_name(words: Sequence[str]) -> bool:
    """Whether the first word, which another language has, is a name: *Ben lives in Rome*.

    The capital of a first word proves nothing. So the next word has to be one that only English
    has; after a name of several words, which may be a title (*Das Buch Pride and Prejudice*), it
    has to be a verb.
    """
    rest = list(dropwhile(lambda word: not word.islower(), words))
    follow = _FOLLOW_NAMES if len(rest) < len(words) - 1 else _FOLLOW_NAMES | _PROOF
    if words[0].islower() or not rest or rest[0] not in follow:
        return False
    described = (noun for article, noun in pairwise(rest) if article in ("a", "an"))
    return not (_PROOF.isdisjoint(rest) and _SPEAKING.isdisjoint(described))


@lru_cache(maxsize=8_192)
def _is_of_another(word: str) -> bool:
    if not word.islower():
        return False
    return word in OTHERS or not (word.isascii() or word.removesuffix("'s") in LOANS)


@lru_cache(maxsize=4096)
def is_foreign(character: str) -> bool:
    """Whether a character is a letter of a script other than Latin."""
    return character.isalpha() and not unicodedata.name(character, "").startswith(
        ("LATIN", "FULLWIDTH LATIN", "MODIFIER LETTER", "MICRO SIGN", "FEMININE", "MASCULINE")
    )
