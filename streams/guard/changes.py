"""Texts that report a change (docs/guard.md, Frames).

*Ada moved to Rome*, *Ada has a new number*, *I no longer drink coffee*. Such a text often does not
say what held before; usually the nearest text about the same owner does.
"""

from __future__ import annotations

from itertools import pairwise

from palimpsest.streams.guard.data.change_words import (
    CHANGED,
    CONTRACTED,
    IRREGULAR,
    NOW_OTHERWISE,
    PERFECT,
    PHRASES,
    UP_TO,
)
from palimpsest.streams.guard.data.en import (
    BE,
    DETERMINERS,
    NEGATORS,
    PASTS,
    POSSESSIVES,
    PREPOSITIONS,
)
from palimpsest.streams.guard.data.frame_words import LIGHT, VERBS
from palimpsest.streams.guard.data.name_words import RELATED
from palimpsest.streams.guard.reading import Reading
from palimpsest.streams.guard.text.calendar import RELATIVE_DAYS
from palimpsest.streams.guard.text.plurals import singular
from palimpsest.streams.guard.values import is_in_a_table, tells_by_a_word

LONGEST = 30
"""Maximum number of tokens; a longer text tells a story or reports several things."""
FEWEST_WORDS = 2
"""Minimum number of content words by which two texts without numbers may state one fact."""
_OPENING = 6
"""Number of tokens at the beginning of a text among which its verb is looked for."""
_ONCE = frozenset({"was", "were"})
_LAST_WORDS = frozenset(last for _, last in PHRASES)
_THING = [(word,) for word in DETERMINERS]
"""Words after which a word of `CHANGED` is not a verb: *her left hand*."""


def tells_change(text: Reading) -> bool:
    """Whether a text says, by words of its language, that something has changed."""
    lows = text.lows
    if "?" in lows or len(lows) > LONGEST:
        return False
    if is_in_a_table(text.text, lows) and tells_by_a_word(text.text, lows):
        return True
    if not NOW_OTHERWISE.isdisjoint(lows) or ("but" in lows and _negates(lows)):
        return True  # now …, and: not … but …
    if any(low in CHANGED and lows[at - 1 : at] not in _THING for at, low in enumerate(lows)):
        return True
    return any(
        (second in _LAST_WORDS and not PHRASES.isdisjoint(_written_out(first, second)))
        or (first in PERFECT and _is_past(second))
        or ((first, second) == UP_TO and _is_be(lows[at - 1 : at]))
        or (first == "new" and text.texts[at + 1].islower())  # not *New York*
        for at, (first, second) in enumerate(pairwise(lows))
    )


def tells_deed(text: Reading) -> bool:
    """Whether a text begins with what somebody did: *Ada planted pears*.

    The deed may have changed something although the text does not say so.
    """
    lows = text.lows
    if "?" in lows or len(lows) > LONGEST:
        return False
    for at, low in enumerate(lows[:_OPENING]):
        if at and (low in PASTS or (text.texts[at].islower() and _is_past(low))):
            return lows[at - 1 : at] not in _THING
        if low in VERBS:
            return False
    return False


def tells_past(text: Reading) -> bool:
    """Whether a text says what used to be so, which cannot change now: *used to be a baker*."""
    begins = text.lows[:_OPENING]
    return any(
        (pair == ("used", "to") and not _is_be(begins[at - 1 : at]))
        or (pair[0] in _ONCE and pair[1] in DETERMINERS | PREPOSITIONS)  # not *was promoted*
        for at, pair in enumerate(pairwise(begins))
    )


def _is_past(word: str) -> bool:
    return len(word) > 4 and word.endswith("ed")


def _written_out(first: str, second: str) -> list[tuple[str, str]]:
    """Two words as a pair, and one pair for each word that the first may contract: *Ada's gone*."""
    _, mark, ending = first.rpartition("'")
    return [(word, second) for word in (first, *CONTRACTED.get(mark + ending, ()))]


def _negates(lows: tuple[str, ...]) -> bool:
    return not NEGATORS.isdisjoint(lows) or any(low.endswith("n't") for low in lows)


def _is_be(words: tuple[str, ...]) -> bool:
    """Whether a word is a form of *be*: *is*, *I'm*."""
    return any(word in BE or word.endswith(("'m", "'re", "'s")) for word in words)


def shares_a_word(one: Reading, other: Reading, names: tuple[str, ...]) -> bool:
    """Whether two texts share a content word of more than three letters, other than `names`."""
    shared = content_words(one, names) & content_words(other, names)
    return any(len(word) > 3 for word in shared)


def content_words(text: Reading, names: tuple[str, ...]) -> set[str]:
    """The content words of a text in the singular, without `names`."""
    return {*map(_singular, {*text.lows} - (LIGHT | VERBS | _own(names)))}


def _own(names: tuple[str, ...]) -> set[str]:
    return {part for name in names for part in name.casefold().split()}


def gist(text: Reading, names: tuple[str, ...]) -> tuple[str, ...]:
    """The numbers and dates of a text, or else its content words; empty if it has too few.

    Two texts about the owner that have the same gist, and share a word, mostly state the same fact
    in other words: *saves 10,000 a month with her Sacco / puts 10,000 into her Sacco*. The word
    *today* is in texts about all sorts of things, as is *one*; a text that tells a story has no
    gist.
    """
    if len(text.lows) > LONGEST:
        return ()
    facts = text.clues.facts
    if stated := {*facts.numbers, *facts.dates} - RELATIVE_DAYS - {"#1"}:
        of_whom = {low.removesuffix("'s") for low in text.lows} & RELATED
        return ("#", *sorted(of_whom), *sorted(stated))
    lows = {low.removesuffix("'s") for low in text.lows if low[0].isalpha()}
    said = {*map(_singular, lows - (LIGHT | VERBS | POSSESSIVES | _own(names)))}
    return ("=", *sorted(said)) if len(said) >= FEWEST_WORDS else ()


def _singular(word: str) -> str:
    return IRREGULAR.get(word) or singular(word)
