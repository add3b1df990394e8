"""Compares two readings: the cues that they show, and whether they are near-identical."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest.contracts.evidence import Cue
from palimpsest.streams.guard.clues import Clues
from palimpsest.streams.guard.edits.alignment import explain
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.measures import NUMBER_WORDS, ORDINALS
from palimpsest.streams.guard.text.polarity import contraries, has_antonyms
from palimpsest.streams.guard.text.tokeniser import has_inner_capital

_SPELLED = NUMBER_WORDS | ORDINALS.keys()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The guard's findings on a pair."""

    cues: tuple[Cue, ...]
    """Every cue found, in either direction, sorted by name."""
    near_identical: bool
    """Whether every difference is an edit that its context licenses."""


def compare(older: Reading, newer: Reading) -> Comparison:
    """Compare two readings; the cues are the same in either order."""
    near = explain(older, newer) is not None
    cues = [*_of_the_model(older, newer)]
    if not near:
        cues += _of_the_texts(older, newer)
    return Comparison(tuple(sorted(cues)), near)


def passes(older: Reading, newer: Reading) -> bool:
    """Whether two texts are near-identical and show no cue, with as little work as possible."""
    if older.truncated or newer.truncated or older.unknown != newer.unknown:
        return False
    return explain(older, newer) is not None and not any(_of_the_model(older, newer))


def differ_at_sight(text: str, other: Reading) -> bool:
    """Whether an unread text certainly is not near-identical to a text that has been read.

    That is certain if the unread text lacks a word of the other that no edit changes. Most pairs of
    memories differ in such a word, and finding one takes a tenth of the time of reading the text.
    """
    low = text.casefold()
    return text.isascii() and any(word not in low for word in other.sure_words)


def _of_the_model(older: Reading, newer: Reading) -> Iterator[Cue]:
    if older.truncated or newer.truncated:
        yield Cue.TRUNCATED
    blind = any(one.clues.foreign and not one.every_script for one in (older, newer))
    if blind or older.unknown != newer.unknown:
        yield Cue.UNKNOWN_TOKEN


def _of_the_texts(older: Reading, newer: Reading) -> Iterator[Cue]:
    one, other = older.clues, newer.clues
    if (has_inner_capital(older.text) or has_inner_capital(newer.text)) and recased(older, newer):
        yield Cue.CASE
    if one.names != other.names and (
        one.names.difference(other.words) or other.names.difference(one.words)
    ):
        yield Cue.NAME
    if one.facts != other.facts:
        yield from _of_facts(one, other)
    if one.terms == other.terms:
        return
    mine, theirs = one.distinct - other.distinct, other.distinct - one.distinct
    if has_antonyms(mine, theirs):
        yield Cue.ANTONYM
    contrary = contraries(mine, other.distinct) or contraries(theirs, one.distinct)
    if contrary or _negated_otherwise(one, other):
        yield Cue.NEGATION
    if not (mine or theirs) and sorted(one.terms) == sorted(other.terms):
        yield Cue.SWAPPED_ORDER


def recased(one: Reading, other: Reading) -> frozenset[str]:
    """The words inside the sentences of `one` that `other` has only in another case."""
    mine, theirs = one.inside - other.inside, other.inside - one.inside
    lows = set(map(str.casefold, theirs))
    return frozenset(word for word in mine if word.casefold() in lows)


def _of_facts(one: Clues, other: Clues) -> Iterator[Cue]:
    older, newer = one.facts, other.facts
    if older.dates != newer.dates:
        yield Cue.DATE
    if older.versions != newer.versions:
        yield Cue.VERSION
    if older.units != newer.units:
        yield Cue.UNIT
        if older.numbers != newer.numbers:
            yield Cue.NUMBER
    elif (
        older.numbers != newer.numbers
        or (older.units and older.measures != newer.measures)
        or _written_otherwise(one, other)
    ):
        yield Cue.NUMBER


def _written_otherwise(one: Clues, other: Clues) -> bool:
    """Whether the figures differ as written (`Facts.figures`).

    Texts with dates or spelled-out numbers do not count: they may write the same in other ways.
    """
    if one.facts.figures == other.facts.figures or one.facts.dates or other.facts.dates:
        return False
    return _SPELLED.isdisjoint(one.words) and _SPELLED.isdisjoint(other.words)


def _negated_otherwise(older: Clues, newer: Clues) -> bool:
    """Whether one text has more negators, or negates a word of both texts that the other does not.

    It also counts if both negate the word, with different negators.
    """
    if older.negations == newer.negations:
        return False
    if len(older.negations) != len(newer.negations):
        return True
    changed = set(older.negations) ^ set(newer.negations)
    scopes = {pair.partition(" ")[2] for pair in changed}
    return any(scope in older.terms and scope in newer.terms for scope in scopes)
