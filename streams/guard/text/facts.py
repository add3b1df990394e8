"""Brings numbers, dates, units and versions to one spelling, wherever they stand in a text.

The term of a fact begins with a sign: ``#`` for a number, ``@`` for a date or a time, ``^`` for a
version, ``~`` for the unit of the number before it. No word begins with one of these signs, unless
it is the sign alone.
"""

from __future__ import annotations

import re

from palimpsest.streams.guard.data.cue_words import PUNCTUATION
from palimpsest.streams.guard.text.calendar import (
    DAYS,
    HALVES,
    MONTHS,
    day_and_month,
    is_year,
    month_first,
    time_of_day,
    written_date,
)
from palimpsest.streams.guard.text.measures import (
    CURRENCY_SIGNS,
    DIGITS,
    NUMBER_WORDS,
    ORDINAL_ENDINGS,
    ORDINALS,
    UNITS,
    figure,
    spelled,
)

_VERSION = re.compile(
    r"(?:(?:version|release|ver\.?)\s+)?v?(\d+(?:\.\d+){2,}.*)\Z"
    r"|(?:version|release|ver\.?)\s+v?(\d.*)\Z"
    r"|v(\d.*)\Z"
)
_PLAIN_DAYS = DAYS | ORDINALS
_MARKED = frozenset(_PLAIN_DAYS.keys() | NUMBER_WORDS | MONTHS.keys())


def mark(words: list[str]) -> list[str]:
    """Replace every number, date, time, unit and version by a marked term; return the new list.

    Returns `words` itself if it has only plain words and punctuation.
    """
    distinct = set(words)
    others = {word for word in distinct if not word.isalpha()} - PUNCTUATION
    others |= _MARKED & distinct
    if not others:
        return words
    terms: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word not in others:
            terms.append(word)
            at += 1
        else:
            found, at = fact(words, at)
            terms += found
    return terms


def fact(words: list[str], at: int) -> tuple[list[str], int]:
    """The terms of the fact that begins at ``at``, or the word there if none does; and its end."""
    word = words[at]
    if DIGITS.match(word):
        return _number(words, *figure(words, at))
    if word in NUMBER_WORDS:
        return _number(words, *spelled(words, at))
    if word in _PLAIN_DAYS:
        return [_PLAIN_DAYS[word]], at + 1
    if word in MONTHS and (date := month_first(words, at)):
        return [date[0]], date[1]
    if word in CURRENCY_SIGNS and at + 1 < len(words) and DIGITS.match(words[at + 1]):
        value, after = figure(words, at + 1)
        return ["#" + value, UNITS[word]], after
    return _shaped(words, at)


def _shaped(words: list[str], at: int) -> tuple[list[str], int]:
    if date := written_date(words, at):
        return [date[0]], date[1]
    if version := _VERSION.match(words[at]):
        return ["^" + next(group for group in version.groups() if group)], at + 1
    return [words[at]], at + 1


def _number(words: list[str], value: str, at: int) -> tuple[list[str], int]:
    following = words[at] if at < len(words) else ""
    if ordinal := following in ORDINAL_ENDINGS:
        at += 1
    if following in HALVES and value.isdecimal() and len(value) <= 2:
        time, after = time_of_day(words, at, int(value), "00")
        return [time], after
    if date := day_and_month(words, at, value):
        return [date[0]], date[1]
    if ordinal:
        return [f"#{value}th"], at
    unit_at = at + 1 if following == "-" else at
    if unit_at < len(words) and words[unit_at] in UNITS:
        return ["#" + value, UNITS[words[unit_at]]], unit_at + 1
    return [f"@{value}-?-?" if is_year(value) else "#" + value], at
