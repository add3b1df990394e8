"""What the guard needs of one text, computed once."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from palimpsest.streams.guard.canonical import CUTS, stream_of
from palimpsest.streams.guard.facts import mark
from palimpsest.streams.guard.polarity import negations
from palimpsest.streams.guard.words import expand, split, words_of


@dataclass(frozen=True, slots=True)
class Reading:
    """One text as the guard compares it; equal texts give equal readings."""

    words: tuple[str, ...]
    """Every word and sign in order, casefolded, contractions undone."""
    stream: tuple[str, ...]
    """The canonical terms with the cuts between them."""
    terms: tuple[str, ...]
    """The canonical terms alone."""
    numbers: tuple[str, ...]
    """Numbers that are no date and no version, sorted."""
    measures: tuple[str, ...]
    """The same numbers, each with what is counted, sorted."""
    units: tuple[str, ...]
    """Units and currencies of those numbers, sorted."""
    dates: tuple[str, ...]
    """Dates, weekdays and times of day, sorted."""
    versions: tuple[str, ...]
    """Versions, sorted."""
    negations: tuple[str, ...]
    """Negating words, each with what it negates, sorted."""
    names: frozenset[str]
    """Words with a capital inside a sentence, or inside the word."""
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
    words = words_of(written)
    stream = stream_of(mark(words))
    terms = tuple(term for term in stream if term not in CUTS)
    return Reading(
        words=tuple(words),
        stream=tuple(stream),
        terms=terms,
        **_facts(terms),
        negations=negations(terms),
        names=frozenset() if text.isupper() else _names(written),
        unknown=frozenset(unknown),
        foreign=not text.isascii() and any(map(is_foreign, text)),
        truncated=truncated,
    )


def _facts(terms: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {sign: [] for sign in "#~@^"}
    measures: list[str] = []
    for at, term in enumerate(terms):
        sign = term[0]
        if sign in found and len(term) > 1:
            found[sign].append(term)
            if sign == "#":
                measures.append(f"{term} {terms[at + 1] if at + 1 < len(terms) else ''}")
    return {
        "numbers": tuple(sorted(found["#"])),
        "measures": tuple(sorted(measures)),
        "units": tuple(sorted(found["~"])),
        "dates": tuple(sorted(found["@"])),
        "versions": tuple(sorted(found["^"])),
    }


def _names(written: list[str]) -> frozenset[str]:
    return frozenset(name for name, _ in named(written))


def named(written: list[str]) -> Iterator[tuple[str, int]]:
    """The names among written words, casefolded, each with its number among them."""
    opens = True
    for number, word in enumerate(written):
        if word[0].isupper() and not _is_common(word, opens):
            yield from ((name, number) for name in expand(word)[:1])
        opens = word in ".!?:\"'"


def _is_common(word: str, opens: bool) -> bool:
    if opens and (len(word) == 1 or word[1:].islower()):
        return True
    return word == "I" or word.startswith("I'")


@lru_cache(maxsize=4096)
def is_foreign(character: str) -> bool:
    """Whether it is a letter of a script other than Latin."""
    return character.isalpha() and not unicodedata.name(character, "").startswith(
        ("LATIN", "FULLWIDTH LATIN", "MODIFIER LETTER", "MICRO SIGN", "FEMININE", "MASCULINE")
    )
