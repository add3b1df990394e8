"""Puts two wordings of a fact about an owner into one: *has a fear of* into *is afraid of*.

Only for owners with names, and only for sentences that begin with one. The rest has to be
near-identical, as in any pair (docs/guard.md, Names).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.name_words import (
    AGENTS,
    ALLERGENS,
    ILLNESSES,
    PEOPLE,
    PETS,
    PLANNING,
    RELATED,
    ROLES,
)
from palimpsest.streams.guard.text.plurals import singular

ADDRESS = r"(?:Dr|Mr|Mrs|Ms|Prof)\b\.?"
"""A form of address, with the full stop of its abbreviation or without."""
NAME = rf"(?:{ADDRESS} )?[^\W\d_a-z][\w'\-]*(?: [^\W\d_a-z][\w\-]*){{0,2}}"
"""One to three words that begin with a capital."""

_MONTH = "|".join(sorted(month.capitalize() for month in {*en.MONTHS, "march", "may"}))
VALUE = rf"(?:[0-9]+|[0-9]{{1,2}} (?:{_MONTH})|(?:{_MONTH}) [0-9]{{1,2}})(?:,? [0-9]{{4}})?"
"""A number or a date."""


def any_of(words: Iterable[str]) -> str:
    """A pattern that one of some words matches."""
    return "|".join(map(re.escape, sorted(words)))


def reworded(said: str, who: str) -> str:
    """A sentence that begins with `who`, in the wording in which it is compared."""
    stop = "." if said.endswith(".") else ""
    rest = said.removeprefix(who).removesuffix(stop)
    for pattern, way in _WAYS.get(rest.strip().partition(" ")[0], ()):
        rest = pattern.sub(way, rest)
    return who + _by_favourite(_by_allergen(rest)) + stop


def _by_allergen(rest: str) -> str:
    found = _ALLERGY.fullmatch(rest)
    return f" is allergic to {ALLERGENS[found[1]]}" if found else rest


def _by_favourite(rest: str) -> str:
    found = _BEST.fullmatch(rest)
    return f"'s favourite {singular(found[2])} is {found[1]}" if found else rest


_ALLERGY = re.compile(rf" has an? ({any_of(ALLERGENS)}) allergy")
_BEST = re.compile(r" likes ([\w'\-]+(?: [\w'\-]+){0,2}) best of all ([a-z]+s)")
_OF_OWNERS = any_of((PEOPLE | RELATED | PETS) - ROLES)
_COUNT = f"(?:{any_of({'a', 'an', *en.NUMBERS})}|[0-9]+)"


def _ways(*ways: tuple[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"\A{pattern}\Z"), way) for pattern, way in ways]


_OWNS = (rf" owns ({_COUNT} (?:{any_of(PETS)}))", r" has \1")
_WAYS = {
    "'s": _ways(
        (rf"('s (?:{any_of(ROLES)}) is) (?:called|named) ({NAME})", r"\1 \2"),
        (rf"('s [a-z]+)'s name is ({NAME})", r"\1 is called \2"),
        (rf"('s home is) ({NAME})", r"\1 in \2"),
        (r"'s email address is (\S+@\S+)", r"'s email is \1"),
        (r"'s birthday is on (.+)", r"'s birthday is \1"),
        (rf"'s date of birth is ({VALUE})", r" was born on \1"),
    ),
    "has": _ways(
        (rf" has an? ({any_of(ROLES)}) (?:called|named) ({NAME})", r"'s \1 is \2"),
        (rf" has an? ({_OF_OWNERS}) named ({NAME})", r" has a \1 called \2"),
        (r" has an allergy to (.+)", r" is allergic to \1"),
        (r" has a fear of (.+)", r" is afraid of \1"),
    ),
    "is": _ways(
        (r" is an? (vegan|vegetarian)", r" is \1"),
        (rf" is employed by ({NAME})", r"'s employer is \1"),
        (r" is scared of (.+)", r" is afraid of \1"),
        *((rf" is {verb} to (.+)", rf" {simple} to \1") for verb, simple in PLANNING.items()),
        *((rf" is (?:a|an|the) {noun} (.+)", rf" {verb} \1") for noun, verb in AGENTS.items()),
        (r" is the owner of (.+)", r" owns \1"),
        _OWNS,
    ),
    "resides": _ways((rf" resides in ({NAME})", r" lives in \1")),
    "comes": _ways((rf" comes from ({NAME})", r" is from \1")),
    "suffers": _ways((rf" suffers from ({any_of(ILLNESSES)})", r" has \1")),
    "owns": _ways(_OWNS),
}
"""By the first word: patterns and what replaces them.

Each matches the whole sentence, so that nothing is left out."""
