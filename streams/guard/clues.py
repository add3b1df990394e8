"""What a text states that another may state differently: the basis for the cues of a pair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import filterfalse
from typing import NamedTuple

from palimpsest.streams.guard.data.cue_words import ARTICLES, NEGATORS, PUNCTUATION, STOPS
from palimpsest.streams.guard.data.language_table import LanguageTable
from palimpsest.streams.guard.text.calendar import MONTHS
from palimpsest.streams.guard.text.facts import mark
from palimpsest.streams.guard.text.language import is_foreign
from palimpsest.streams.guard.text.polarity import negations
from palimpsest.streams.guard.text.tokeniser import has_inner_capital
from palimpsest.streams.guard.text.words import expand, split, uncontracted

SILENT = ARTICLES | STOPS | PUNCTUATION | {"and"}
"""Words that are not part of any cue."""
_FIGURES = re.compile(r"[-–−]?\.?[0-9][0-9.,:]*[⁰¹²³⁴⁵⁶⁷⁸⁹]*(?:[a-zA-Z]\b)?")


class Facts(NamedTuple):
    """What one text states in figures, dates and units, each sorted."""

    numbers: tuple[str, ...] = ()
    """Numbers other than dates and versions."""
    measures: tuple[str, ...] = ()
    """The same numbers, each with what is counted."""
    units: tuple[str, ...] = ()
    """Units and currencies of those numbers."""
    dates: tuple[str, ...] = ()
    """Dates, weekdays and times of day."""
    versions: tuple[str, ...] = ()
    """Versions."""
    figures: tuple[str, ...] = ()
    """Numbers as written, with sign, point and letter."""


_NO_FACTS = Facts()


class Clues(NamedTuple):
    """What one text states, as terms; the term of a fact begins with the fact's sign."""

    words: tuple[str, ...]
    """Every word and sign in order, casefolded, with contractions expanded."""
    terms: tuple[str, ...]
    """The words and facts in order, without articles and the like."""
    distinct: frozenset[str]
    """The distinct terms."""
    facts: Facts
    """The facts among them."""
    negations: tuple[str, ...]
    """Negating words, each with what it negates, sorted."""
    names: frozenset[str]
    """Words with a capital that stands inside a sentence or inside the word."""
    foreign: bool
    """Whether a letter of a script other than Latin occurs."""


def clues_of(
    text: str,
    tokens: Sequence[str],
    lows: Sequence[str],
    has_identifiers: bool,
    table: LanguageTable | None = None,
) -> Clues:
    """What a text of these tokens states; takes linear time, and never fails.

    `table` is that of its language, for its number words, months and negators.
    """
    written = text if table is None else table.in_figures(text)
    if has_identifiers or "'" in text or "-" in text or not text.isascii():
        tokens = split(written)
        lows = tuple(map(str.casefold, tokens))
    words = uncontracted(lows)
    if table is not None and not table.translations.keys().isdisjoint(words):
        words = _in_english(words, table.translations)
    marked = mark(words)
    terms = tuple(filterfalse(SILENT.__contains__, marked))
    figures = written_figures(text) if has_identifiers else []
    return Clues(
        tuple(words),
        terms,
        frozenset(terms),
        _NO_FACTS if marked is words else _facts(terms, figures),
        _negations(text, terms, table),
        _names(text, tokens),
        not text.isascii() and any(map(is_foreign, frozenset(text))),
    )


def _in_english(words: Sequence[str], translations: Mapping[str, str]) -> list[str]:
    """The words, with numbers, months and weekdays translated into English.

    The full stop and *de* inside a date are left out: *3. März 2021*, *3 de marzo de 2021*.
    """
    said = [translations.get(word, word) for word in words]
    return [
        word
        for before, word, after in zip(["", *said], said, [*said[1:], ""], strict=False)
        if word not in (".", "de")
        or not ((before.isdigit() and after in MONTHS) or (before in MONTHS and after.isdigit()))
    ]


def _negations(text: str, terms: Sequence[str], table: LanguageTable | None) -> tuple[str, ...]:
    if table is None:
        return negations(terms)
    if table.script == "latin":
        return negations(terms, NEGATORS | table.negators)  # English may be quoted
    return tuple(f"{word} " for word in sorted(table.negators) for _ in range(text.count(word)))


def _names(text: str, written: Sequence[str]) -> frozenset[str]:
    if text.isupper() or not has_inner_capital(text):
        return frozenset()
    return frozenset(name for name, _ in named(written))


def written_figures(text: str) -> list[str]:
    """The numbers of a text as written, sorted."""
    return sorted(found.rstrip(".,:") for found in _FIGURES.findall(text))


def _facts(terms: Sequence[str], figures: list[str]) -> Facts:
    found: dict[str, list[str]] = {sign: [] for sign in "#~@^"}
    measures: list[str] = []
    for at, term in enumerate(terms):
        sign = term[0]
        if sign in found and len(term) > 1:
            found[sign].append(term)
            if sign == "#":
                measures.append(f"{term} {terms[at + 1] if at + 1 < len(terms) else ''}")
    facts = (found["#"], measures, found["~"], found["@"], found["^"], figures)
    return Facts(*(tuple(sorted(each)) for each in facts))


def named(written: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The names among written words, casefolded, each with its place."""
    for number, word in enumerate(written):
        if word[0].isupper():
            opens = not number or written[number - 1] in ".!?:\"'"
            if not _is_common(word, opens):
                yield expand(word)[0], number


def _is_common(word: str, opens: bool) -> bool:
    if opens and (len(word) == 1 or word[1:].islower()):
        return True
    return word == "I" or word.startswith("I'")
