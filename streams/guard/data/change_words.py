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
        "abandoned adopted became began bought brought bumped cancelled canceled ceased changed"
        " climbed converted corrected correction cut decreased delayed ditched divorced doubled"
        " downgraded dropped ended extended fell finished fired gained gave halved increased joined"
        " left lost lowered merged migrated moved outgrew postponed promoted pushed quit raised"
        " rebooked reduced relocated renamed replaced rescheduled resigned retired returned revised"
        " rose separated settled shifted shortened slipped sold split started stopped swapped"
        " switched traded transferred transitioned turned updated upgraded widowed"
        " becoming changing cutting joining leaving migrating moving quitting relocating replacing"
        " retiring selling starting stopping swapping switching"
    ).split()
)
"""What somebody did, or is doing, after which something is otherwise; no form of the present."""

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
        "/have grown/ever since/a second/a third/a fourth/a fifth/another one"
    ).split("/")
)
"""Two words in a row that say it together."""

PERFECT = frozenset({"has", "have", "i've", "just"})
"""Before a participle in -ed: what is done now."""

UP_TO = ("up", "to")
"""Behind a form of *be*: how many there are by now."""

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
"""Plurals that have no ending of their own: a change often tells of another number of something."""
