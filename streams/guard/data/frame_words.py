"""Words, mostly English, that distinguish a frame from other differences; they join nothing.

The guard's hash does not cover them: decisions record the candidates that were found by them.
"""

from __future__ import annotations

from palimpsest.streams.guard.data import cue_words, en

NOW = frozenset(
    "now currently presently nowadays jetzt inzwischen mittlerweile derzeit momentan maintenant"
    " désormais dorénavant actuellement ahora actualmente".split()
)
"""Words that only say that the rest is true now: updates often have one, old texts do not."""

BINDING = (cue_words.PREPOSITIONS | en.PREPOSITIONS | en.CLAUSES | {"to", "if"}) - {"of", "like"}
"""Prepositions and conjunctions: within a value they are a second difference (*in May / at noon*).

*Of* is part of names.
"""

ADDING = en.PASTS | frozenset(
    (
        "likes like loves love enjoys enjoy hates hate dislikes dislike knows know speaks speak"
        " owns own wants want needs need eats eat drinks drink plays play reads read watches watch"
        " visits visit visited watched tried ate"
    ).split()
)
"""Verbs that may have several values at once: *likes tea* does not replace *likes hiking*."""

VERBS = (
    ADDING
    | en.AUXILIARIES
    | en.STATES
    | en.PASTS
    | en.ACTIONS
    | en.FINITE
    | frozenset(
        (
            "uses drives eats rents studies weighs costs means needs plans visits teaches leads"
            " manages runs starts begins ends opens closes expires becomes remains stays became"
            " remained stayed grew went live run like love prefer use want need own hate eat speak"
            " weigh"
        ).split()
    )
) - {"left", "cut"}
"""Words that are nearly always verbs: a difference that includes one is not a value."""

NO_VALUE = (
    BINDING | VERBS | cue_words.NEGATORS | en.NEGATORS | en.SUBJECTS | (en.OBJECTS - {"her"})
) | frozenset("there here this that these those who what why how".split())
"""Words that no value contains: a pair that differs in one differs in what it says."""

LIGHT = (
    BINDING
    | ADDING
    | en.AUXILIARIES
    | frozenset("a an the of also just only very really still already so".split())
)
"""Words that alone do not say what a text is about."""

HEADINGS = frozenset("fact fyi hint idea memo note ps reminder remember tip todo update".split())
"""Words before a colon that say nothing about what follows it."""

PHONES = frozenset("fairphone galaxy iphone motorola nokia oneplus pixel smartphone xperia".split())
"""Words by which a telephone is known."""

LAPTOPS = frozenset(
    "chromebook elitebook ideapad inspiron laptop macbook thinkpad vivobook xps zenbook".split()
)
"""Words by which a laptop is known."""

NO_PHONES = frozenset(
    "adapter buds cable case charger cover for headphones laptop tab tablet watch".split()
)
"""Words of things that are called like a telephone, or are made for one."""

NO_LAPTOPS = (NO_PHONES - {"laptop"}) | frozenset("bag dock keyboard sleeve stand".split())
"""The same for a laptop."""

DEVICES = {
    "laptop": (NO_LAPTOPS, {"laptop"}),
    "phone": (NO_PHONES, {"phone", "mobile", "smartphone"}),
}
"""By kind of device: words that show that something else is meant, and names for the device."""
