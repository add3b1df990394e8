"""Negations in a text, and words that are contraries of words in another text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from palimpsest.streams.guard.data.cue_words import (
    FALSE_CONTRARIES,
    NEGATING_PREFIXES,
    NEGATING_SUFFIX,
    NEGATORS,
    OPPOSITES,
    PREPOSITIONS,
)

_PREFIXES = tuple(NEGATING_PREFIXES)


def negations(terms: Sequence[str], negators: frozenset[str] = NEGATORS) -> tuple[str, ...]:
    """The negators of a text, each with the content that follows it, sorted."""
    if negators.isdisjoint(terms):
        return ()
    found = [
        f"{term} {'' if after in PREPOSITIONS else after}"
        for term, after in pairwise((*terms, ""))
        if term in negators
    ]
    return tuple(sorted(found))


def contraries(of: Iterable[str], among: frozenset[str]) -> frozenset[str]:
    """The words in ``of`` that negate a word in ``among`` by their form."""
    negated = (word for word in of if word.startswith(_PREFIXES) or word.endswith(NEGATING_SUFFIX))
    return frozenset(word for word in negated if not among.isdisjoint(_bases(word)))


def _bases(word: str) -> list[str]:
    """The words that a word would negate, by its form."""
    if word in FALSE_CONTRARIES:
        return []
    found = [
        word[len(prefix) :]
        for prefix in NEGATING_PREFIXES
        if word.startswith(prefix) and len(word) - len(prefix) >= 3
    ]
    if word.endswith(NEGATING_SUFFIX) and len(word) > 6:
        stem = word[: -len(NEGATING_SUFFIX)]
        found += [stem, stem + "ful"]
    return found


def has_antonyms(one: Iterable[str], other: frozenset[str]) -> bool:
    """Whether a word of one text is the opposite of a word of the other."""
    return any(not other.isdisjoint(OPPOSITES[word]) for word in OPPOSITES.keys() & one)
