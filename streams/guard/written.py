"""Writes times, dates, sums and rates in one way: *6:00 AM* as *6 am*, *March 14th* as *14 March*.

Only for owners with names (docs/guard.md, Names). A text still says the same afterwards.
"""

from __future__ import annotations

import re

from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.name_words import COUNTED, PERHAPS_YOUNGER, UNEVEN
from palimpsest.streams.guard.data.patterns import any_of

MONTH = "|".join(sorted(month.capitalize() for month in {*en.MONTHS, "march", "may", "august"}))
"""A pattern of the months, to be used beside a number: *May* and *August* may be people."""
_DAY = r"(?:the )?([0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,? ((?:1[5-9]|20)[0-9]{2}))?"
_DAY_NAME = f"(?:{'|'.join(day.capitalize() for day in sorted(en.WEEKDAYS))})"
_WEEKDAYS = rf"({_DAY_NAME}(?:(?:, {_DAY_NAME})*,? and {_DAY_NAME})?)"
_OFTEN = r"\b(once|twice|(?:[a-z]+|[0-9]+) (?:times|days|hours|minutes|km|miles))"

_CLOCK = re.compile(r"\b(1[0-2]|[1-9])(?::00|(:[0-5][0-9]))? ?([AaPp])\.?[Mm]\b\.?(?!\w)")
_SUM = re.compile(r"(?<=[$€£])[0-9]{1,3}(?:,[0-9]{3})+(?![\d,])(?!\.[0-9]{3})")
_DATE = re.compile(rf"(?<= (?:on|is)) (?:({MONTH}) {_DAY}|{_DAY}(?: of)? ({MONTH})){_YEAR}\Z")
_RATE = re.compile(
    rf"(?:{_OFTEN}|([$€£][0-9]+(?:\.[0-9]+)?|\b[0-9][0-9.,]* [a-z]+)) per (day|week|month|year)\b"
)
_TWICE = re.compile(r"\btwo times (?=a (?:day|week|month|year)\b)")
_WEEKLY = re.compile(rf" every (?:{_WEEKDAYS}(?=\Z| at [0-9])|weekend\Z)")
_UNEVENLY = re.compile(rf"n't\b|\b(?:{any_of(en.NEGATORS | UNEVEN)}|[a-z]+ier)\b")
"""*Ada doesn't work every weekend* says that she works on some, *on weekends* that on none; *is
busier every weekend* compares one with the one before."""
_DAILY = re.compile(rf"{_OFTEN} (daily|weekly|monthly)\b")
_EVERY_DAY = re.compile(r" daily\Z")
_DAY_BEFORE_TIME = re.compile(
    rf" at ([0-9]{{1,2}}(?::[0-9]{{2}})?(?: [ap]m)?) on ({_DAY_NAME}s?)\Z"
)
_PERIODS = {"daily": "day", "weekly": "week", "monthly": "month"}
_A_NUMBER = re.compile(rf"[0-9]|\b(?:once|{'|'.join(en.NUMBERS)})\b")
_PERIOD = "day|evening|month|morning|night|week|weekday|year"
_COUNT = re.compile(
    rf"\b(?:{'|'.join(en.NUMBERS)})"
    rf"(?= (?:(?:{'|'.join(sorted(PERHAPS_YOUNGER))}) )?(?:{'|'.join(sorted(COUNTED))})\b)"
    rf"|(?<=ther of )(?:{'|'.join(en.NUMBERS)})\Z"
)
_WORDS = (
    (" each ", re.compile(rf"\beach(?= (?:{_PERIOD})\b)"), "every"),
    ("Prof", re.compile(r"\bProf\b\.?(?= [A-Z])"), "Professor"),
    ("television", re.compile(r"\btelevision\b"), "TV"),
    ("cell", re.compile(r"\bcell ?phone\b"), "mobile phone"),
    ("'s degree in ", re.compile(r"\b(bachelor|master)'s degree(?= in )"), r"\1's"),
)
"""What a pattern contains, the pattern, and the word that replaces it."""
_POUNDS = re.compile(r"(?<=[0-9]) ?lbs\b")
_KILOS = re.compile(r"(?<=[0-9]) ?(?:kilos|kilograms)\b")
_INCH = re.compile(r"(?<=[0-9]) inch(?= [A-Za-z])")


def as_written(said: str) -> str:
    """Write a text's times, dates, sums and rates in one way; it must lack its last full stop."""
    said = _COUNT.sub(lambda found: en.NUMBERS[found[0]], said)
    for sign, pattern, written in _WORDS:
        if sign in said:
            said = pattern.sub(written, said)
    if any(map(str.isdigit, said)):
        said = _INCH.sub("-inch", _KILOS.sub(" kg", said))
        if "weigh" in said:  # pounds may also be money
            said = _POUNDS.sub(" pounds", said)
        said = _CLOCK.sub(lambda found: f"{found[1]}{found[2] or ''} {found[3].lower()}m", said)
        said = _SUM.sub(lambda found: found[0].replace(",", ""), said)
        said = _DATE.sub(_day_first, said)
        said = _DAY_BEFORE_TIME.sub(r" on \2 at \1", said)
    if " every " in said and not _UNEVENLY.search(said):
        said = _WEEKLY.sub(_on_days, said)
    if said.endswith(" at weekends"):
        said = f"{said.removesuffix('at weekends')}on weekends"
    if "ly" in said:
        said = _DAILY.sub(lambda found: f"{found[1]} a {_PERIODS[found[2]]}", said)
        said = said if _A_NUMBER.search(said) else _EVERY_DAY.sub(" every day", said)
    if " per " in said or " times " in said:
        said = _TWICE.sub("twice ", _RATE.sub(r"\1\2 a \3", said))
    return said


def _on_days(found: re.Match[str]) -> str:
    return " on " + re.sub(f"({_DAY_NAME})", r"\1s", found[1] or "weekends")


def _day_first(found: re.Match[str]) -> str:
    month, day, first, named, year = found.groups()
    return f" {day or first} {month or named}" + (f" {year}" if year else "")
