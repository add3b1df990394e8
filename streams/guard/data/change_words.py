"""English words that say that something is no longer as it was; they join nothing.

The guard's hash does not cover them: decisions record the candidates that were found by them.
"""

from __future__ import annotations

NOW_OTHERWISE = frozenset(
    (
        "now nowadays currently anymore instead recently lately formerly previously actually"
        " ex former originally since finally meanwhile eventually"
    ).split()
)
"""Adverbs that contrast the present with the past."""

CHANGED = frozenset(
    (
        "abandoned accepted adopted became began bought brought bumped cancelled canceled ceased"
        " changed chose chosen climbed converted corrected correction cut decreased delayed ditched"
        " divorced doubled downgraded dropped ended extended fell finished fired gained gave"
        " graduated halved hired increased joined left lost lowered merged migrated moved opted"
        " outgrew picked postponed promoted pushed qualified quit raised"
        " rebooked reduced relocated renamed replaced rescheduled resigned retired returned revised"
        " rose separated settled shifted shortened slipped sold split started stopped swapped"
        " switched traded transferred transitioned turned updated upgraded widowed"
        " becoming changing cutting joining leaving migrating moving quitting relocating replacing"
        " retiring selling starting stopping swapping switching"
    ).split()
)
"""Verbs of deeds that change something: past and progressive forms, none of the present."""

PHRASES = frozenset(
    tuple(phrase.split())
    for phrase in (
        "no longer/any more/any longer/these days/used to/as of/from now/until recently/gave up"
        "/given up/got a/got an/got another/got her/got his/got my/got their/got divorced"
        "/got engaged/got married/got promoted/got rid/went up/went down/went from/went back"
        "/went vegan/went vegetarian/gone up/gone down/grew to/up from/down from/down to/is back"
        "/am back/passed away/put back/turned out/rather than/has become/have become/has died"
        "/have died/has got/have got/has gotten/have gotten/has gone/have gone/has taken"
        "/have taken/took up/took over/has begun/have begun/has given/have given/has grown"
        "/have grown/ever since/went for/ended up/signed up/settled on/laid off/let go/back to"
        "/back on/turns out/is over/are over/is gone/are gone/was gone/broke up/scratch that"
        "/made redundant/had to/decided to/is off/not any/a second/a third/a fourth/a fifth"
        "/another one"
    ).split("/")
)
"""Pairs of words that together tell of a change."""

CONTRACTED = {"'s": ("is", "has"), "'ve": ("have",), "'m": ("am",), "'re": ("are",)}
"""The words that a contracted ending may stand for."""

PERFECT = frozenset({"has", "have", "i've", "just", "been"})
"""Words before a participle in -ed: something has been done."""

UP_TO = ("up", "to")
"""These words after a form of *be* say how many there are by now: *is up to nine*."""

IRREGULAR = {
    "children": "child",
    "people": "person",
    "women": "woman",
    "men": "man",
    "wives": "wife",
    "knives": "knife",
    "shelves": "shelf",
    "teeth": "tooth",
    "feet": "foot",
    "mice": "mouse",
    "geese": "goose",
}
"""Irregular plurals and their singulars: a change is often one of number."""

SINCE = (
    r"these days|nowadays|at the moment|at present|right now|from now on|for now|now"
    r"|(?:as of|since) [^\W\d]+"
)
"""Patterns for the time since which something holds, at the beginning or end of a text."""

LEADS_TO = {
    r"(?:(?:has|has just|just) )?(?:got|gotten|was|been) promoted to|(?:has )?became"
    r"|has become|has turned|turned(?= \d)": "is",
    r"(?:(?:has|has just|just) )?(?:moved|relocated)(?: house)? to(?= [A-Z])": "lives in",
    r"works for(?= [A-Z])|is employed (?:by|at)(?= [A-Z])|has a job at(?= [A-Z])": "works at",
    r"(?:(?:has|has just|just) )?(?:went|gone|rose|risen|grew|grown|increased|climbed|dropped"
    r"|fell|fallen|came|come)(?: up| down)? to(?= \S*\d)|is (?:up|down) to(?= \S*\d)": "is",
}
"""Patterns for what was done, with what holds afterwards."""
