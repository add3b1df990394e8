"""English words by which a frame is told from another difference; they join nothing.

The guard's hash does not cover them: decisions record whom they found by them.
"""

from __future__ import annotations

from palimpsest.streams.guard.data import cue_words, en

NOW = frozenset(
    "now currently presently nowadays jetzt inzwischen mittlerweile derzeit momentan maintenant"
    " désormais dorénavant actuellement ahora actualmente".split()
)
"""What says only that the rest holds: an update often has it, and what it replaces has not."""

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
"""Verbs that hold of many things at once: with one of these and a subject alone, a value adds."""

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
"""Forms of verbs that are hardly ever anything else: what changes with them is no value."""

NO_VALUE = (
    BINDING | VERBS | cue_words.NEGATORS | en.NEGATORS | en.SUBJECTS | (en.OBJECTS - {"her"})
) | frozenset("there here this that these those who what why how".split())
"""Words that no value has: with them a pair differs in what is said, not in its value."""

LIGHT = (
    BINDING
    | ADDING
    | en.AUXILIARIES
    | frozenset("a an the of also just only very really still already so".split())
)
"""Words that alone do not say what a text is about."""

HEADINGS = frozenset("fact fyi hint idea memo note ps reminder remember tip todo update".split())
"""What stands before a colon, and says nothing of what stands behind it."""
