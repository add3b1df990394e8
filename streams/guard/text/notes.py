"""Notes that leave out their subject, written as sentences about an owner.

*Accountant: Bea Rao* is written as *Ada's accountant is Bea Rao*, *Allergic to nuts* as *Ada is
allergic to nuts*. Only for owners with names (docs/guard.md, Names).
"""

from __future__ import annotations

import re

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.frame_words import HEADINGS, NO_VALUE, VERBS
from palimpsest.streams.guard.data.name_words import (
    ALLERGENS,
    COATS,
    COUNTED,
    JOBS,
    LASTING,
    MEETINGS,
    PEOPLE,
    PETS,
    PLAIN,
    SKILLS,
    STATE_NOTES,
    THINGS,
    TIMES,
    TRADES,
)
from palimpsest.streams.guard.data.patterns import any_of
from palimpsest.streams.guard.text.plurals import may_be_plural

_LABEL = compile_later(r"([A-Za-z][a-zA-Zé\-]*(?: [a-zé\-]+){0,2}): (\S.*)")
_NO_LABEL = HEADINGS | NO_VALUE | VERBS | TIMES | en.ARTICLES | en.WEEKDAYS | en.POSSESSIVES
MOST_OF_A_VALUE = 7
"""Maximum number of words after a label; more are a text under a heading."""
_STATE = compile_later(rf"(?:{any_of(STATE_NOTES)})(?: .+)?", re.IGNORECASE)
_ALONE = compile_later(r"(?:lactose|gluten) intolerant|left-handed|right-handed|vegan|vegetarian")
_JOB = compile_later(
    rf"((?:[a-z]+ ){{0,2}}(?:{any_of(TRADES)}))(?:(?:,| at) ([A-Z][\w'\-]*(?: [A-Z][\w'\-]*)*))?"
)
_LANGUAGE = compile_later(r"[A-Z][a-z]+")
_PET = rf"(?P<pet>(?:(?:{any_of(COATS)}) )?(?:{any_of(PETS)}))"
_PET_FIRST = compile_later(rf"{_PET}, (?P<name>[A-Z][a-z]+)", re.IGNORECASE)
_NAME_FIRST = compile_later(rf"(?P<name>[A-Z][a-z]+), (?:an? )?{_PET}")
_OF_KIN = compile_later(
    rf"(?:{any_of(PEOPLE | {'boyfriend', 'girlfriend'})})(?: [A-Z][a-z]+)?"
    rf" (?:{any_of(PLAIN | {'is', 'works'})}) .+"
)
"""Small letters only: *Sister Mary is a nun* is not about a sister of the owner's."""
_OF_PAPERS = compile_later(rf"(?:{any_of(LASTING)}) (?:expires|runs out|is valid until) .+")
_OF_VALUE = compile_later(
    r"(blood type|blood group|shoe size) ((?:A|AB|B|O) [a-z]+|[0-9.]+)", re.IGNORECASE
)
_AILS = compile_later(rf"(?:{any_of(ALLERGENS)}) allergy|(?:lactose|gluten) intolerance")
_DOING = compile_later(
    rf"(?:currently )?(?:learning (?:[A-Z][a-z]+|to (?:{any_of(SKILLS)}))"
    r"|saving (?:up )?for an? [a-z ]+|training for an? (?:[a-z]+ )?(?:marathon|triathlon))"
)
_DID = compile_later(r"[Gg](?:raduated from|rew up in) [A-Z].*")
_YEAR = compile_later(r"(.+) \(((?:19|20)[0-9]{2})\)")
"""A make with its year: *Ford Fiesta (2012)* is a *2012 Ford Fiesta*."""
_NO_ALLERGEN = frozenset({"no", "none", "unknown", "not", "nothing"})
_ON_DAYS = compile_later(rf"(?:{any_of(map(str.capitalize, en.WEEKDAYS))})s\b.*")
_NOT = compile_later(r"(?:doesn't|does not) (?:drink|eat|smoke) .+")


def said_in_note(note: str) -> str | None:
    """What follows the subject that a note leaves out; None if it may not be such a note."""
    if ": " in note and (found := _LABEL.fullmatch(note)):
        return _of_label(found[1], found[2])
    low = note[:1].lower() + note[1:]
    if _ALONE.fullmatch(low):
        return f" is {low}"
    if _NOT.fullmatch(low):
        return f" {low}"
    if (stated := _without_colon(note, low)) is not None:
        return stated
    if not _STATE.fullmatch(low) or not VERBS.isdisjoint(low.split(" ")):
        return None
    return f" {'was' if low.startswith('born') else 'is'} {low}"


def _without_colon(note: str, low: str) -> str | None:
    """A note that says what somebody or something of the owner's is: *husband is a pilot*."""
    if _OF_KIN.fullmatch(note) or _OF_PAPERS.fullmatch(low):
        return f"'s {low}"
    if found := _OF_VALUE.fullmatch(low):
        return f"'s {found[1]} is {found[2]}"
    if _AILS.fullmatch(low):
        return f" has {_with_article(low) if low.endswith('allergy') else low}"
    if _DOING.fullmatch(low):
        return f" is {low.removeprefix('currently ')}"
    if _DID.fullmatch(note):
        return f" {low}"
    return _of_job(low) if " at " in low else None


def _of_label(label: str, value: str) -> str | None:
    first = label.partition(" ")[0]
    label = label if first.isupper() and len(first) > 1 else label[0].lower() + label[1:]
    words, said = label.casefold().split(" "), (value[0].lower() + value[1:]).split(" ")
    if not _NO_LABEL.isdisjoint({*words} - {"off"}) or len(said) > MOST_OF_A_VALUE:
        return None
    if not VERBS.isdisjoint(said) or not en.SUBJECTS.isdisjoint(said):
        return None
    if label in JOBS:
        return _of_job(value)
    if label == "languages":
        return _of_languages(value)
    if label in PETS | {"pet"}:
        return _of_pet(value)
    if ", " in value:
        return None
    if label in ("allergies", "allergy"):
        return f" is allergic to {value}" if said[0] not in _NO_ALLERGEN else None
    if words[-1] in THINGS and any(map(str.isalpha, value)):  # no number of a phone
        value = _with_article(_YEAR.sub(r"\2 \1", value))
    elif words[-1] in MEETINGS and _ON_DAYS.fullmatch(value):
        value = f"on {value}"
    several = may_be_plural(words[-1])
    if (several or words[-1] in COUNTED) and (value.isdecimal() or value.casefold() in en.NUMBERS):
        return f" has {value} {label}" if words[-1] in COUNTED else None  # not *are two*: an age
    return f"'s {label} {'are' if several else 'is'} {value}"


def _of_job(value: str) -> str | None:
    if not (found := _JOB.fullmatch(value)):
        return None
    trade, where = found.groups()
    return (
        f" works at {where} as {_with_article(trade)}" if where else f" is {_with_article(trade)}"
    )


def _of_languages(value: str) -> str | None:
    *first, last = value.replace(" and ", ", ").replace(",,", ",").split(", ")
    named = all(map(_LANGUAGE.fullmatch, (*first, last)))
    return f" speaks {', '.join(first)} and {last}" if first and named else None


def _of_pet(value: str) -> str | None:
    """*Ginger cat, Rex* and *Rex, ginger cat*; without a comma, *Dalmatian* may be a breed."""
    for found in (_PET_FIRST.fullmatch(value), _NAME_FIRST.fullmatch(value)):
        if found:
            return f" has {_with_article(found['pet'].lower())} called {found['name']}"
    return None


def _with_article(value: str) -> str:
    return (
        value
        if value.startswith(("a ", "an "))
        else f"{'an' if value[0] in 'aeiouAEIOU' else 'a'} {value}"
    )
