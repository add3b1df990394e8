"""Units, currencies and number words, and the values of numbers."""

from __future__ import annotations

import re

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_SMALL_NUMBERS = {word: value for value, word in enumerate(_SMALL)}
_TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "trillion": 1_000_000_000_000,
}
NUMBER_WORDS = _SMALL_NUMBERS.keys() | _TENS.keys() | _SCALES.keys()
"""The words that spelled-out numbers are made of."""

_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
ORDINALS: dict[str, str] = {word: f"#{value}th" for value, word in enumerate(_ORDINALS, 1)}
"""Ordinals up to the twentieth, with their terms."""

ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
"""Endings that make the figures before them an ordinal."""

_UNITS = """
    km kilometer kilometre ; m meter metre ; cm centimeter centimetre ; mm millimeter millimetre
    ; mile mi ; yard yd ; foot feet ft ; inch inches ; kg kilogram kilo ; g gram gramme
    ; mg milligram ; pound lb ; ounce oz ; ton tonne ; liter litre l ; ml milliliter millilitre
    ; gallon ; second sec ; minute min ; hour hr h ; day ; week wk ; month ; year yr ; decade
    ; percent % pct ; dollar $ usd buck ; euro € eur ; £ gbp quid ; yen ¥ jpy ; ₹ inr rupee ; cent
    ; degree ° ; celsius ; fahrenheit ; mph ; kmh kph ; kb kilobyte ; mb megabyte ; gb gigabyte
    ; tb terabyte ; ms millisecond ; hz ; khz ; mhz ; ghz ; w watt ; kw ; kwh ; v volt
    ; calorie cal ; kcal ; k ; bn ; acre ; hectare ha
"""
UNITS: dict[str, str] = {
    form: "~" + line.split()[0]
    for line in _UNITS.split(";")
    for name in line.split()
    for form in (name, name + "s")
}
"""Spellings of units and currencies, with their terms; they count only beside a number."""

CURRENCY_SIGNS = frozenset("$€£¥₹")
"""Currency signs that stand before their number."""

_MOST_FIGURES = 30
"""Longer numbers count as identifiers, and are not multiplied by the words after them."""

DIGITS = re.compile(r"-?\d[\d,]*(?:\.\d+)?\Z")
"""A number in figures."""


def figure(words: list[str], at: int) -> tuple[str, int]:
    """The value of the figures at ``at`` with the scales after them, and its end."""
    value, after = _plain(words[at]), at + 1
    while after < len(words) and words[after] in _SCALES and len(value) < _MOST_FIGURES:
        value, after = _times(value, _SCALES[words[after]]), after + 1
    return value, after


def _plain(digits: str) -> str:
    digits = digits.replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _times(value: str, scale: int) -> str:
    whole, _, fraction = value.partition(".")
    scaled = int(whole + fraction) * scale
    digits = len(fraction)
    if not digits:
        return str(scaled)
    text = str(scaled).rjust(digits + 1, "0")
    return _plain(f"{text[:-digits]}.{text[-digits:]}")


def spelled(words: list[str], at: int) -> tuple[str, int]:
    """The value of the number spelled out from ``at`` on, and its end."""
    total = current = 0
    room = _SCALES["trillion"]
    while at < len(words):
        word = words[at]
        if word in _TENS and room > 10:
            current, room = current + _TENS[word], 10
        elif word in _SMALL_NUMBERS and _fits(_SMALL_NUMBERS[word], room):
            current, room = current + _SMALL_NUMBERS[word], 1
        elif word in _SCALES and current < 10**_MOST_FIGURES:
            current, room = max(current, 1) * _SCALES[word], _SCALES[word]
            if room >= 1_000:
                total, current = total + current, 0
        elif not _continues(words, at, room):
            break
        at += 1
    return str(total + current), at


def _fits(small: int, room: int) -> bool:
    return room > 10 or (room == 10 and 0 < small < 10)


def _continues(words: list[str], at: int, room: int) -> bool:
    after = words[at + 1] if at + 1 < len(words) else ""
    if words[at] == "and":
        return room >= 100 and after in NUMBER_WORDS
    return words[at] == "-" and room == 10 and 0 < _SMALL_NUMBERS.get(after, 0) < 10
