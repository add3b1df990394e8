"""What a text states that another may state otherwise: what the cues of a pair are seen by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from palimpsest.streams.guard.data.cue_words import ARTICLES, PUNCTUATION, STOPS
from palimpsest.streams.guard.text.facts import mark
from palimpsest.streams.guard.text.polarity import negations
from palimpsest.streams.guard.text.tokeniser import Kind, has_inner_capital
from palimpsest.streams.guard.text.words import expand, split, words_of

SILENT = ARTICLES | STOPS | PUNCTUATION | {"and"}
"""Words that no cue is about."""
_NO_FACTS = dict.fromkeys(("numbers", "measures", "units", "dates", "versions"), ())
_FIGURES = re.compile(r"[-–−]?\.?[0-9][0-9.,:]*[⁰¹²³⁴⁵⁶⁷⁸⁹]*(?:[a-zA-Z]\b)?")


class Clues(NamedTuple):
    """What one text states, in terms; a term begins with the sign of its fact."""

    words: tuple[str, ...]
    """Every word and sign in order, casefolded, contractions undone."""
    terms: tuple[str, ...]
    """The words and facts in order, without articles and the like."""
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
    figures: tuple[str, ...]
    """Numbers as they are written, with sign, point and letter, sorted."""
    negations: tuple[str, ...]
    """Negating words, each with what it negates, sorted."""
    names: frozenset[str]
    """Words with a capital inside a sentence, or inside the word."""
    foreign: bool
    """Whether a letter of a script other than Latin occurs."""


def clues_of(text: str, tokens: Sequence[str], kinds: Sequence[Kind]) -> Clues:
    """What a text of these tokens states; linear in its length, total on every string."""
    written = _written(text, tokens, kinds)
    words = words_of(written)
    marked = mark(words)
    terms = tuple(term for term in marked if term not in SILENT)
    return Clues(
        words=tuple(words),
        terms=terms,
        **(_NO_FACTS if marked is words else _facts(terms)),
        figures=() if marked is words else written_figures(text),
        negations=negations(terms),
        names=_names(text, written),
        foreign=not text.isascii() and any(map(is_foreign, text)),
    )


def _written(text: str, tokens: Sequence[str], kinds: Sequence[Kind]) -> Sequence[str]:
    """What `split` gives: of a text of plain words these are the tokens, at a tenth of the time."""
    words = Kind.CODE not in kinds and Kind.NUMBER not in kinds
    plain = words and text.isascii() and "'" not in text and "-" not in text
    return tokens if plain else split(text)


def _names(text: str, written: Sequence[str]) -> frozenset[str]:
    if text.isupper() or not has_inner_capital(text):
        return frozenset()
    return frozenset(name for name, _ in named(written))


def written_figures(text: str) -> tuple[str, ...]:
    """The numbers of a text as they are written, sorted."""
    return tuple(sorted(found.rstrip(".,:") for found in _FIGURES.findall(text)))


def _facts(terms: Sequence[str]) -> dict[str, tuple[str, ...]]:
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


def named(written: Sequence[str]) -> Iterator[tuple[str, int]]:
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
