"""Sentences about an owner that begin with something else, turned so that the owner comes first.

*Paris is where Ada lives* becomes *Ada lives in Paris*. For owners with names: the turned sentence
is read like any other that begins with a name (docs/guard.md, Names).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from palimpsest.contracts.names import SPEAKER
from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.name_words import (
    ANIMATE,
    AT_HOME,
    BELONGINGS,
    COMMON,
    DEPICTING,
    DOING,
    FEARS,
    IDIOMS,
    LARGEST,
    LIVING,
    MEALS,
    MEETINGS,
    PASSIVES,
    PEOPLE,
    PETS,
    PRONOUNS,
    PURPOSES,
    RELATED,
    ROLES,
    SERVICES,
    TELLING,
    THINGS,
    THIRD,
    UNIQUE,
    USING,
)
from palimpsest.streams.guard.data.patterns import any_of
from palimpsest.streams.guard.reworded import DESCRIPTION, MAKE, NAME, VALUE
from palimpsest.streams.guard.text.plurals import singular
from palimpsest.streams.guard.text.verbs import may_be_participle
from palimpsest.streams.guard.written import MONTH

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
_WORD = compile_later(r"[^\W\d_]+(?:['\-][^\W\d_]+)*|[0-9]+")
_GOES = compile_later(rf"(?:am|is) (?:flying|going|moving|travell?ing) to {NAME}")
_EATS = compile_later(
    r"(?:bakes?|cooks?|drinks?|eats?|has|have|makes?|meets?|prefers?|takes?)"
    r" (?:an? )?[A-Za-z]+(?: [a-z]+)?"
)
_PREFERS = compile_later(r"prefers? ")
_PLACES = ("at church", "at home", "at school", "at work", "in college", "in school")
_DESCRIPTION = compile_later(DESCRIPTION)
_FRIGHTENING = tuple(fear[0].upper() + fear[1:] for fear in FEARS)
MOST_WORDS = 5
"""Maximum number of words of a clause before a time; in a longer one the time is ambiguous."""


def turned(text: str, names: tuple[str, ...]) -> str | None:
    """The equivalent sentence with one of the names first; None if there is none, or in doubt."""
    if (named := _named_in_apposition(text, names)) is not None:
        return named
    if (acted := _acted_on(text, names)) is not None:
        return acted
    if " by " in text and (found := _handed_in(names).fullmatch(text)):
        who, whose, what, when = found.groups()
        if (who == SPEAKER) != (whose == "my"):
            return None
        owner = "My" if who == SPEAKER else f"{capitalised(who)}'s"
        return f"{owner} {what} is due on {when}"
    if text.startswith(_COMMANDS) and (asked := _asked_for(text, names)) is not None:
        return asked
    if text.startswith(_FRONTS) and (fronted := _fronted(text, names)) is not None:
        return fronted
    if not (" is " in text or " scare" in text or " frighten" in text or text.startswith(_TIMES)):
        return None  # the usual case: no pattern can match
    patterns = _patterns(names)
    is_whose = any(map(text.__contains__, _is_whose(names)))
    return (
        _with_its_beginning_last(text, patterns)
        or (_with_a_name(text, patterns) if is_whose else None)
        or _with_another_beginning(text, patterns)
        or (_with_its_owner_first(text, names) if is_whose else None)
    )


def _with_its_beginning_last(text: str, patterns: _Patterns) -> str | None:
    """A text that begins with where the owner is or does something, or with a name, turned."""
    if " is where " in text and (found := patterns.where.fullmatch(text)):
        place, who, does, stop = found.groups()
        return f"{capitalised(who)} {does} in {place}{stop}"
    if " is home to " in text and (found := patterns.home.fullmatch(text)):
        place, who, stop = found.groups()
        return f"{capitalised(who)} lives in {place}{stop}"
    if " is the name of " in text and (found := patterns.called.fullmatch(text)):
        name, what, stop = found.groups()
        return f"{capitalised(what)} is called {name}{stop}"
    return None


def _with_a_name(text: str, patterns: _Patterns) -> str | None:
    """What somebody of the owner's is called, or what a favourite of theirs is, turned."""
    if (found := patterns.role.fullmatch(text)) and found[1].casefold() not in _NO_NAME:
        name, whose, what, stop = found.groups()
        if _DESCRIPTION.fullmatch(name) and what.rpartition(" ")[2] in RELATED | ROLES:
            return f"{capitalised(whose)} {what} is called {name}{stop}"
        if what.startswith("favo") and what.partition(" ")[2] in COMMON and name[1:].islower():
            name = name.lower()
        return f"{capitalised(whose)} {what} is {name}{stop}"
    if found := patterns.favourite.fullmatch(text):
        name, whose, what, stop = found.groups()
        return f"{capitalised(whose)} {what} is {name.lower()}{stop}"
    if (found := patterns.kin.fullmatch(text)) and _NO_NAME.isdisjoint(found[1].casefold().split()):
        name, whose, what, stop = found.groups()
        who = _subject(whose)
        has = "have" if who == SPEAKER else "has"
        article = "an" if what[0] in "aeiou" else "a"
        return f"{capitalised(who)} {has} {article} {what} called {name}{stop}"
    return None


def _with_another_beginning(text: str, patterns: _Patterns) -> str | None:
    """A text that begins with what the owner fears, a birthplace or a time, turned."""
    if text.startswith(_FRIGHTENING) and (found := patterns.scared.fullmatch(text)):
        what, who, stop = found.groups()
        who, is_ = (SPEAKER, "am") if who == "me" else (who, "is")
        return f"{capitalised(who)} {is_} afraid of {what[0].lower()}{what[1:]}{stop}"
    if " birthplace" in text and (found := patterns.birthplace.fullmatch(text)):
        before, one, other, after, stop = found.groups()
        who = _subject(one or other)
        return f"{capitalised(who)} was born in {before or after}{stop}"
    if text.startswith(_TIMES) and (found := patterns.time.fullmatch(text)):
        when, who, does, stop = found.groups()
        if _may_end(when.lower(), does):
            return f"{capitalised(who)} {does} {when[0].lower()}{when[1:]}{stop}"
    return None


def _named_in_apposition(text: str, names: tuple[str, ...]) -> str | None:
    """A text about somebody of the owner's, without the commas around a name.

    *Mia, Ada's daughter, swims* and *Ada's daughter, Mia, swims* become *Ada's daughter Mia swims*.
    """
    if text.count(", ") < 2 and not text.startswith("The "):
        return None  # the usual case
    for pattern in _appositions(names):
        if found := pattern.fullmatch(text):
            said = found.groupdict()
            if said["name"].casefold() in _NO_NAME or not _begins_with_a_verb(said["does"]):
                return None
            return f"{capitalised(said['whose'])} {said['kin']} {said['name']} {said['does']}"
    if found := _of_owner(names).fullmatch(text):
        what, who, rest = found.groups()
        return f"{capitalised(who)}'s {what} is {rest}"
    if found := _name_of(names).fullmatch(text):
        what, name = found.groups()
        return f"{capitalised(what)} is called {name}"
    return None


def _begins_with_a_verb(clause: str) -> bool:
    verb = clause.partition(" ")[0].removesuffix(".")
    return verb in en.FINITE or verb in THIRD.values()


def _acted_on(text: str, names: tuple[str, ...]) -> str | None:
    """A text that says what somebody does for the owner, or what is done by the owner, turned.

    *Bea supervises me* becomes *I am supervised by Bea*, and *Two juniors are mentored by Ada*
    becomes *Ada mentors two juniors*.
    """
    if not text.endswith(_ends(names)):
        return None  # the usual case
    by_others, by_owner = _acts(names)
    if found := by_others.fullmatch(text):
        name, verb, who, stop = found.groups()
        if not _NO_NAME.isdisjoint(name.casefold().split()):
            return None
        subject = f"{SPEAKER} am" if who == "me" else f"{capitalised(who)} is"
        return f"{subject} {PASSIVES[verb]} by {name}{stop}"
    if found := by_owner.fullmatch(text):
        what, done, who, stop = found.groups()
        words = what.split(" ")
        if not _NO_OBJECT.isdisjoint(map(str.casefold, words)):
            return None
        if words[0][1:].islower() and len(words) > 1:
            what = what[0].lower() + what[1:]
        return f"{capitalised(who)} {_ACTIVE[done]} {what}{stop}"
    return None


def _asked_for(text: str, names: tuple[str, ...]) -> str | None:
    """A request about the owner as what the owner wants or has; a price as what the owner charges.

    *Reply to Ada in Dutch*, *Call me on 555 0101*, *A lesson with Ada costs 40 euros*.
    """
    reply, reach, price = _requests(names)
    if found := reply.fullmatch(text):
        who, language, stop = found.groups()
        subject = f"{SPEAKER} want" if who == "me" else f"{capitalised(who)} wants"
        return f"{subject} replies in {language}{stop}"
    if found := reach.fullmatch(text):
        who, where, stop = found.groups()
        subject = SPEAKER if who == "me" else capitalised(who)
        return f"{subject} can be reached at {where}{stop}"
    if found := price.fullmatch(text):
        article, what, who, amount, stop = found.groups()
        subject = f"{SPEAKER} charge" if who == "me" else f"{capitalised(who)} charges"
        return f"{subject} {amount} for {article.lower()} {what}{stop}"
    return None


def _fronted(text: str, names: tuple[str, ...]) -> str | None:
    """*For navigation Ada uses Waze* as *Ada uses Waze for navigation*; no idiom, one verb."""
    found = _front(names).fullmatch(text)
    if not found or _TIME_FIRST.match(text):
        return None
    front, who, does, stop = found.groups()
    verb, *others = does.casefold().split(" ")
    one_deed = THIRD.get(verb, verb) in USING and 0 < len(others) < MOST_WORDS
    if front.casefold() in IDIOMS or not one_deed or not _NO_FRONT.isdisjoint(others):
        return None
    if does.split(" ")[1].islower() and _may_describe(front.casefold(), THIRD.get(verb, verb)):
        return None
    return f"{capitalised(who)} {does} {front[0].lower()}{front[1:]}{stop}"


def _may_describe(front: str, verb: str) -> bool:
    """Whether a phrase may belong to an object that it follows: *shampoo for dogs*."""
    last = front.rpartition(" ")[2]
    living = not (LIVING | ANIMATE).isdisjoint({last, singular(last)})
    return front not in PURPOSES and (
        verb in DEPICTING
        or (verb in TELLING and front.startswith(("for ", "on ")))
        or (living and front.startswith("for "))
    )


def _with_its_owner_first(text: str, names: tuple[str, ...]) -> str | None:
    """*A ThinkPad is my laptop* as *My laptop is a ThinkPad*.

    *Bea is my vet* becomes *I have Bea as a vet*, which does not say that there is no other.
    """
    make, number, day, role = _owned(names)
    if found := make.fullmatch(text):
        article, what, whose, thing, stop = found.groups()
        return f"{capitalised(whose)} {thing} is {article.lower()} {what}{stop}"
    if found := number.fullmatch(text):
        value, whose, what, stop = found.groups()
        return f"{capitalised(whose)} {what} is {value}{stop}"
    if found := day.fullmatch(text):
        name, whose, what, stop = found.groups()
        return f"{capitalised(whose)} {what} is {name}{stop}"
    if (found := role.fullmatch(text)) and _NO_NAME.isdisjoint(found[1].casefold().split()):
        name, whose, what, stop = found.groups()
        who = _subject(whose)
        return f"{capitalised(who)} {'have' if who == SPEAKER else 'has'} {name} as a {what}{stop}"
    return None


@lru_cache(maxsize=64)
def _appositions(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    owns, kin = _possessives(names), any_of(PEOPLE | RELATED | ROLES | PETS)
    name, does = rf"(?P<name>{NAME})", r"(?P<does>[^,]+(?:, [0-9]{4}\.?)?)"
    return (
        re.compile(rf"{name}, (?P<whose>{owns}) (?P<kin>{kin}), {does}"),
        re.compile(rf"(?P<whose>{owns}) (?P<kin>{kin}), {name}, {does}"),
    )


@lru_cache(maxsize=64)
def _of_owner(names: tuple[str, ...]) -> re.Pattern[str]:
    who = any_of(name for name in names if name != SPEAKER)
    what = any_of(ROLES | PEOPLE | UNIQUE | BELONGINGS | {"phone number", "rent"})
    return re.compile(rf"The ({what}) of ({who}) is ([^,]+)")


@lru_cache(maxsize=64)
def _name_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"The name of ((?:{_possessives(names)}) [a-z]+) is ({NAME}\.?)")


@lru_cache(maxsize=64)
def _acts(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    who = any_of(name for name in names if name != SPEAKER)
    me = f"{who}|me" if SPEAKER in names else who
    done = any_of(PASSIVES.values())
    return (
        re.compile(rf"({NAME}) ({any_of(PASSIVES)}) ({me})(\.?)"),
        re.compile(rf"([^,;:?!.]+) (?:is|are) ({done}) by ({who})(\.?)"),
    )


@lru_cache(maxsize=64)
def _handed_in(names: tuple[str, ...]) -> re.Pattern[str]:
    """*I have to hand in my thesis by 3 May*, but not *the user has to*: nobody in particular."""
    own = [name for name in names if name.casefold() not in ("user", "the user")]
    return re.compile(
        rf"({any_of(own)}) (?:has to|have to|must) (?:file|hand in|submit|turn in)"
        rf" (his|her|my|their) ((?:[a-z]+ ){{0,2}}[a-z]+) by ([^,]*(?:{MONTH})\b.*)"
    )


@lru_cache(maxsize=64)
def _requests(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    who = any_of([*(name for name in names if name != SPEAKER), "me"])
    where = r"(\S+@[^\s.]+(?:\.[^\s.]+)*|\+?[0-9][0-9 \-]{4,}[0-9])"
    return (
        re.compile(rf"(?:Please )?[Rr]eply to ({who}) in ([A-Z][a-z]+)(\.?)"),
        re.compile(
            rf"(?:Call|Email|Phone|Ring|Write to|You can (?:call|email|phone|reach)) ({who})"
            rf" (?:at|on) {where}(\.?)"
        ),
        re.compile(
            rf"(An?) ((?:[a-z\-]+ ){{0,2}}(?:{any_of(SERVICES)})) (?:by|with) ({who})"
            r" (?:costs|is) ([$€£][0-9.,]*[0-9]|[0-9][0-9.,]* (?:dollars|euros|pounds))(\.?)"
        ),
    )


@lru_cache(maxsize=64)
def _front(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        rf"((?:Against|At|During|For|In|On|While|With|Without) (?:[a-z\-]+ ){{0,2}}[a-z\-]+),?"
        rf" ({any_of(names)}) ([^,;:?!]+?)(\.?)"
    )


@lru_cache(maxsize=64)
def _ends(names: tuple[str, ...]) -> tuple[str, ...]:
    """How a sentence ends whose object is the owner."""
    objects = [*(name for name in names if name != SPEAKER), "me"]
    return tuple(f" {name}{stop}" for name in objects for stop in ("", "."))


@lru_cache(maxsize=64)
def _owned(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    owns = _possessives(names)
    return (
        re.compile(rf"(An?) ({MAKE}) is ({owns}) ({any_of(THINGS)})(\.?)"),
        re.compile(
            rf"(\+?[0-9][\w.\-]*(?: [\w\-]+){{0,4}}|\S+@\S+) is ({owns})"
            rf" ([a-z]+(?: [a-z]+){{0,2}})(\.?)"
        ),
        re.compile(rf"({_WEEKDAY}) is ({owns}) (day off|[a-z]+ day)(\.?)"),
        re.compile(rf"({NAME}) is ({owns}) ([a-z\-]+(?: [a-z\-]+)?)(\.?)"),
    )


def _possessives(names: tuple[str, ...]) -> str:
    """A pattern of the owner's possessives, at the beginning of a sentence or inside it."""
    subjects = (name for name in names if name != SPEAKER)
    written = {part for name in subjects for part in (f"{name}'s", f"{capitalised(name)}'s")}
    return any_of(written | ({"my", "My"} if SPEAKER in names else set()))


class _Patterns(NamedTuple):
    """Patterns of an owner's sentences that begin with something else, by what they state."""

    where: re.Pattern[str]
    home: re.Pattern[str]
    role: re.Pattern[str]
    kin: re.Pattern[str]
    called: re.Pattern[str]
    birthplace: re.Pattern[str]
    time: re.Pattern[str]
    favourite: re.Pattern[str]
    scared: re.Pattern[str]


@lru_cache(maxsize=64)
def _is_whose(names: tuple[str, ...]) -> tuple[str, ...]:
    """What a text contains that says what something of the owner's is: *is my*, *is Ada's*."""
    subjects = (name for name in names if name != SPEAKER)
    whose = (part for name in subjects for part in (f"{name}'s", f"{capitalised(name)}'s"))
    speakers = ("my", "My") if SPEAKER in names else ()
    return tuple(f" is {each} " for each in dict.fromkeys((*whose, *speakers)))


@lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> _Patterns:
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
    return _Patterns(
        re.compile(rf"({_PLACE}) is where ({who}|{theirs}) ({any_of(AT_HOME)})(\.?)"),
        re.compile(rf"({_PLACE}) is home to ({theirs})(\.?)"),
        re.compile(
            rf"({NAME}|{VALUE}) is ({owns})"
            rf" ({any_of(ROLES | UNIQUE)}|favou?rite (?:TV )?[a-z]+"
            rf"|(?:{any_of(LARGEST)}) [a-z]+(?: [a-z]+)?)(\.?)"
        ),
        re.compile(
            rf"({NAME}) is ({owns})"
            rf" ({any_of((PEOPLE | RELATED) - ROLES)}|(?:[a-z]+ ){{0,2}}(?:{any_of(PETS)}))(\.?)"
        ),
        re.compile(rf"({NAME}) is the name of ((?:{owns}) [a-z]+)(\.?)"),
        re.compile(rf"(?:({NAME}) is ({owns}) birthplace|({begins}) birthplace is ({NAME}))(\.?)"),
        re.compile(rf"({_TIME}),? ({who}) (.+?)(\.?)"),
        re.compile(
            rf"([A-Z][a-z]+(?: [a-z]+){{1,2}}) is ({owns}) (favou?rite (?:{any_of(COMMON)}))(\.?)"
        ),
        re.compile(rf"({any_of(_FRIGHTENING)}) (?:scare|frighten)s? ({'|'.join(afraid)})(\.?)"),
    )


def _subject(owner: str) -> str:
    return SPEAKER if owner in ("my", "My") else owner.removesuffix("'s")


def _may_end(when: str, clause: str) -> bool:
    """Whether a time before a clause could as well stand behind it."""
    if when.startswith("for "):
        return bool(_EATS.fullmatch(clause))
    if clause.startswith("left ") and when.startswith(_PLACES):
        return False  # *left Bob at home*
    verb, _, what = clause.partition(" ")
    if verb in DEPICTING and what and when.startswith(("at ", "in ")):
        return False  # *paints fields in winter*
    if _PREFERS.match(clause) and (when.startswith(_PLACES) or clause.endswith("ing")):
        return False  # *prefers driving at night*
    return _is_one_deed(clause) or bool(_GOES.fullmatch(clause))


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
    if (
        not _MORE.isdisjoint(others)
        or any(map(may_be_participle, others))
        or lows[-1] in en.PREPOSITIONS
    ):
        return False
    phrases = [at for at, low in enumerate(lows) if low in en.PREPOSITIONS]
    return not phrases or (phrases == [1] and lows[1] in en.PLACING | {"to"})


_NO_NAME = PRONOUNS | en.SUBJECTS | en.QUANTIFIERS | en.NEGATORS | en.DETERMINERS
_NO_NAME |= {"who", "what", "somebody", "someone", "everybody", "everyone", "nobody"}
_NO_OBJECT = PRONOUNS | en.QUANTIFIERS | en.NEGATORS | en.CLAUSES | {"there", "this", "that"}
_ACTIVE = {done: verb for verb, done in PASSIVES.items()}
_NO_FRONT = en.PREPOSITIONS | en.FINITE | en.CLAUSES | en.NEGATORS | en.QUANTIFIERS | en.PARTICLES
_TIME_FIRST = compile_later(rf"(?:{_TIME})\b")
_COMMANDS = (
    "A ",
    "An ",
    "Call ",
    "Email ",
    "Phone ",
    "Please ",
    "Reply ",
    "Ring ",
    "Write ",
    "You ",
)
_FRONTS = ("Against ", "At ", "During ", "For ", "In ", "On ", "While ", "With ", "Without ")
_MORE = en.FINITE | en.CLAUSES | en.NEGATORS | en.QUANTIFIERS | en.MORE | {"about"}


def capitalised(text: str) -> str:
    """A text that begins with a capital."""
    return text[:1].upper() + text[1:]
