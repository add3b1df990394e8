"""Writes times of day in one way: *half past five* as *5:30*, *at 17:00* as *at 5 pm*."""

from __future__ import annotations

import re

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.patterns import any_of

_HOURS = {"one": "1"} | {
    word: en.NUMBERS[word] for word in en.NUMBERS if int(en.NUMBERS[word]) < 13
}
_HOUR = f"(?:{any_of(_HOURS)}|1[0-2]|[1-9])"
_AFTER_AT = r"(?=\Z| (?:every|in the|on|to)\b)"
"""What follows an hour: *at six* at the end or before *on Mondays*, not before *schools*."""

_FIGURE = compile_later("[1-9]")
_CLOCK = compile_later(r"\b(1[0-2]|[1-9])(?::00|(:[0-5][0-9]))? ?([AaPp])\.?[Mm]\b\.?(?!\w)")
_PAST = compile_later(rf"\b(half past|(?:a )?quarter past) ({_HOUR})\b(?!:)")
_HOUR_IN_WORDS = compile_later(rf"at (?<!\wat )({any_of(_HOURS)}){_AFTER_AT}")
"""Its assertion follows *at*, which is found faster at the beginning of a pattern."""
_O_CLOCK = compile_later(rf"\bat ({_HOUR}) o'clock{_AFTER_AT}")
_FULL_HOUR = compile_later(rf"\bat (1[0-2]|[1-9]):00{_AFTER_AT}")
_PERHAPS_AN_AGE = compile_later(
    rf"\b(?<!\bis )(?<!\bare )(?<!\bbe )(?:{any_of(en.PASTS)}|became|can already|could|was|went"
    r"|(?!(?:bed|feed|need|speed)\b)[a-z]+ed)\b"
    rf"|\b(?:begin|start)s? (?:nursery|school) at (?:{any_of(_HOURS)}|[1-7])\b"
)
"""*Started school at six* says how old somebody was, not at 6:00."""
_OF_24 = compile_later(r"\bat (1[3-9]|2[0-3]):([0-5][0-9])(?![\d:.])")
_IN_THE = compile_later(
    r"\bat (?:([1-9]|1[01])(:[0-5][0-9])? in the (morning)"
    r"|([1-9]|1[01])(:[0-5][0-9])? in the (?:afternoon|evening))\b"
)


def in_twelve_hours(said: str) -> str:
    """Write times of day with *am* or *pm* if that is certain: not *at 6*."""
    if " past " in said:
        said = _PAST.sub(_half_or_quarter, said)
    sharp = (" o'clock" in said or ":00" in said) and _PERHAPS_AN_AGE.search(said) is not None
    if " o'clock" in said:
        said = _O_CLOCK.sub(lambda found: f"at {_figure(found[1])}{':00' * sharp}", said)
    said = _HOUR_IN_WORDS.sub(lambda found: f"at {_figure(found[1])}", said)
    if not _FIGURE.search(said):
        return said
    if not sharp:
        said = _FULL_HOUR.sub(r"at \1", said)
    said = _OF_24.sub(_after_noon, said)
    said = _IN_THE.sub(_by_half_of_day, said)
    return _CLOCK.sub(lambda found: f"{found[1]}{found[2] or ''} {found[3].lower()}m", said)


def _figure(hour: str) -> str:
    return _HOURS.get(hour, hour)


def _half_or_quarter(found: re.Match[str]) -> str:
    return f"{_figure(found[2])}:{'30' if found[1] == 'half past' else '15'}"


def _after_noon(found: re.Match[str]) -> str:
    minutes = "" if found[2] == "00" else f":{found[2]}"
    return f"at {int(found[1]) - 12}{minutes} pm"


def _by_half_of_day(found: re.Match[str]) -> str:
    if found[3]:
        return f"at {found[1]}{found[2] or ''} am"
    return f"at {found[4]}{found[5] or ''} pm"
