"""English words by which a subject is told that may be called by another name of its owner.

They license nothing for an owner without names; with names, the guard's hash covers them.
"""

from __future__ import annotations

from palimpsest.streams.guard.data import en

_BASES = frozenset(
    (
        "accept add admire adore agree aim appreciate argue arrive ask attend avoid bake begin"
        " believe belong bike bring build buy call care carry change choose clean climb close"
        " collect come commute compete consider contribute cook count cycle dance deal decide"
        " depend deploy design develop dislike doubt draw dream drink drive earn eat employ enjoy"
        " enter expect explain explore fear feel finish fish fly follow forget garden get give go"
        " grow handle happen hate have hear help hike hold host hope hunt intend invest invite jog"
        " join keep know lack lead lean learn leave lend like listen live look lose love maintain"
        " make manage mean meet mentor mind miss move need notice offer open order organise"
        " organize own paint park participate pay perform plan play practice practise pray prefer"
        " prepare produce pronounce publish raise realise realize receive recommend record relax"
        " rely remember remember rent repair report respect rest ride run save say search see seek"
        " seem sell send serve share sign sing sit skip sleep smoke speak spend stand start stay"
        " stop struggle study subscribe suffer suggest support suspect swim take talk teach tell"
        " tend test think train translate travel trust try turn type understand use value visit"
        " volunteer vote wait wake walk want wash watch wear weigh win wish work worry write"
    ).split()
)
"""Verbs whose present is not their past: not *put* or *read*, of which *I put* may be either."""

_IRREGULAR = {"have": "has", "go": "goes", "am": "is", "do": "does", "don't": "doesn't"}


def _third(base: str) -> str:
    if base.endswith(("s", "sh", "ch", "x", "z")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


THIRD = {base: _third(base) for base in sorted(_BASES)} | _IRREGULAR | {"haven't": "hasn't"}
"""The third person of a verb, by the form that stands behind *I*."""

SAME = (
    en.PASTS
    | frozenset(base + "d" if base.endswith("e") else base + "ed" for base in _BASES)
    | frozenset("was wasn't had hadn't did didn't can can't cannot could couldn't".split())
    | frozenset("will won't would wouldn't used went became studied tried worried".split())
)
"""Forms of verbs that are the same behind *I* and behind a name.

None that says what ought to be: a requirement has a user who is nobody.
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
