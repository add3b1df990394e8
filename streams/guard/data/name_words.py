"""English words by which a subject is told that may be called by another name of its owner.

They license nothing for an owner without names; with names, the guard's hash covers them.
"""

from __future__ import annotations

from palimpsest.streams.guard.data import en

_REGULAR = frozenset(
    (
        "accept add admire adore agree aim appreciate argue arrive ask attend avoid bake believe"
        " belong bike call care carry change clean climb close collect commute compete consider"
        " contribute cook count cycle dance decide depend deploy design develop dislike doubt"
        " earn employ enjoy enter expect explain explore fear finish fish follow garden handle"
        " happen hate help hike hope host hunt intend invest invite join lack like listen live"
        " look love maintain manage mentor mind miss move need notice offer open order organise"
        " organize own paint park participate perform play practice practise pray prefer prepare"
        " produce pronounce publish raise realise realize receive recommend record relax rely"
        " remember rent repair report respect rest sail save seem serve share sign smoke start"
        " stay struggle study subscribe suffer suggest support suspect talk test thank train"
        " translate travel trust try turn type use value visit volunteer vote wait walk want wash"
        " watch weigh wish work worry"
    ).split()
)
_IRREGULAR = frozenset(
    (
        "begin bring build buy choose come deal draw dream drink drive eat feel fly forget get"
        " give go grow hear hold jog keep know lead lean learn leave lend lose make mean meet pay"
        " plan ride run say see seek sell send sing sit skip sleep speak spend stand stop swim"
        " take teach tell think understand wake wear win write"
    ).split()
)
"""Verbs whose present is not their past: not *put* or *read*, of which *I put* may be either."""

_AUXILIARIES = {
    "am": "is",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
}


def _third(base: str) -> str:
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return base + "es"
    return base[:-1] + "ies" if _ends_in_consonant_y(base) else base + "s"


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if _ends_in_consonant_y(base) else base + "ed"


def _ends_in_consonant_y(base: str) -> bool:
    return base.endswith("y") and base[-2] not in "aeiou"


THIRD = {base: _third(base) for base in sorted(_REGULAR | _IRREGULAR)} | _AUXILIARIES
"""The third person of a verb, by the form that stands behind *I*."""

SAME = (
    (en.PASTS - {"found", "fell", "felt"})
    | frozenset(map(_past, _REGULAR))
    | frozenset("was wasn't had hadn't did didn't can can't cannot could couldn't".split())
    | frozenset("will won't would wouldn't went became planned stopped jogged skipped".split())
)
"""Forms of verbs that are the same behind *I* and behind a name.

No present of another verb (*I found firms*), and none that says what ought to be: a requirement has
a user who is nobody.
"""

ADVERBS = frozenset(
    "also always currently generally mostly never normally now often only rarely really recently"
    " seldom sometimes still typically usually".split()
)
"""What may stand between a subject and its verb."""

FIRST_AND_SECOND = frozenset(
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves".split()
)
"""Whom they mean depends on who speaks."""

PRONOUNS = FIRST_AND_SECOND | frozenset(
    (
        "he him his himself she her hers herself it its itself they them their theirs themselves"
        " themself one one's oneself"
    ).split()
)
"""Behind *I* none of these is the subject; behind a name it may be."""

NEVER = frozenset(
    "january february march april may june july august september october november december monday"
    " tuesday wednesday thursday friday saturday sunday spring summer autumn winter christmas"
    " easter dawn hope faith grace joy rose".split()
)
"""Names that begin a sentence as other words do: *April was busy*."""
