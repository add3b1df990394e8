"""Sentences about an owner that begin with something else, turned so that the owner comes first.

*Paris is where Ada lives* becomes *Ada lives in Paris*. For owners with names: the turned sentence
is read like any other that begins with a name (docs/guard.md, Names).
"""

from __future__ import annotations

import re
from functools import lru_cache

from palimpsest.contracts.names import SPEAKER
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.name_words import (
    AT_HOME,
    COMMON,
    DOING,
    FEARS,
    LARGEST,
    MEALS,
    MEETINGS,
    NOT_CALLED,
    PEOPLE,
    PETS,
    PRONOUNS,
    RELATED,
    ROLES,
    THIRD,
    UNIQUE,
)
from palimpsest.streams.guard.data.patterns import any_of
from palimpsest.streams.guard.reworded import NAME, VALUE

_PLACE = rf"{NAME}(?:, {NAME})?"
_WEEKDAY = "|".join(day.capitalize() for day in sorted(en.WEEKDAYS))
_MONTH = "|".join(month.capitalize() for month in sorted(en.MONTHS))
_SEASON = "autumn|spring|summer|winter"
_TIME = (
    rf"[Oo]n (?:(?:{_WEEKDAY})s?(?: and (?:{_WEEKDAY})s?)?|weekends|weekdays"
    rf"|(?:{_WEEKDAY}|weekday|weekend) (?:{any_of(en.DAYTIMES)})s?)"
    rf"|[Ii]n (?:{_MONTH}|1[5-9]\d\d|20\d\d|{_SEASON}|college|school)"
    rf"|[Ff]or (?:{any_of(MEALS)})|[Aa]t (?:church|home|night|school|work)"
    rf"|[Ii]n the (?:{'|'.join(sorted(en.DAYTIMES))})s?"
    r"|[Aa]t [0-9]{1,2}(?::[0-9]{2})? ?[AaPp][Mm]"
    r"|(?:[Oo]nce|[Tt]wice|[Tt]hree times|[Ff]our times|[Ff]ive times) an? (?:day|week|month|year)"
    rf"|[Ee]very (?:{'|'.join([*sorted(en.DAYTIMES), 'day', 'week', 'weekend', 'month', 'year'])}"
    rf"|night|{_MONTH}|{_SEASON}|(?:{_WEEKDAY})(?: and (?:{_WEEKDAY})| (?:{any_of(en.DAYTIMES)}))?)"
    r"|[Aa]t weekends"
)
_TIMES = tuple(
    begins
    for word in "On In Every At For Once Twice Three Four Five".split()
    for begins in (f"{word} ", f"{word.lower()} ")
)
"""How `_TIME` begins."""
_WORD = re.compile(r"[^\W\d_]+(?:['\-][^\W\d_]+)*|[0-9]+")
_GOES = re.compile(rf"(?:am|is) (?:flying|going|moving|travell?ing) to {NAME}")
_EATS = re.compile(r"(?:eats?|has|have) (?:an? )?[a-z]+(?: [a-z]+)?")
_SCARY = any_of(fear[0].upper() + fear[1:] for fear in FEARS)
MOST_WORDS = 5
"""Maximum number of words of a clause before a time; in a longer one the time is ambiguous."""


def turned(text: str, names: tuple[str, ...]) -> str | None:
    """The equivalent sentence with one of the names first; None if there is none, or in doubt."""
    if not (" is " in text or " scare" in text or " frighten" in text or text.startswith(_TIMES)):
        return None  # the usual case: no pattern can match
    where, home, role, kin, called, birthplace, time, favourite, scared = _patterns(names)
    if found := where.fullmatch(text):
        place, who, does, stop = found.groups()
        return f"{capitalised(who)} {does} in {place}{stop}"
    if found := home.fullmatch(text):
        place, who, stop = found.groups()
        return f"{capitalised(who)} lives in {place}{stop}"
    if found := called.fullmatch(text):
        name, what, stop = found.groups()
        return f"{capitalised(what)} is called {name}{stop}"
    if found := role.fullmatch(text):
        name, whose, what, stop = found.groups()
        if name in NOT_CALLED and what.rpartition(" ")[2] in RELATED | ROLES:
            return f"{capitalised(whose)} {what} is called {name}{stop}"
        if what.startswith("favo") and what.partition(" ")[2] in COMMON and name[1:].islower():
            name = name.lower()
        return f"{capitalised(whose)} {what} is {name}{stop}"
    if " favo" in text and (found := favourite.fullmatch(text)):
        name, whose, what, stop = found.groups()
        return f"{capitalised(whose)} {what} is {name.lower()}{stop}"
    if (found := kin.fullmatch(text)) and _NO_NAME.isdisjoint(found[1].casefold().split()):
        name, whose, what, stop = found.groups()
        who = _subject(whose)
        has = "have" if who == SPEAKER else "has"
        return f"{capitalised(who)} {has} a {what} called {name}{stop}"
    if found := scared.fullmatch(text):
        what, who, stop = found.groups()
        who, is_ = (SPEAKER, "am") if who == "me" else (who, "is")
        return f"{capitalised(who)} {is_} afraid of {what[0].lower()}{what[1:]}{stop}"
    if found := birthplace.fullmatch(text):
        before, one, other, after, stop = found.groups()
        who = _subject(one or other)
        return f"{capitalised(who)} was born in {before or after}{stop}"
    if (found := time.fullmatch(text)) and (
        _is_one_deed(found[3])
        or _GOES.fullmatch(found[3])
        or (found[1].startswith(("For ", "for ")) and _EATS.fullmatch(found[3]))
    ):
        when, who, does, stop = found.groups()
        return f"{capitalised(who)} {does} {when[0].lower()}{when[1:]}{stop}"
    return None


@lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    subjects = [name for name in names if name != SPEAKER]
    owns = "|".join(
        [*(re.escape(n) + "'s" for n in subjects), *(["my"] if SPEAKER in names else [])]
    )
    begins = "|".join(
        [re.escape(capitalised(n)) + "'s" for n in subjects] + (["My"] if SPEAKER in names else [])
    )
    who = "|".join(map(re.escape, names))
    afraid = [*map(re.escape, subjects), *(["me"] if SPEAKER in names else [])]
    theirs = rf"(?:{owns}) (?:{any_of(PEOPLE)})(?: {NAME})?"
    return (
        re.compile(rf"({_PLACE}) is where ({who}|{theirs}) ({any_of(AT_HOME)})(\.?)"),
        re.compile(rf"({_PLACE}) is home to ({theirs})(\.?)"),
        re.compile(
            rf"({NAME}|{VALUE}) is ({owns})"
            rf" ({any_of(ROLES | UNIQUE)}|favou?rite (?:TV )?[a-z]+"
            rf"|(?:{any_of(LARGEST)}) [a-z]+(?: [a-z]+)?)(\.?)"
        ),
        re.compile(rf"({NAME}) is ({owns}) ({any_of((PEOPLE | RELATED | PETS) - ROLES)})(\.?)"),
        re.compile(rf"({NAME}) is the name of ((?:{owns}) [a-z]+)(\.?)"),
        re.compile(rf"(?:({NAME}) is ({owns}) birthplace|({begins}) birthplace is ({NAME}))(\.?)"),
        re.compile(rf"({_TIME}),? ({who}) (.+?)(\.?)"),
        re.compile(
            rf"([A-Z][a-z]+(?: [a-z]+){{1,2}}) is ({owns}) (favou?rite (?:{any_of(COMMON)}))(\.?)"
        ),
        re.compile(rf"({_SCARY}) (?:scare|frighten)s? ({'|'.join(afraid)})(\.?)"),
    )


def _subject(owner: str) -> str:
    return SPEAKER if owner in ("my", "My") else owner.removesuffix("'s")


def _is_one_deed(clause: str) -> bool:
    """Whether a clause has only one verb of doing and its object or place.

    Then it has no second verb or other phrase that a time after the clause could belong to.
    """
    words = clause.split(" ")
    lows = [word.casefold() for word in words]
    verb, others = lows[0], lows[1:]
    if not all(map(_WORD.fullmatch, words)) or len(words) > MOST_WORDS:
        return False
    meets = THIRD.get(verb, verb) == "has" and lows[-1] in MEETINGS and "to" not in lows
    if not (meets or THIRD.get(verb, verb) in DOING):
        return False
    if others and others[-1] in en.PARTICLES | {"to"}:
        return False
    if not _MORE.isdisjoint(others) or lows[-1] in en.PREPOSITIONS:
        return False
    phrases = [at for at, low in enumerate(lows) if low in en.PREPOSITIONS]
    return not phrases or (phrases == [1] and lows[1] in en.PLACING | {"to"})


_NO_NAME = PRONOUNS | en.SUBJECTS | en.QUANTIFIERS | en.NEGATORS | en.DETERMINERS
_NO_NAME |= {"who", "somebody", "someone"}
_MORE = en.FINITE | en.CLAUSES | en.NEGATORS | en.QUANTIFIERS | en.MORE | {"about"}


def capitalised(text: str) -> str:
    """A text that begins with a capital."""
    return text[:1].upper() + text[1:]
