"""Splits a text into its words in one pass, losing only spaces, and expands contractions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from palimpsest.streams.guard.data.cue_words import (
    ARTICLES,
    CLITICS,
    CONTRACTIONS,
    PUNCTUATION,
    STOPS,
)
from palimpsest.streams.guard.text.tokeniser import LONGEST_KEPT

_WORD = re.compile(
    r"""
      https?://\S+
    | (?i:version|release|ver\.?)\s+v?\d(?:[\w.+-]*\w)?      # a version by its name
    | [vV]?\d+(?:\.\d+){2,}(?:[-+._]?\w+)*                   # a version by its shape
    | [vV]\d+(?:\.\d+)*\b
    | \d{4}-\d{2}-\d{2}\b                                    # dates
    | \d{1,2}/\d{1,2}/\d{2,4}\b
    | \d{1,2}:\d{2}(?::\d{2})?\b                             # times
    | (?:(?<=\s)|^)-\d+(?:\.\d+)?                            # numbers
    | \d{1,3}(?:,\d{3})+(?:\.\d+)?
    | \d+(?:\.\d+)?
    | [aApP]\.[mM]\.?
    | [cC]\+\+ | [cCfF]\#
    | '(?:s|re|ve|ll|d|m)\b
    | [^\W\d]+(?:'[^\W\d]+)*
    | \S
    """,
    re.VERBOSE,
)
_VERSION_NAMES = frozenset({"version", "release", "ver"})
"""Words that make the figures after them a version; the only ones that are read across a space."""
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'"})
_STOPWORDS = ARTICLES | STOPS | PUNCTUATION | {"and", "of", "in", "to"}
_PLAIN_SIGNS = ",;:!"
"""Signs that are not tokens and are not part of a word of letters."""
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Runs of scripts that put no space between words (Thai, Lao, Burmese, Khmer, kana, Han)."""


def split(text: str) -> list[str]:
    """The words, numbers and signs of ``text`` in order, in compatibility form, without spaces."""
    written: list[str] = []
    folded = _folded(text)
    for chunk in folded.split():
        if chunk.isalpha():
            written.append(chunk)
        elif not _VERSION_NAMES.isdisjoint(map(str.lower, written[-2:])):
            return _WORD.findall(folded)
        else:
            written += (_kept_words if len(chunk) <= LONGEST_KEPT else _WORD.findall)(chunk)
    return written


_kept_words = lru_cache(maxsize=8_192)(_WORD.findall)


def _folded(text: str) -> str:
    if text.isascii():
        return text.replace("`", "'")
    return unicodedata.normalize("NFKC", text).translate(_QUOTES)


def places(text: str) -> list[tuple[int, int]] | None:
    """The start and end of each word of `split` in ``text``.

    None if that cannot be determined, because normalisation has combined parts of the text.
    """
    folded = _folded(text)
    found = [word.span() for word in _WORD.finditer(folded)]
    if len(folded) == len(text) and unicodedata.is_normalized("NFKC", text):
        return found
    stretches: list[tuple[int, int]] = []
    for stretch in pairwise([*_starts(text), len(text)]):
        stretches += [stretch] * len(_folded(text[slice(*stretch)]))
    if len(stretches) != len(folded):
        return None
    return [(stretches[start][0], stretches[end - 1][1]) for start, end in found]


def _starts(text: str) -> list[int]:
    """The places where a character begins, other than combining marks."""
    return [at for at, char in enumerate(text) if not at or not unicodedata.combining(char)]


def expand(word: str) -> tuple[str, ...]:
    """The casefolded words that a written word stands for (``don't``: ``do``, ``not``)."""
    low = word.casefold()
    if low in CONTRACTIONS:
        return CONTRACTIONS[low]
    if "'" not in low or len(low) == 1:
        return (low,)
    if low.endswith("n't"):
        return (low[:-3], "not") if len(low) > 3 else ("not",)
    stem, _, ending = low.rpartition("'")
    if ending in CLITICS:
        return (*((stem,) if stem else ()), *CLITICS[ending])
    return (low.replace("'", ""),)


def words_of(written: Sequence[str]) -> list[str]:
    """All words that the written words stand for, in order."""
    return uncontracted(list(map(str.casefold, written)))


def uncontracted(lows: Sequence[str]) -> list[str]:
    """All words that these casefolded words stand for, in order."""
    if CONTRACTIONS.keys().isdisjoint(lows) and "'" not in "".join(lows):
        return list(lows)
    words: list[str] = []
    for low in lows:
        if "'" in low or low in CONTRACTIONS:
            words += expand(low)
        else:
            words.append(low)
    return words


def tokens(text: str) -> frozenset[str]:
    """The tokens that token Jaccard counts: casefolded words without stopwords and punctuation.

    Numbers, versions and dates stay whole; runs of scripts without spaces are split into pairs of
    neighbouring characters (a single character stands for itself).
    """
    plain = _plain_words(text)
    if plain is not None:
        return plain - _STOPWORDS
    found: set[str] = set()
    for word in words_of(split(text)):
        if not word.isascii() and _UNSPACED.search(word):
            found.update(_bigrams(word))
        else:
            found.add(word)
    return frozenset(found - _STOPWORDS)


def _plain_words(text: str) -> frozenset[str] | None:
    """The words of a text of ASCII words and a few signs, without the signs; None for other texts.

    Most memories are such texts, and a newcomer is split before it is stored: this takes 3 us, the
    regular expression 29.
    """
    plain = text.casefold().replace(". ", " ").rstrip(".")
    for sign in _PLAIN_SIGNS:  # a tenth of the time of `translate`
        plain = plain.replace(sign, " ")
    words = plain.split()
    letters = "".join(words)
    if letters.isascii() and letters.isalpha() and CONTRACTIONS.keys().isdisjoint(words):
        return frozenset(words)
    return None


def _bigrams(word: str) -> list[str]:
    pieces: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        pieces.append(word[end : run.start()])
        letters = run.group()
        pieces += [letters] if len(letters) == 1 else map("".join, pairwise(letters))
        end = run.end()
    return [piece for piece in (*pieces, word[end:]) if piece]
