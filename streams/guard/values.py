"""Frames of texts that are not English (docs/guard.md, Frames): they differ in one value.

*Ada wohnt in Paris / in Rom*, 「パリに住んでいる / ローマに住んでいる」. No list of verbs says
where a value stands in these languages. So each part of a text that may be a value gives a key: the
text without that part. Two texts of a frame share a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.closed_class import CONTENT, ENGLISH, OTHERS
from palimpsest.streams.guard.data.en import COLOURS, PERSONS, SHOWN, THINGS
from palimpsest.streams.guard.data.frame_words import VERBS
from palimpsest.streams.guard.data.language_table import HAN, KANA
from palimpsest.streams.guard.data.name_words import ADVERBS, SAME, THIRD
from palimpsest.streams.guard.data.tables import BUILT_IN, TABLES
from palimpsest.streams.guard.data.value_words import (
    ALSO_GERMAN,
    AND,
    CHINESE_LIGHT,
    CHINESE_NO_VALUE,
    CHINESE_OTHERS,
    FAVOURITE,
    IN_ENGLISH,
    JAPANESE_MAKERS,
    JAPANESE_NO_VALUE,
    JAPANESE_ONE,
    MORE_LIGHT,
    VALUE_WORDS,
)
from palimpsest.streams.guard.text import korean
from palimpsest.streams.guard.text.tokeniser import SIGN, Kind

Key = tuple[str, ...]

LONGEST = 3
"""Maximum number of words of a value."""
FEWEST = 2
"""Minimum number of words of content around a value."""
MOST_WORDS = 20
MOST_CHARACTERS, MOST_CHINESE = 60, 30
"""A longer text tells a story or reports several things."""
LONGEST_CHINESE = 6
"""Maximum number of characters of a value in Chinese."""
FEWEST_CHINESE = 3
"""Minimum number of characters of content around it."""
_BEGINS = 2
"""Number of words (in Chinese, characters) at the beginning that are no value: the subject."""

_LATIN = {code: table for code, table in TABLES.items() if table.script == "latin"}
_FUNCTIONS = frozenset(word for table in _LATIN.values() for word in table.words)
_FUNCTIONS -= BUILT_IN.numbers.keys()
_COUNTED = frozenset(word for code in _LATIN for word in VALUE_WORDS[code].counted)
_ADDING = frozenset(word for code in _LATIN for word in VALUE_WORDS[code].adding)
_CHANGED = frozenset(word for code in _LATIN for word in VALUE_WORDS[code].changed)
_UNCLEAR = frozenset(word for table in _LATIN.values() for word in table.negators) | {"?", "!"}
_NONE_OF_THEIRS = (ENGLISH | CONTENT | OTHERS) - _FUNCTIONS - BUILT_IN.numbers.keys()
_NONE_OF_THEIRS -= BUILT_IN.months
_ENGLISH = VERBS | ADVERBS | SHOWN | PERSONS | THINGS | COLOURS | en.QUANTIFIERS | en.PREPOSITIONS
_ENGLISH = (_ENGLISH | SAME | frozenset(THIRD) | frozenset(THIRD.values())) - {"in"}
_PROOF = (_FUNCTIONS | BUILT_IN.numbers.keys()) - IN_ENGLISH
_LIGHT = (_FUNCTIONS - _COUNTED) | _ADDING | MORE_LIGHT | BUILT_IN.numbers.keys()
_VERBS_FIRST = _COUNTED | MORE_LIGHT
_DAYS = frozenset(
    name + plural
    for table in _LATIN.values()
    for name, month_or_day in table.translations.items()
    if month_or_day.endswith("day")
    for plural in ("", "s")
)
"""Weekdays and their plurals, which are values also before the subject: *montags*, *los martes*."""
_CHINESE_FUNCTIONS = CHINESE_NO_VALUE | CHINESE_OTHERS
_KANA, _KANA_OR_HAN = compile_later(f"[{KANA}]"), compile_later(f"[{KANA}{HAN}]")
_HIRAGANA = r"\u3041-\u309f"
_ENDS = compile_later("[。．!！?？]")
_DAY = compile_later("(?:毎週|隔週|今週|来週)?[月火水木金土日]曜日?")
"""In 月曜日の10時 the day is a value; otherwise a word before の is an owner, and no value."""
_RUN = compile_later(rf"(?:(?:{JAPANESE_MAKERS})の)?[^{_HIRAGANA}\s、，。．.!！?？「」『』（）()]+")
"""What may be a value in Japanese: no hiragana, in which particles and endings are written."""


def value_keys(text: str, lows: Sequence[str], kinds: Sequence[Kind]) -> Iterator[Key]:
    """For each part of a sentence that may be a value, what is left without that part.

    `lows` and `kinds` are its tokens without the last full stop. A text that asks or negates has no
    keys.
    """
    if not text.isascii() and korean.HANGUL.search(text):
        yield from korean.value_keys(text)
    elif not text.isascii() and _KANA_OR_HAN.search(text):
        yield from (_japanese if _KANA.search(text) else _chinese)(text.rstrip("。．.!！"))
    else:
        yield from _latin(lows, kinds)


def is_in_a_table(text: str, lows: Iterable[str]) -> bool:
    """Whether a text may be in a language with a table: none of its words is of another language.

    It need not have a word that the table lists: *Lena studiert in Heidelberg* is too short.
    """
    if not text.isascii() and (_KANA_OR_HAN.search(text) or korean.HANGUL.search(text)):
        return True
    words = frozenset(lows)
    if len(words & _PROOF) >= FEWEST:
        words -= ALSO_GERMAN
    return _NONE_OF_THEIRS.isdisjoint(words) and (
        not _PROOF.isdisjoint(words) or _ENGLISH.isdisjoint(words)
    )


def tells_by_a_word(text: str, lows: Iterable[str]) -> bool:
    """Whether a text that is not English has a word that tells of a change."""
    if not text.isascii() and korean.HANGUL.search(text):
        return korean.tells_change(text)
    if not text.isascii() and _KANA_OR_HAN.search(text):
        words = VALUE_WORDS["ja" if _KANA.search(text) else "zh"].changed
        return len(text) <= MOST_CHARACTERS and any(word in text for word in words)
    return not _CHANGED.isdisjoint(lows)


def _latin(lows: Sequence[str], kinds: Sequence[Kind]) -> Iterator[Key]:
    """For each span of one to three words after the second word, the words around it."""
    words = sum(kind is not SIGN for kind in kinds)
    if not 0 < words <= MOST_WORDS or not _UNCLEAR.isdisjoint(lows):
        return
    if any(low == "." and not _is_number_or_title(lows[at - 1]) for at, low in enumerate(lows)):
        return
    for start in range(len(lows)):
        if start == 0 and lows[0] not in _DAYS:
            continue
        for stop in range(start + 1, len(lows) + 1):
            value, around = lows[start:stop], [*map(_bare, (*lows[:start], *lows[stop:]))]
            if not around or _length(value) > LONGEST or not _FUNCTIONS.isdisjoint(value):
                break
            # A verb may come first: its subject is left out, or joined to it (*j'habite*).
            verb_first = around[0] in _VERBS_FIRST or around[0] != lows[0]
            counts = all(map(_is_number, value))
            of_days = _DAYS.issuperset(value)
            if start < _BEGINS and not of_days and not (counts and verb_first):
                break
            adds = not (counts or _ADDING.isdisjoint(around))
            if adds or (start > 0 and lows[start - 1] in AND):
                continue
            if sum(map(_says_something, around)) + verb_first >= FEWEST:
                yield ("latin", *lows[:start], "", *lows[stop:])


def _says_something(low: str) -> bool:
    return low[0].isalpha() and low not in _LIGHT


def _length(value: Sequence[str]) -> int:
    """Number of words; figures in a row, as in a phone number, count as one."""
    figures = [low[0].isdecimal() for low in value]
    return len(value) - sum(one and other for one, other in pairwise(figures))


def _bare(low: str) -> str:
    """A word without the one that an apostrophe joins to its front: *habite* of *j'habite*."""
    return low.partition("'")[2] or low


def _is_number_or_title(low: str) -> bool:
    """Whether a full stop after a word does not end the sentence: *am 3. Mai*, *Dr. Weber*."""
    return low[0].isdecimal() or low in en.ABBREVIATIONS


def _is_number(low: str) -> bool:
    return low in BUILT_IN.numbers or low[0].isdecimal()


def _japanese(text: str) -> Iterator[Key]:
    if (
        _ENDS.search(text)
        or len(text) > MOST_CHARACTERS
        or text.endswith("か")
        or _negates(text, "ja")
    ):
        return
    liked = text.replace(FAVOURITE["ja"], "")
    adds = any(word in liked for word in VALUE_WORDS["ja"].adding)
    runs = list(_RUN.finditer(text))
    for run in runs:
        after, counts = text[run.end() :], _counts(run[0])
        of_one = text[: run.start()].removesuffix("は").endswith(JAPANESE_ONE)
        of_a_day = after.startswith("の") and _DAY.fullmatch(run[0])
        fits = of_a_day or (of_one and after.startswith("さん"))
        if not counts and (adds or (after.startswith(JAPANESE_NO_VALUE) and not fits)):
            continue
        # A verb after the value says enough, because its subject is often left out.
        if run is not runs[-1] or len(runs) > (1 if counts or of_one else FEWEST):
            yield ("ja", text[: run.start()], after)


def _chinese(text: str) -> Iterator[Key]:
    if _ENDS.search(text) or len(text) > MOST_CHINESE or _negates(text, "zh"):
        return
    liked = text.replace(FAVOURITE["zh"], "")
    adds = any(word in liked for word in VALUE_WORDS["zh"].adding)
    for start in range(_BEGINS, len(text)):
        for stop in range(start + 1, min(start + LONGEST_CHINESE, len(text)) + 1):
            value = text[start:stop]
            if not _CHINESE_FUNCTIONS.isdisjoint(value):
                break
            around = text[:start] + text[stop:]
            said = len([character for character in around if character not in CHINESE_LIGHT])
            counts = _counts(value)
            if said >= (FEWEST if counts else FEWEST_CHINESE) and (counts or not adds):
                yield ("zh", text[:start], text[stop:])


def _counts(value: str) -> bool:
    return value[:1].isdecimal() or value[:1] in TABLES["ja"].digits | TABLES["zh"].digits


def _negates(text: str, code: str) -> bool:
    negators = TABLES[code].negators
    return any(word in text for word in negators if code == "zh" or len(word) > 1) or "？" in text
