"""Dates and times of day, in any order and spelling, as one term each."""

from __future__ import annotations

import re

from palimpsest.streams.guard.data.en import NAMESAKES
from palimpsest.streams.guard.text.measures import ORDINAL_ENDINGS

_MONTH_NAMES = (
    "january jan;february feb;march mar;april apr;may;june jun;july jul;august aug;"
    "september sep sept;october oct;november nov;december dec"
).split(";")
MONTHS: dict[str, int] = {
    name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()
}
"""Names and abbreviations of months, with their numbers."""

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_RELATIVE = {day: "@" + day for day in ("today", "yesterday", "tomorrow", "tonight")}
RELATIVE_DAYS = frozenset(_RELATIVE.values())
"""Terms of days that are other days in a text of another day."""
DAYS: dict[str, str] = {form: "@" + day for day in _DAYS for form in (day, day + "s")} | _RELATIVE
"""Weekdays and relative days, with their terms."""

_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?\Z")
_SLASHED = re.compile(r"\d{1,2}/\d{1,2}/\d{2,4}\Z")
HALVES: dict[str, int] = {"am": 0, "a.m": 0, "a.m.": 0, "pm": 12, "p.m": 12, "p.m.": 12}
"""Halves of the day, with the hour that they begin with."""


def written_date(words: list[str], at: int) -> tuple[str, int] | None:
    """The term of a date or a time in figures at ``at``, and its end."""
    word = words[at]
    if date := _ISO.match(word):
        return "@{}-{}-{}".format(*(int(part) for part in date.groups())), at + 1
    if clock := _CLOCK.match(word):
        return time_of_day(words, at + 1, int(clock[1]), clock[2])
    return ("@" + word, at + 1) if _SLASHED.match(word) else None


def time_of_day(words: list[str], at: int, hour: int, minute: str) -> tuple[str, int]:
    """The term of a time whose half of the day may stand at ``at``, and its end."""
    if at < len(words) and words[at] in HALVES:
        hour, at = hour % 12 + HALVES[words[at]], at + 1
    return f"@{hour}:{minute}", at


def day_and_month(words: list[str], at: int, day: str) -> tuple[str, int] | None:
    """The term of a date whose day stands before ``at``, and its end (``10 March 1867``)."""
    month_at = at + 1 if words[at : at + 1] == ["of"] else at
    month = MONTHS.get(words[month_at]) if month_at < len(words) else None
    if month is None or not _is_day(day):
        return None
    year, after = _year(words, month_at + 1)
    return f"@{year}-{month}-{int(day)}", after


def month_first(words: list[str], at: int) -> tuple[str, int] | None:
    """The term of a date that begins with a month, and its end (``March 10th, 1867``).

    None if the word is probably not a month: *may*, *march* and first names without a figure.
    """
    month = MONTHS[words[at]]
    day_at = at + 2 if words[at + 1 : at + 2] == ["."] else at + 1
    if day_at < len(words) and _is_day(words[day_at]):
        after = day_at + 1
        after += after < len(words) and words[after] in ORDINAL_ENDINGS
        year, after = _year(words, after)
        return f"@{year}-{month}-{int(words[day_at])}", after
    year, after = _year(words, at + 1)
    if year == "?" and words[at] in NAMESAKES and words[at - 1 : at] != ["in"]:
        return None
    return f"@{year}-{month}-?", after


def is_year(value: str) -> bool:
    """Whether a number of four figures is most likely a year."""
    return len(value) == 4 and value.isdecimal() and "1500" <= value < "2100"


def _year(words: list[str], at: int) -> tuple[str, int]:
    year_at = at + 1 if words[at : at + 1] in ([","], ["of"]) else at
    if year_at < len(words) and is_year(words[year_at]):
        return words[year_at], year_at + 1
    return "?", at


def _is_day(value: str) -> bool:
    return value.isdecimal() and len(value) <= 2 and 1 <= int(value) <= 31
