"""Names that are also words: *Rose*, *Grace*, *Will*, *May* (docs/guard.md, Names).

*Grace is a virtue* says nothing about an owner called Grace, and *May's rent is 900 euros* nothing
about one called May. So such a name is exchanged only if a closed list of patterns shows that the
sentence can only be about a person.
"""

from __future__ import annotations

from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.guard.data import en
from palimpsest.streams.guard.data.name_words import (
    ADVERBS,
    ALLERGENS,
    BELONGINGS,
    DEEDS,
    FIRMS_TOO,
    GAMES,
    ILLNESSES,
    KEYS_AND_DRUMS,
    LIMITS,
    MEETINGS,
    PEOPLE,
    PETS,
    PLANS,
    PLANTS,
    PRACTISED,
    PRAISE,
    RELATED,
    ROLES,
    SUBJECTS,
    TASTES,
    THINGS,
    TIMES,
    TRADES,
    TRANSPORT,
    UNIQUE,
    WORDS,
)
from palimpsest.streams.guard.data.patterns import any_of

MOST_ADJECTIVES = 2
"""Maximum number of words between a possessive, or a number, and the word that shows a person."""


def is_also_a_word(name: str) -> bool:
    """Whether a name is on the closed list of names that are also words."""
    return name.casefold() in WORDS


def is_said_of_somebody(name: str, rest: str) -> bool:
    """Whether what follows a name that is also a word can only be said of a person."""
    low, said = name.casefold(), rest.rstrip(".")
    if said.startswith("'s "):
        return _is_had_by_somebody(low, said[3:].casefold().split(" "))
    words = said.removeprefix(" ").split(" ")
    while len(words) > 1 and words[0] in ADVERBS:
        words.pop(0)
    if words[0] in TASTES:
        return len(words) > 1 and low not in PLANTS
    clause = " ".join(words)
    if _OF_A_FIRM.match(clause) and low in FIRMS_TOO:
        return False
    if (low in LIMITS and _NUMBER.fullmatch(clause)) or not _PLURAL.isdisjoint(words[1:]):
        return False  # *May is 31*; *Charity works in Rome are free*
    return bool(_DOES.match(clause) or (low not in TIMES and _MEETS.match(clause)))


def _is_had_by_somebody(name: str, words: list[str]) -> bool:
    """Whether only a person has this: *dog*, *younger brother*, *favourite dish*."""
    owned = _OWNED if name in TIMES else _OWNED | PLANS
    for word in words[: MOST_ADJECTIVES + 1]:
        if word in owned:
            return True
        if word in ("favourite", "favorite"):
            return name not in PLANTS | TIMES
        if word in _NO_ADJECTIVE or not word.replace("-", "").isalpha():
            return False
    return False


_KIN = (
    PEOPLE | RELATED | ROLES | frozenset("brothers daughters grandma grandpa kids siblings".split())
)
_OWNED = _KIN | PETS | BELONGINGS | frozenset(words.partition(" ")[0] for words in UNIQUE)
_NO_ADJECTIVE = en.PREPOSITIONS | en.FINITE | en.CLAUSES
_PLURAL = frozenset({"are", "were"})
_NUMBER = compile_later(r"is [0-9]+")
_DAYS = "|".join(day.capitalize() for day in sorted(en.WEEKDAYS | en.MONTHS))
_NAME = rf"(?!(?:{_DAYS})\b)[A-Z]"
_PLACE = rf"(?:(?:the|an?) (?:[a-z\-]+ ){{1,3}}(?:at|in|of) )?(?:the )?{_NAME}"
_SOME = rf"(?:an?|no|(?:{any_of(en.NUMBERS)})|[0-9]+)"
_ADJECTIVES = rf"(?:[a-z\-]+ ){{0,{MOST_ADJECTIVES}}}"
_THEIR = "(?:her|his|their)"
_MEETS = compile_later(rf"has (?:an? )?{_ADJECTIVES}(?:{any_of(MEETINGS)})\b")
_IS = "|".join(
    (
        r"(?:lactose|gluten)[ \-]intolerant",
        r"allergic to",
        r"(?:afraid|scared) of",
        rf"(?:engaged|married) to {_NAME}",
        rf"based in {_PLACE}",
        r"[0-9]{1,3}\Z",
        r"[0-9]{1,3} years (?:old|of age)",
        r"(?:an? )?(?:vegan|vegetarian)\Z",
        rf"an? (?!(?:{any_of(PRAISE)})\b){_ADJECTIVES}(?:{any_of(TRADES)})\b",
        rf"(?:a|the) (?:graduate|student) (?:at|of) (?:the )?{_NAME}",
        rf"employed (?:at|by) {_NAME}",
        rf"fluent in {_NAME}",
        rf"(?:learning|studying) (?:{_NAME}|how to|to|the|(?:{any_of(SUBJECTS)})\b)",
        rf"(?:dating|reading) {_NAME}",
        rf"going to (?:the )?{_NAME}",
        r"getting married",
        r"saving (?:money |up )?for",
        r"(?:majoring|majored) in",
        r"on (?:an? )[a-z\-]+ diet",
        rf"(?:hoping|intending|planning) to (?:{any_of(DEEDS)})\b",
        r"taking an? (?:[a-z]+ ){0,2}(?:class|course)\b",
        r"training for (?:an?|the) (?:half[ \-])?(?:marathon|triathlon)",
    )
)
_DOSE = r"(?!(?:light|shade|sun|time|water)\b)[a-z]+"
_VERBS = (
    rf"is (?:currently )?(?:{_IS})",
    r"was born (?:in|on) ",
    rf"grew up in {_PLACE}",
    rf"(?:lives|lived|resides|moved|has moved) (?:in|to) {_PLACE}",
    rf"(?:lives|lived) with (?:{_NAME}|{_THEIR} (?:{any_of(_KIN)})\b)",
    rf"(?:works|worked) (?:as an? {_ADJECTIVES}(?:{any_of(TRADES)})\b|(?:at|for|in) {_PLACE})",
    r"works (?:from home|full[ \-]time|part[ \-]time|(?:day|night) shifts|nights)\b",
    rf"(?:studies|studied) (?:at (?:the )?{_NAME}|(?:{any_of(SUBJECTS)})\b|{_NAME})",
    rf"(?:graduated from|attends|attended) (?:the )?{_NAME}",
    r"(?:majored|majors) in",
    rf"has {_SOME} {_ADJECTIVES}(?:{any_of(_KIN | PETS)})\b",
    rf"has (?:{any_of(ILLNESSES)})\b",
    r"has (?:an allergy to|a fear of)",
    rf"has an? (?:{any_of(ALLERGENS)}) allergy",
    r"has (?:gluten|lactose) intolerance",
    r"has an? (?:degree in|driver's licen[cs]e)",
    rf"has an? (?:[0-9]+[a-z\-]* )?(?:{_NAME}[\w.\-]* )+(?:{any_of(THINGS)}|subscription)\b",
    r"has an? (?:Galaxy|Pixel|iPhone) [0-9S]",
    r"suffers from",
    rf"(?:speaks|can speak) {_NAME}[a-z]+",
    rf"plays (?:the )?(?:{any_of(en.INSTRUMENTS | GAMES | KEYS_AND_DRUMS)})\b",
    r"(?:drives|owns|rides) an? ",
    rf"uses an? (?:{_NAME}[\w.\-]* )+(?:{any_of(THINGS)})\b",
    rf"subscribes to {_NAME}|banks with {_NAME}|works out\b",
    r"wears (?:a )?(?:braces|contact lenses|contacts|glasses|hearing aids|size)\b",
    r"(?:doesn't|does not|never) (?:drink|drive|eat|like|smoke|speak|swim)s?\b",
    rf"(?:hopes|intends|plans|wants|would like|is hoping) to (?:{any_of(DEEDS)})\b",
    rf"takes (?:the )?(?:{any_of(TRANSPORT)})\b",
    r"takes (?:an? )?(?:[a-z]+ )*(?:class|course|lessons)\b",
    rf"takes {_DOSE} (?:every (?:evening|morning|night|day)|daily)\b",
    rf"(?:calls|phones|visits) {_THEIR} (?:{any_of(_KIN)})\b",
    r"(?:gets|wakes) up\b|volunteers (?:at|for|in|with)\b|commutes\b",
    r"goes (?:camping|climbing|cycling|dancing|fishing|hiking|jogging|running|sailing|swimming)\b",
    r"goes to (?:bed|church|school|the (?:dentist|gym|library)|work)\b",
    r"(?:bakes|cycles|exercises|gardens|jogs|knits|naps|smokes|swims|vapes)\b",
    r"sings (?:alto|bass|soprano|tenor|in an? (?:[a-z]+ )?(?:band|choir))\b",
    rf"(?:practices|practises|does) (?:{any_of(PRACTISED)})\b",
    r"(?:earns|owes|pays|weighs) [$£€]?[0-9][0-9.,]*(?![0-9.,]| ?%| percent)",
    rf"(?:married|met) (?:{_NAME}|{_THEIR} (?:{any_of(_KIN)})\b)",
    rf"(?:broke|sprained|tore) {_THEIR} ",
    rf"(?:bought|purchased|adopted) an? {_ADJECTIVES}(?:{any_of(PETS | THINGS)})\b",
)
_OF_A_FIRM = compile_later(
    r"(?:is (?:based|employed|going|hoping|intending|planning|saving)|was born|hopes|intends|lives"
    r"|moved|owns|plans|plays|rides|suffers|wants|works|would) "
)
"""What is said of firms as well: *Chase plans to buy a bank*."""
_DOES = compile_later("|".join(f"(?:{verb})" for verb in _VERBS))
