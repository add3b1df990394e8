"""English words by which a text says that something is no longer as it was; they join nothing.

The guard's hash does not cover them: decisions record whom they found by them.
"""

from __future__ import annotations

NOW_OTHERWISE = frozenset(
    (
        "now nowadays currently anymore instead recently lately formerly previously actually"
        " ex former originally"
    ).split()
)
"""Adverbs that set what is so against what was."""

CHANGED = frozenset(
    (
        "abandoned adopted became began bought brought cancelled canceled ceased changed converted"
        " corrected cut decreased delayed divorced doubled downgraded dropped ended engaged"
        " extended finished fired gained gave grew halved increased joined landed left later"
        " lowered married merged migrated moved outgrew postponed promoted quit raised"
        " rebooked reduced relocated renamed replaced rescheduled resigned retired revised sold"
        " separated settled shifted shortened split started stopped swapped switched traded"
        " transferred transitioned turned updated upgraded widowed"
        " becoming changing cutting joining leaving migrating moving quitting relocating replacing"
        " retiring selling starting stopping swapping switching"
    ).split()
)
"""What somebody did, or is doing, after which something is otherwise; no form of the present."""

PHRASES = frozenset(
    tuple(phrase.split())
    for phrase in (
        "no longer/any more/any longer/these days/used to/as of/from now/not but/gave up/given up"
        "/got a/got an/got divorced/got engaged/got married/got promoted/got rid/went up/went down"
        "/went from/went back/went vegan/went vegetarian/gone up/gone down/is back/am back"
        "/passed away/pushed back/put back/turned out/rather than/has become/have become"
        "/has died/have died/has got/have got/has gone/have gone/has taken/have taken"
        "/took up/took over/has begun/have begun/has given/have given/has grown/have grown/is called now"
        "/are now/has gotten/have gotten/until recently"
    ).split("/")
)
"""Two words or three in a row that say it together."""

PERFECT = frozenset({"has", "have", "'ve", "i've", "just", "hasn't", "haven't"})
"""Before a participle in -ed: what is done now."""
