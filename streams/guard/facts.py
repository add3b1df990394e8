"""Numbers, dates, units and versions brought to one spelling, wherever they stand in a text.

Terms that carry a fact begin with a sign of their own: ``#`` a number, ``@`` a date or a time,
``^`` a version, ``~`` a unit beside its number.
"""

from __future__ import annotations

import re

from streams.guard.lexicon import (
    AMBIGUOUS_MONTHS,
    CURRENCY_SIGNS,
    MONTHS,
    ORDINALS,
    SCALES,
    SMALL_NUMBERS,
    TENS,
    UNITS,
    WEEKDAYS,
)

_DIGITS = re.compile(r"-?\d[\d,]*(?:\.\d+)?\Z")
_VERSION = re.compile(r"(?:version|release|ver\.?)\s+v?(\d.*)\Z|v(\d.*)\Z|(\d+(?:\.\d+){2,}.*)\Z")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?\Z")
_NUMBER_WORDS = SMALL_NUMBERS.keys() | TENS.keys() | SCALES.keys()
_HALVES = {"am": 0, "a.m": 0, "a.m.": 0, "pm": 12, "p.m": 12, "p.m.": 12}
_ENDINGS = frozenset({"st", "nd", "rd", "th"})


def mark(words: list[str]) -> list[str]:
    """``words`` with every number, date, time, unit and version as one marked term, in place."""
    terms: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word[0].isdigit() or word[0] in "-v" or " " in word:
            at = _figure(words, at, terms)
        elif word in _NUMBER_WORDS:
            value, at = _spelled(words, at)
            at = _after_number(words, at, value, terms)
        elif word in MONTHS:
            at = _month(words, at, terms)
        elif word in WEEKDAYS:
            terms.append("@" + WEEKDAYS[word])
            at += 1
        elif word in ORDINALS:
            terms.append(f"#{ORDINALS[word]}th")
            at += 1
        elif word in CURRENCY_SIGNS and at + 1 < len(words) and _DIGITS.match(words[at + 1]):
            value, after = _scaled(words, at + 1)
            terms += [f"#{value}", "~" + UNITS[word]]
            at = after
        else:
            terms.append(word)
            at += 1
    return terms


def _figure(words: list[str], at: int, terms: list[str]) -> int:
    word = words[at]
    if _DIGITS.match(word):
        value, after = _scaled(words, at)
        return _after_number(words, after, value, terms)
    if version := _VERSION.match(word):
        terms.append("^" + next(group for group in version.groups() if group))
    elif date := _DATE.match(word):
        terms.append("@{}-{}-{}".format(*(int(part) for part in date.groups())))
    elif clock := _CLOCK.match(word):
        return _time(words, at + 1, int(clock[1]), clock[2], terms)
    else:
        terms.append("@" + word if "/" in word and word[0].isdigit() else word)
    return at + 1


def _scaled(words: list[str], at: int) -> tuple[str, int]:
    value, after = _plain(words[at]), at + 1
    while after < len(words) and words[after] in SCALES:
        value, after = _plain(repr(float(value) * SCALES[words[after]])), after + 1
    return value, after


def _plain(digits: str) -> str:
    digits = digits.replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _spelled(words: list[str], at: int) -> tuple[str, int]:
    total = current = 0
    room = SCALES["trillion"]
    while at < len(words):
        word = words[at]
        if word in TENS and room > 10:
            current, room = current + TENS[word], 10
        elif word in SMALL_NUMBERS and room > 1 and (room > 10 or 0 < SMALL_NUMBERS[word] < 10):
            current, room = current + SMALL_NUMBERS[word], 1
        elif word in SCALES:
            current = max(current, 1) * SCALES[word]
            if SCALES[word] >= 1_000:
                total, current = total + current, 0
            room = SCALES[word]
        elif not (word in ("-", "and") and _continues(words, at, room)):
            break
        at += 1
    return str(total + current), at


def _continues(words: list[str], at: int, room: int) -> bool:
    after = words[at + 1] if at + 1 < len(words) else ""
    if words[at] == "and":
        return room >= 100 and words[at - 1] in SCALES and after in _NUMBER_WORDS
    return room == 10 and 0 < SMALL_NUMBERS.get(after, 0) < 10


def _after_number(words: list[str], at: int, value: str, terms: list[str]) -> int:
    following = words[at] if at < len(words) else ""
    if following in _ENDINGS:
        ordinal, at = True, at + 1
        following = words[at] if at < len(words) else ""
    else:
        ordinal = False
    if following in _HALVES:
        return _time(words, at, int(float(value)), "00", terms)
    month_at = at + 1 if following == "of" and at + 1 < len(words) else at
    if month_at < len(words) and words[month_at] in MONTHS and _is_day(value):
        year, after = _year(words, month_at + 1)
        terms.append(f"@{year}-{MONTHS[words[month_at]]}-{value}")
        return after
    unit_at = at + 1 if following == "-" and at + 1 < len(words) else at
    if not ordinal and unit_at < len(words) and words[unit_at] in UNITS:
        terms += [f"#{value}", "~" + UNITS[words[unit_at]]]
        return unit_at + 1
    if not ordinal and _is_year(value):
        terms.append(f"@{value}-?-?")
    else:
        terms.append(f"#{value}th" if ordinal else f"#{value}")
    return at


def _month(words: list[str], at: int, terms: list[str]) -> int:
    day_at = at + 2 if at + 1 < len(words) and words[at + 1] == "." else at + 1
    following = words[day_at] if day_at < len(words) else ""
    if _is_day(following):
        after = day_at + 1
        if after < len(words) and words[after] in _ENDINGS:
            after += 1
        year, after = _year(words, after)
        terms.append(f"@{year}-{MONTHS[words[at]]}-{following}")
        return after
    year, after = _year(words, at + 1)
    if year != "?" or words[at] not in AMBIGUOUS_MONTHS:
        terms.append(f"@{year}-{MONTHS[words[at]]}-?")
        return after
    terms.append(words[at])
    return at + 1


def _year(words: list[str], at: int) -> tuple[str, int]:
    if at < len(words) and words[at] in (",", "of") and at + 1 < len(words):
        year_at = at + 1
    else:
        year_at = at
    if year_at < len(words) and _is_year(words[year_at]):
        return words[year_at], year_at + 1
    return "?", at


def _time(words: list[str], at: int, hour: int, minute: str, terms: list[str]) -> int:
    if at < len(words) and words[at] in _HALVES:
        hour, at = hour % 12 + _HALVES[words[at]], at + 1
    terms.append(f"@{hour}:{minute}")
    return at


def _is_year(value: str) -> bool:
    return len(value) == 4 and value.isdigit() and "1500" <= value < "2100"


def _is_day(value: str) -> bool:
    return value.isdigit() and len(value) <= 2 and 1 <= int(value) <= 31
