"""Frames: two texts about the same thing that differ in one value (docs/guard.md).

*Ada lives in Paris* and *Ada lives in Rome*. The newer text may replace the older, add to it, or be
about something else, and neither text says which. So a frame joins nothing: it only determines what
to show together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, takewhile

from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.closed_class import OTHERS
from palimpsest.streams.guard.data.frame_words import (
    BINDING,
    DEVICES,
    HEADINGS,
    LAPTOPS,
    LIGHT,
    NO_VALUE,
    NOW,
    PHONES,
    VERBS,
)
from palimpsest.streams.guard.data.name_words import THIRD, TRADES
from palimpsest.streams.guard.edits.alignment import explain
from palimpsest.streams.guard.reading import Reading, StatedTokens
from palimpsest.streams.guard.text.plurals import singular
from palimpsest.streams.guard.text.tokeniser import SIGN, WORD
from palimpsest.streams.guard.text.verbs import is_listed, may_be_verb

LONGEST = 3
"""Maximum number of words of a value; a longer difference is more than a value."""
MOST_IN_A_ROW = 16
"""Maximum number of tokens of a value; more figures in a row are a series, not a phone number."""
FEWEST = 2
"""Minimum number of content words around the value; with fewer, most texts about a person match."""
_DOES = frozenset(THIRD.values()) | en.STATES
"""The first words of notes that leave out their subject."""
THEIRS = "their"
"""The possessive of the owner, as `said_of_owner` writes it."""
_IS = frozenset({"is", "are"})
_BE, _AN = frozenset({"is", "am"}), frozenset({"a", "an"})
_NO_TRADE = NO_VALUE | en.ARTICLES | {"of", "like"}
_PREFERS = frozenset({"prefers", "prefer"})
_OVER = frozenset("over rather than to".split())
"""Words between what somebody prefers and what it is compared with."""
_SAVES = frozenset({"saves", "save", "saving"})
_HAS = frozenset("has have owns own uses use".split())
_MAKES = LAPTOPS | PHONES
_LITTLE = NO_VALUE | LIGHT
_WHEN = [("on",), ("at",), ("from",), ("in",)]
LONGEST_AIM = 10
"""Maximum number of tokens from *saves for* on, and of a text about a telephone or laptop."""
MOST_OF_A_THING = 7
"""Maximum number of tokens that say something of one thing, and of a note without a verb."""
_ENDS = frozenset(".!?;")
_MAY_BE_LEFT_OUT = NOW | {"no", "do", "does", "used"}
"""Words that say *now*, or begin a clause that `present` drops: *I no longer work at …, I …*."""
_NO_VALUE_ALONE = LIGHT | en.POSSESSIVES
_BEFORE_VERBS = en.SUBJECTS | (en.AUXILIARIES - en.BE - {"be", "been", "has", "have", "had"})
"""Words that stand right before a verb: a difference after them is not a value."""


def frame(one: Reading, other: Reading) -> bool:
    """Whether two texts differ in one value only, in either order.

    The value stands between the words that both begin with and those that both end with: 1 to
    `LONGEST` words in either text, after the verb of its sentence, none of them a verb, a
    preposition or a pronoun. Some values have wider rules: those after a label, those said of a
    thing of the owner's, aims of saving, devices, preferences and trades. Texts that are not
    English have the rules of `values`. Texts that ask or negate share no frame, and neither do
    near-identical ones.
    """
    return (
        _differ_in_a_value(one, other)
        or _of_one_thing(one, other)
        or _share(_label, one, other)
        or _share(_aim, one, other)
        or _share(_device, one, other)
        or _of_one_preference(one, other)
        or _share(_trade, one, other)
        or not (one.values.isdisjoint(other.values) or one.statement.lows == other.statement.lows)
    ) and explain(one, other) is None


def _differ_in_a_value(one: Reading, other: Reading) -> bool:
    mine, theirs = one.statement.lows, other.statement.lows
    shorter = min(len(mine), len(theirs))
    start = end = 0
    while start < shorter and mine[start] == theirs[start]:
        start += 1
    if not 0 < start < shorter or mine[start - 1] in _BEFORE_VERBS:
        return False
    if mine[start] in NO_VALUE or theirs[start] in NO_VALUE:
        return False  # the usual case: the ends need not be compared
    while end < shorter - start and _same_word(mine[-1 - end], theirs[-1 - end]):
        end += 1
    return (
        _is_value(one.statement, start, end)
        and _is_value(other.statement, start, end)
        and _says_it_of_one_thing(one, start, end)
        and _says_it_of_one_thing(other, start, end)
    )


def _of_one_thing(one: Reading, other: Reading) -> bool:
    """Whether both texts begin alike up to one thing of the owner's: *takes their coffee black*."""
    longest = max(len(one.statement.lows), len(other.statement.lows))
    return (
        _share(_thing, one, other) and longest - len(_thing(one.statement) or ()) <= MOST_OF_A_THING
    )


def _share(
    find: Callable[[StatedTokens], tuple[str, ...] | None], one: Reading, other: Reading
) -> bool:
    """Whether `find` finds the same words in both texts, and neither is unclear."""
    found = find(one.statement)
    return (
        found is not None
        and found == find(other.statement)
        and not (_is_unclear(one) or _is_unclear(other))
    )


def _thing(said: StatedTokens) -> tuple[str, ...] | None:
    """The words up to the owner's first thing, if a verb stands right before it.

    If the subject itself belongs to somebody, the words up to *is* and the preposition of its time
    or place: *Ada's lesson is on*.
    """
    if any(low.endswith("'s") for low in said.lows[:2]):
        at = next((at for at, low in enumerate(said.lows) if low in _IS), 0)
        return said.lows[: at + 2] if at and said.lows[at + 1 : at + 2] in _WHEN else None
    if THEIRS not in said.lows:
        return None
    at = said.lows.index(THEIRS)
    fits = at > 1 and _is_verb(said, at - 1) and at + 2 < len(said.lows)
    return said.lows[: at + 2] if fits else None


def _aim(said: StatedTokens) -> tuple[str, ...] | None:
    """The words up to *saves for*; the name of the aim may be longer than other values."""
    if _SAVES.isdisjoint(said.lows):
        return None
    at = next(at for at, low in enumerate(said.lows) if low in _SAVES)
    fits = at and said.lows[at + 1 : at + 2] == ("for",) and len(said.lows) - at <= LONGEST_AIM
    return said.lows[: at + 2] if fits and not _ends_a_sentence(said, 0, len(said.lows)) else None


def _device(said: StatedTokens) -> tuple[str, ...] | None:
    """The owner and the kind of a device, if a text says the make of one: *Ada has a Pixel 8*."""
    lows = said.lows
    if _MAKES.isdisjoint(lows) or len(lows) > LONGEST_AIM:
        return None
    kind = "laptop" if PHONES.isdisjoint(lows) else "phone"
    others, called = DEVICES[kind]
    if not others.isdisjoint(lows):
        return None
    who, *rest = lows[lows[0] == "the" :] or ("",)
    if rest[:1] and rest[0] in _HAS:
        return (who, kind)
    owned = who.endswith("'s") and rest[:1] and rest[0] in called and rest[1:2] == ["is"]
    return (who.removesuffix("'s"), kind) if owned else None


def begins_otherwise(text: str, other: Reading) -> bool:
    """Whether an unread text certainly shares no frame with a text that has been read."""
    opened = other.opening
    if other.values or not _MAKES.isdisjoint(other.lows):
        return False
    if opened is None:
        return _label(other.statement) is None
    if text.isascii():
        for word, expected in zip(text.split(None, len(opened)), opened, strict=False):
            low = word.casefold()
            if not low.isalpha() or low in _MAY_BE_LEFT_OUT:
                return False  # only reading shows which token it is, or what follows it
            if low != expected:
                return True
    return False


def _of_one_preference(one: Reading, other: Reading) -> bool:
    """Whether both texts say what one person prefers, and share a thing; one must compare two.

    *Prefers tea over coffee* and *prefers black coffee*.
    """
    mine, theirs = _preferred(one.statement), _preferred(other.statement)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    if _OVER.isdisjoint((*mine[1], *theirs[1])) or {*mine[1]}.isdisjoint({*theirs[1]} - _LITTLE):
        return False
    return not (_is_unclear(one) or _is_unclear(other))


def _preferred(said: StatedTokens) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words up to *prefers*, and those for the things after it, without a time or place."""
    at = next((at for at, low in enumerate(said.lows) if low in _PREFERS), 0)
    if not at or _ends_a_sentence(said, 0, len(said.lows)):
        return None
    things = tuple(takewhile(lambda low: low not in BINDING - _OVER, said.lows[at + 1 :]))
    return (said.lows[: at + 1], things) if 0 < len(things) <= MOST_OF_A_THING else None


def _trade(said: StatedTokens) -> tuple[str, ...] | None:
    """The words up to *is a*, if only a trade follows: *Ada is a nurse*."""
    at = next((at for at, low in enumerate(said.lows) if low in _BE), 0)
    article, *words = said.lows[at + 1 :] or ("",)
    fits = at and article in _AN and 0 < len(words) <= LONGEST and words[-1] in TRADES
    if not fits or not _NO_TRADE.isdisjoint(words):
        return None
    return (*said.lows[: at + 1], "a")


def _label(said: StatedTokens) -> tuple[str, ...] | None:
    """The words of a note up to its colon, if only a value follows: *home airport: Porto*."""
    if ":" not in said.lows:
        return None
    at = said.lows.index(":")
    if not 0 < _length(said, 0, at) <= LONGEST or _ends_a_sentence(said, 0, at):
        return None
    if not HEADINGS.isdisjoint(said.lows[:at]):
        return None
    return said.lows[: at + 1] if _is_value(said, at + 1, 0) else None


def is_note(text: Reading) -> bool:
    """Whether a text does not name its subject: *home airport: Porto*, *prefers tea*, *no pets*.

    It begins with a label or a verb, or is short and has no verb.
    """
    said = text.statement
    if ":" in said.lows[1 : LONGEST + 1]:
        return True
    if said.lows[:1] and said.lows[0] in _DOES:
        return True
    return len(said.lows) <= MOST_OF_A_THING and VERBS.isdisjoint(said.lows)


def frame_keys(text: Reading) -> list[tuple[str, ...]]:
    """The keys of a text; two texts of one frame share at least one, other texts rarely do.

    One key is made of the words that its frame begins with and its last word. The words before a
    value that may stand last are a key, too, if they say enough. A frame with a rule of its own (a
    label, a trade) has its own key. Empty if the text has no frame.
    """
    opened, said = text.opening, text.statement
    found = [label] if (label := _label(said)) is not None else []
    found += text.values
    if (trade := _trade(said)) is not None:
        found.append(trade)
    if (preferred := _preferred(said)) is not None:
        found.append(preferred[0])
    found += [key for find in (_aim, _device) if (key := find(said)) is not None]
    if opened is None:
        return found
    found.append((*opened, singular(said.lows[-1])))
    if (thing := _thing(said)) is not None:
        found.append(thing)
    start = end = len(said.lows)
    # Most texts that begin alike (*I like*) say too little before their last value for a frame.
    enough = _says_enough(said, len(opened), 0)
    while (
        start > len(opened)
        and said.lows[start - 1] not in NO_VALUE
        and not _ends_a_sentence(said, start - 1, start)
    ):
        start -= 1
        if end - start > LONGEST and _length(said, start, end) > LONGEST:
            break
        if (enough or _says_enough(said, start, 0)) and _fits_its_place(said, start, end):
            found.append(said.lows[:start])
    return found


def _says_it_of_one_thing(text: Reading, start: int, end: int) -> bool:
    """Whether a text states this value of something that it names."""
    said = text.statement
    return _is_after_verb(said, start) and _says_enough(said, start, end) and not _is_unclear(text)


def _same_word(one: str, other: str) -> bool:
    """Whether two words are the same, or one is the other's plural (*one cat / two cats*)."""
    return one == other or (
        one[:1] == other[:1]
        and min(len(one), len(other)) > 2
        and singular(one) == singular(other)
        and VERBS.isdisjoint((one, other))
    )


def _is_unclear(text: Reading) -> bool:
    """Whether a text asks, negates, or may do so in another language."""
    lows = text.lows
    if not (en.NEGATORS.isdisjoint(lows) and OTHERS.isdisjoint(text.texts)):
        return True  # compared as written: Ben is a name, *ben* is Turkish
    if "?" in lows or any(low.endswith("n't") for low in lows):
        return True
    return not text.text.isascii() and text.clues.foreign  # the usual case, without its clues


def _is_value(text: StatedTokens, start: int, end: int) -> bool:
    """Whether a text's tokens from `start` up to its last `end` tokens can be a value."""
    stop = len(text.lows) - end
    words = text.lows[start:stop]
    if not words or not NO_VALUE.isdisjoint(words):
        return False
    if _ends_a_sentence(text, start, stop) or _length(text, start, stop) > LONGEST:
        return False
    return _fits_its_place(text, start, stop)


def _fits_its_place(text: StatedTokens, start: int, stop: int) -> bool:
    """Whether words say something, and can be a value beside the words around them."""
    words = text.lows[start:stop]
    if _NO_VALUE_ALONE.issuperset(words):
        return False
    before, after = text.lows[start - 1], text.lows[stop : stop + 1]
    if before in _BEFORE_VERBS or (before == "to" and not en.DETERMINERS.isdisjoint(after)):
        return False
    return not (before in en.AUXILIARIES and _is_participle(words[0]))


def _ends_a_sentence(text: StatedTokens, start: int, stop: int) -> bool:
    """Whether a sentence ends between two places; the full stop of *Dr.* does not end one."""
    start = max(start, 1)
    return not _ENDS.isdisjoint(text.lows[start:stop]) and any(
        text.lows[at] in _ENDS
        and not (text.lows[at] == "." and text.lows[at - 1] in en.ABBREVIATIONS)
        for at in range(start, stop)
    )


def _length(text: StatedTokens, start: int, stop: int) -> int:
    """Number of words between two places; figures in a row, as in a phone number, count as one."""
    if stop - start > MOST_IN_A_ROW:
        return stop - start
    kinds = [kind for kind in text.kinds[start:stop] if kind is not SIGN]
    if kinds.count(WORD) >= len(kinds) - 1:
        return len(kinds)  # the usual case: not several figures
    return sum(kind is WORD or not at or kinds[at - 1] is WORD for at, kind in enumerate(kinds))


def _is_participle(word: str) -> bool:
    return len(word) > 4 and word.endswith(("ed", "ing"))


def _is_after_verb(text: StatedTokens, start: int) -> bool:
    """Whether the sentence has its verb before a place; if not, the subject differs."""
    for at in reversed(range(start)):
        if _ends_a_sentence(text, at, at + 1):
            return False
        if _is_verb(text, at):
            return True
    return False


def _is_verb(text: StatedTokens, at: int) -> bool:
    """Whether a verb stands at a place, as far as lists and endings tell."""
    return may_be_verb(text.lows, text.kinds, at) and (
        is_listed(text.lows[at]) or text.texts[at].islower()
    )


def _says_enough(text: StatedTokens, start: int, end: int) -> bool:
    """Whether enough is said around a value; a subject omitted before the verb counts, too."""
    count = len(text.lows)
    said = int(text.lows[0] in VERBS)
    for at in chain(range(start), range(count - end, count)):
        if text.kinds[at] is not SIGN and text.lows[at] not in LIGHT:
            said += 1
            if said >= FEWEST:
                return True
    return said >= FEWEST
