"""Tests of what stands around a place of a text, for the contexts of edits."""

from __future__ import annotations

from itertools import takewhile

from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.plurals import singular
from palimpsest.streams.guard.text.tokeniser import SIGN, WORD, Kind, TextToken


def token(text: Reading, at: int) -> TextToken | None:
    """The token at a place; None outside the text."""
    if not 0 <= at < len(text.keys):
        return None
    return TextToken(text.texts[at], text.kinds[at], at in text.openers)


def low(text: Reading, at: int) -> str:
    """The word at a place in lower case; empty outside the text."""
    return text.lows[at] if 0 <= at < len(text.lows) else ""


def kind(text: Reading, at: int) -> Kind | None:
    """The kind of the token at a place; None outside the text."""
    return text.kinds[at] if 0 <= at < len(text.kinds) else None


def capital(text: Reading, at: int) -> bool:
    """Whether the word at a place begins with a capital."""
    return kind(text, at) is WORD and text.texts[at][0].isupper()


def is_lower(text: Reading, at: int) -> bool:
    """Whether a word in lower case stands at a place."""
    return kind(text, at) is WORD and text.texts[at].islower()


def is_plain(text: Reading, at: int) -> bool:
    """Whether a word of more than one letter, other than an acronym, stands at a place."""
    return kind(text, at) is WORD and text.texts[at][1:].islower()


def is_doing(text: Reading, at: int) -> bool:
    """Whether a verb in *-ing*, not a noun, stands at a place in lower case."""
    word = low(text, at)
    return is_lower(text, at) and word.endswith("ing") and word not in en.THINGS_IN_ING


def ends(text: Reading, at: int) -> bool:
    """Whether the sentence ends at a place."""
    return at >= len(text.keys) or low(text, at) in (".", "!")


def stands_alone(text: Reading, at: int) -> bool:
    """Whether what stands at a place can follow a noun without belonging to it."""
    if at >= len(text.keys) or kind(text, at) is SIGN:
        return True
    return low(text, at) in en.AFTER_A_NOUN


def noun_after(text: Reading, at: int, nouns: frozenset[str]) -> int:
    """The place of a noun of a list, at most two adjectives after a place; 0 if there is none."""
    for place in range(at, at + 3):
        word = low(text, place)
        if not is_lower(text, place):
            return 0
        if word in nouns:
            return place if stands_alone(text, place + 1) else 0
        if word not in en.PLAIN_ADJECTIVES:
            return 0
    return 0


def describes(text: Reading, at: int, nouns: frozenset[str]) -> bool:
    """Whether an adjective before a place describes a noun of a list, in singular or plural."""
    for place in range(at, at + 4):
        word = low(text, place).removesuffix("'s")
        if not is_lower(text, place):
            return False
        if word in nouns or singular(word) in nouns:
            return True
        if word not in en.PLAIN_ADJECTIVES:
            return False
    return False


def follows_is(text: Reading, at: int) -> bool:
    """Whether the words at a place can follow *is* but not *has*."""
    if low(text, at) in ("not", "really"):
        return low(text, at + 1) != low(text, at) and follows_is(text, at + 1)
    return low(text, at) in en.AFTER_IS or capital(text, at)


def phrase(text: Reading, at: int, group: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The phrase of a group that stands at a place in lower case; empty if none does."""
    for words in group:
        if text.lows[at : at + len(words)] == words and is_lower(text, at):
            return words
    return ()


def stands_before(text: Reading, at: int, words: frozenset[str], ends: frozenset[str]) -> bool:
    """Whether one of some words stands before a place, and none that ends a clause between them."""
    clause = takewhile(lambda low: low not in ends, reversed(text.lows[:at]))
    return not words.isdisjoint(clause)


def asks(text: Reading) -> bool:
    """Whether the text has a question mark."""
    return "?" in text.lows


def negations(text: Reading) -> int:
    """The number of negators and quantifiers whose scope a contrary could change.

    A *because* that begins the text has nothing before it in its scope; *no* before a comma is an
    answer.
    """
    answers = text.lows[:2] == ("no", ",")
    lows = text.lows[1:] if answers or low(text, 0) == "because" else text.lows
    return sum(
        word in en.NEGATORS or word in en.QUANTIFIERS or word.endswith("n't") for word in lows
    )
