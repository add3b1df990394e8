"""Writes times, dates, sums and rates in one way: *6:00 AM* as *6 am*, *March 14th* as *14 March*.

Only for owners with names (docs/guard.md, Names). A text still says the same afterwards.
"""

from __future__ import annotations

import re

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.name_words import (
    COUNTED,
    GOING,
    NUMBERED,
    OF_A_CLAUSE,
    OF_A_DAY,
    OF_DOING,
    PAYING,
    PERHAPS_YOUNGER,
    SPENDING,
    UNEVEN,
    WEIGHED,
    WEIGHING,
)
from palimpsest.streams.guard.data.patterns import NAME_START, any_of
from palimpsest.streams.guard.text.clock import in_twelve_hours

_MONTHS = (
    "January February March April May June July August September October November December".split()
)
MONTH = any_of(_MONTHS)
"""A pattern of the months, to be used beside a number: *May* and *August* may be people."""
_DAY = r"(?:the )?([0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,? ((?:1[5-9]|20)[0-9]{2}))?"
DAY_NAME = f"(?:{any_of(map(str.capitalize, en.WEEKDAYS))})"
_WEEKDAYS = rf"({DAY_NAME}(?:(?:, {DAY_NAME})*,? and {DAY_NAME})?)"
_OFTEN = r"\b(once|twice|(?:[a-z]+|[0-9]+) (?:times|days|hours|minutes|km|miles))"

_SUM = compile_later(r"(?<=[$€£])[0-9]{1,3}(?:,[0-9]{3})+(?![\d,])(?!\.[0-9]{3})")
_DATE = compile_later(
    rf" (on|is|by|due|until|born|expires) (?:({MONTH}) {_DAY}|{_DAY}(?: of)? ({MONTH})){_YEAR}\Z"
)
_SHORT = {month[:3]: month for month in _MONTHS if month != "May"} | {"Sept": "September"}
SHORT_MONTHS = any_of(_SHORT)
_IN_FIGURES = compile_later(
    r"(?<![\w/.\-])(?:(1[3-9]|2[0-9]|3[01])[/.](0?[1-9]|1[0-2])[/.]((?:19|20)[0-9]{2})"
    r"|((?:19|20)[0-9]{2})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"|(?:(?<= by )|(?<= in )|(?<= from )|(?<= since )|(?<= until )|(?<= expires )"
    r"|(?<= expiry is ))"
    r"(0?[1-9]|1[0-2])/((?:19|20)[0-9]{2}))(?![\w/\-])"
)
"""Dates such as *14/08/2019*, *2019-08-14* and *11/2027*; 04/05/2019 has two readings."""
_SHORT_MONTH = compile_later(rf"(?<=[0-9]) ({SHORT_MONTHS})\b\.?|\b({SHORT_MONTHS})\b\.?(?= [1-9])")
_AMOUNT = r"([$€£][0-9][0-9,]*(?:\.[0-9]+)?|\b[0-9][0-9.,]* [a-z]+)"
_RATE = compile_later(rf"(?:{_OFTEN}|{_AMOUNT}) per (day|week|month|year|hour|lesson|person)\b")
_SLASH = compile_later(rf"{_AMOUNT}/(day|week|month|year|hour)\b")
_TIMES_A = compile_later(r"\b([1-9])x(?:/| a | per )(day|week|month|year)\b")
_TWICE = compile_later(r"\btwo times (?=a (?:day|week|month|year)\b)")
_WEEKLY = compile_later(rf" every (?:{_WEEKDAYS}(?=\Z| at [0-9])|weekend\Z)")
_WEEKLY_PART = compile_later(
    rf" every ({DAY_NAME}|weekday|weekend) ({any_of(en.DAYTIMES)})(?=\Z| at [0-9])"
)
_NO_VERB = f"(?:{any_of(en.PREPOSITIONS)}|every)"
_UNEVENLY = compile_later(
    rf"n't\b|\b(?:{any_of(en.NEGATORS | UNEVEN)}|[a-z]+ier)\b"
    rf"|\b(?!(?:{any_of(GOING)})\b)\w+ to (?!the\b|an?\b)[a-z]"
    r"|\b(?:enjoys|keeps|loves|prefers|started|starts) [a-z]+ing\b"
    rf"|\b(?:{any_of(OF_A_CLAUSE)})\b|\b(?:has (?:been|[a-z]+ed)|will)\b"
    rf"|\b(?:has|hears|helps|makes|sees|watches) {NAME_START}\w+ (?!{_NO_VERB}\b)[a-z]"
    rf"|\b(?:{any_of(OF_A_DAY)}) every |\ba new\b"
    rf"|\b(?:{any_of(OF_DOING)}) (?!(?:evening|meeting|morning|training)\b)[a-z]+ing\b"
)
"""*Every weekend* is not always *on weekends*. *Doesn't work every weekend* leaves some on which
somebody works; so does *agreed to work on weekends*. *Is busier every weekend* compares each with
the one before, *plans every weekend* is about them."""
_WEEKEND = " every weekend"
_SOME = compile_later(rf"\b(?:an?|one|once|twice|[0-9]+|{any_of(en.NUMBERS)})\b")
"""What is counted before `_WEEKEND`: *reads a book every weekend* counts books."""
_DAILY = compile_later(rf"{_OFTEN} (daily|weekly|monthly)\b")
_SUM_DAILY = compile_later(rf"{_AMOUNT} (daily|weekly|monthly)(?=\Z| for | in )")
_TAKES_DAILY = compile_later(r"( takes .+) daily\Z")
"""Of a medicine; elsewhere *daily* may be a newspaper."""
_DAY_BEFORE_TIME = compile_later(
    rf" at ([0-9]{{1,2}}(?::[0-9]{{2}})?(?: [ap]m)?) on ({DAY_NAME}s?)\Z"
)
_PERIODS = {"daily": "day", "weekly": "week", "monthly": "month"}
_PERIOD = "day|evening|month|morning|night|week|weekday|year"
_A_NUMBER = compile_later(rf"[0-9]|\b(?:once|{'|'.join(en.NUMBERS)})\b")
_COUNT = compile_later(
    rf"\b(?:{'|'.join(en.NUMBERS)})"
    rf"(?= (?:(?:{'|'.join(sorted(PERHAPS_YOUNGER))}) )?(?:{'|'.join(sorted(COUNTED))})\b)"
    rf"|(?<=ther of )(?:{'|'.join(en.NUMBERS)})\Z"
)
_COUNTED = compile_later(rf" (?:{any_of(COUNTED)})\b")
"""What follows a number that is counted; it is found faster than a number."""
_WORDS = (
    (" each ", compile_later(rf"\beach(?= (?:{_PERIOD})\b)"), "every"),
    ("Prof", compile_later(r"\bProf\b\.?(?= [A-Z])"), "Professor"),
    ("television", compile_later(r"\btelevision\b"), "TV"),
    ("cell", compile_later(r"\bcell ?phone\b"), "mobile phone"),
    ("'s degree in ", compile_later(r"\b(bachelor|master)'s degree(?= in )"), r"\1's"),
    ("blood group", compile_later(r"\bblood group\b"), "blood type"),
    ("neg", compile_later(r"\b(AB|[ABO])[ -]neg(?:ative)?\b"), r"\1 negative"),
    ("pos", compile_later(r"\b(AB|[ABO])[ -]pos(?:itive)?\b"), r"\1 positive"),
    (" & ", compile_later(r" & "), " and "),
    ("St. ", compile_later(r"\bSt\.(?= [A-Z])"), "St"),
    ("physio", compile_later(r"\bphysio\b"), "physiotherapist"),
    (" uni", compile_later(r"\b([A-Z]\w+) uni\b"), r"\1 University"),
    (" no.", compile_later(rf"\b({any_of(NUMBERED)}) no\."), r"\1 number"),
    (" no ", compile_later(rf"\b({any_of(NUMBERED)}) no(?= (?:is|[0-9]))"), r"\1 number"),
)
"""What a pattern contains, the pattern, and the word that replaces it."""
_CONTAINED = tuple(contained for contained, _, _ in _WORDS)
_A_MAKER = compile_later("Apple |Google |Lenovo |Samsung |Sony ")
_MAKERS = compile_later(
    r"\b(?:Apple (?=iPad|iPhone|iMac|MacBook)|Google (?=Pixel)|Lenovo (?=IdeaPad|ThinkPad)"
    r"|Samsung (?=Galaxy)|Sony (?=PlayStation|Xperia))"
)
"""Makers before what nobody else makes."""
_POUNDS = compile_later(
    r"\b(weigh(?:s|ed|t is)? (?:(?:about|almost|around|exactly|nearly|only|over) )?[0-9.]+) ?lbs\b"
)
_KILOS = compile_later(r"(?<=[0-9]) ?(?:kilos|kilograms)\b")
_UNIT = compile_later(r"(?<![\w.,])([0-9]+(?:\.[0-9]+)?)(cm|g(?= of )|GB|kg|km|mg|ml|mm|TB)\b")
_CURRENCY = compile_later(
    rf"(?<![\w.,])([0-9][0-9,]*(?:\.[0-9]+)?) (euros?|dollars|pounds)\b"
    rf"(?! (?:of|bills?|coins?|notes?|stamps?|{NAME_START}))"
)
_MONEY = PAYING | {word + "s" for word in PAYING}
_BOUGHT = compile_later(r"(?:for |..[,;] )[0-9.,]+ pounds(?! (?:an?|each|every|per)\b)")
"""*Pays for flour, 50 pounds* and *pays for 50 pounds* do not say how much is paid."""
_FIGURE = compile_later("[0-9]")
_SIGNS = {"euro": "€", "euros": "€", "dollars": "$", "pounds": "£"}
_INCH = compile_later(r"(?<=[0-9]) inch(?= [A-Za-z])")


def as_written(said: str) -> str:
    """Write a text's times, dates, sums and rates in one way; it must lack its last full stop."""
    if _COUNTED.search(said) or "ther of " in said:
        said = _COUNT.sub(lambda found: en.NUMBERS[found[0]], said)
    if any(map(said.__contains__, _CONTAINED)):
        for contained, pattern, written in _WORDS:
            if contained in said:
                said = pattern.sub(written, said)
    if _A_MAKER.search(said):
        said = _MAKERS.sub("", said)
    if " at " in said or " past " in said:
        said = in_twelve_hours(said)
    if _FIGURE.search(said):
        said = _UNIT.sub(r"\1 \2", _INCH.sub("-inch", _KILOS.sub(" kg", said)))
        if "weigh" in said:  # pounds may also be money
            said = _POUNDS.sub(r"\1 pounds", said)
        paid = _is_paid(said.split(" "))
        said = _CURRENCY.sub(lambda found: _with_its_sign(found, paid=paid), said)
        said = _SUM.sub(lambda found: found[0].replace(",", ""), said)
        said = _IN_FIGURES.sub(_month_in_words, said)
        said = _SHORT_MONTH.sub(_in_full, said)
        said = _DATE.sub(_day_first, said)
        said = _TIMES_A.sub(_times_in_words, said)
    if " every " in said and _is_even(said):
        said = _WEEKLY_PART.sub(r" on \1 \2s", _WEEKLY.sub(_on_days, said))
    if " at " in said:
        said = _DAY_BEFORE_TIME.sub(r" on \2 at \1", said)
    if said.endswith(" at weekends"):
        said = f"{said.removesuffix('at weekends')}on weekends"
    if "daily" in said or "weekly" in said or "monthly" in said:
        said = _DAILY.sub(lambda found: f"{found[1]} a {_PERIODS[found[2]]}", said)
        said = _SUM_DAILY.sub(lambda found: f"{found[1]} a {_PERIODS[found[2]]}", said)
        if said.endswith(" daily") and not _A_NUMBER.search(said):
            said = _TAKES_DAILY.sub(r"\1 every day", said)
    if " per " in said or " times " in said or "/" in said:
        said = _SLASH.sub(r"\1 per \2", said)
        said = _TWICE.sub("twice ", _RATE.sub(_a_period, said))
    return said


def _is_even(said: str) -> bool:
    """Whether *every Monday* in a text means *on Mondays*, and *every weekend* *on weekends*."""
    before, weekend, _ = said.rpartition(_WEEKEND)
    return not _UNEVENLY.search(said) and not (weekend and _SOME.search(before))


def _a_period(found: re.Match[str]) -> str:
    often, amount, period = found.groups()
    return f"{often or amount} {'an' if period == 'hour' else 'a'} {period}"


def _month_in_words(found: re.Match[str]) -> str:
    """A date in figures in which day and month cannot be confused."""
    if found[1]:
        return f"{int(found[1])} {_MONTHS[int(found[2]) - 1]} {found[3]}"
    if found[4]:
        return f"{int(found[6])} {_MONTHS[int(found[5]) - 1]} {found[4]}"
    return f"{_MONTHS[int(found[7]) - 1]} {found[8]}"


def _in_full(found: re.Match[str]) -> str:
    return f" {_SHORT[found[1]]}" if found[1] else _SHORT[found[2]]


def _with_its_sign(found: re.Match[str], *, paid: bool) -> str:
    """A sum with the sign of its currency; pounds are money only beside a word for payment."""
    if found[2] == "pounds" and (not paid or _BOUGHT.match(found.string, found.start() - 4)):
        return found[0]
    return _SIGNS[found[2]] + found[1]


def _is_paid(words: list[str]) -> bool:
    """Whether pounds among some words are money, and no weight."""
    bought = WEIGHED.isdisjoint(words) or not SPENDING.isdisjoint(words)
    return bought and not _MONEY.isdisjoint(words) and WEIGHING.isdisjoint(words)


def _times_in_words(found: re.Match[str]) -> str:
    often = {"1": "once", "2": "twice"}.get(found[1], f"{found[1]} times")
    return f"{often} a {found[2]}"


def _on_days(found: re.Match[str]) -> str:
    return " on " + re.sub(f"({DAY_NAME})", r"\1s", found[1] or "weekends")


def _day_first(found: re.Match[str]) -> str:
    before, month, day, first, named, year = found.groups()
    return f" {before} {day or first} {month or named}" + (f" {year}" if year else "")
