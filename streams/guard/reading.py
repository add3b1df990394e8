"""What the guard needs of one text, computed once, when the text arrives."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from streams.guard.facts import mark
from streams.guard.lexicon import NEGATORS, PUNCTUATION, SILENT
from streams.guard.words import expand, split


@dataclass(frozen=True, slots=True)
class Reading:
    """One text as the guard compares it; equal texts give equal readings."""

    words: tuple[str, ...]
    """Every word and sign in order, casefolded, contractions undone."""
    terms: tuple[str, ...]
    """The words that carry meaning, in order, facts brought to one spelling."""
    names: frozenset[str]
    """Words written with a capital inside a sentence."""
    unknown: frozenset[str]
    """Words that the model's tokenizer does not know."""
    foreign: bool
    """Whether a letter of a script other than Latin occurs."""
    truncated: bool
    """Whether the model saw only the beginning."""


def read(text: str, *, truncated: bool = False, unknown: tuple[str, ...] = ()) -> Reading:
    """Read ``text`` for comparison; linear in its length, total on every string.

    ``unknown`` are the words that the model's tokenizer maps to its unknown token; ``truncated``
    says that the model saw only the beginning of the text.
    """
    written = split(text)
    words = [word for each in written for word in expand(each)]
    terms = [term for term in mark(words) if term not in SILENT and term not in PUNCTUATION]
    return Reading(
        words=tuple(words),
        terms=tuple(terms),
        names=_names(written),
        unknown=frozenset(unknown),
        foreign=not text.isascii() and any(map(_is_foreign, text)),
        truncated=truncated,
    )


def negators(terms: Iterable[str]) -> list[str]:
    """The negating words among ``terms``, in order."""
    return [term for term in terms if term in NEGATORS]


def _names(written: list[str]) -> frozenset[str]:
    names: set[str] = set()
    begins = True
    for word in written:
        if word[0].isupper() and word != "I" and (not begins or word[1:] != word[1:].lower()):
            names.update(expand(word)[:1])
        begins = word in ".!?:\"'"
    return frozenset(names)


@lru_cache(maxsize=4096)
def _is_foreign(character: str) -> bool:
    return character.isalpha() and not unicodedata.name(character, "LATIN").startswith(
        ("LATIN", "FULLWIDTH LATIN", "MODIFIER LETTER", "MICRO SIGN", "FEMININE", "MASCULINE")
    )
