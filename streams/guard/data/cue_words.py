"""English words by which a cue is seen, and the closed classes that token Jaccard leaves out.

They name what a pair differs in; they never join one. The lists that token Jaccard leaves out must
not change, because recorded scores depend on them.
"""

from __future__ import annotations

from itertools import permutations

CONTRACTIONS: dict[str, tuple[str, ...]] = {
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "cant": ("can", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("not",),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
} | {
    stem + "nt": (stem, "not")
    for stem in "do does did is was are were could would should has have had".split()
}
"""Contractions that are more than a stem and an ending, or are often typed without apostrophe."""

CLITICS: dict[str, tuple[str, ...]] = {
    "s": (),
    "re": ("are",),
    "m": ("am",),
    "ve": ("have",),
    "ll": ("will",),
    "d": ("would",),
}
"""Endings after an apostrophe; 's is *is*, *has* or a possessive, none of which is a fact."""

ARTICLES = frozenset(
    "a an the this these those its also indeed moreover furthermore additionally really actually"
    " basically".split()
)
"""Articles, and adverbs that only address the reader: they do not count as tokens."""

STOPS = frozenset("is are am be being that which who whom it there called named titled".split())
"""Words without content of their own: they do not count as tokens."""

PUNCTUATION = frozenset(".,;:!'\"()[]{}-–—…`´‘’“”„«»‹›·•|_*‐‑‒―，。、；：！（）「」『』【】《》")
"""Marks that do not count as tokens; any other sign stands for itself (``?`` ``/``)."""

PREPOSITIONS = frozenset(
    (
        "in on at of by for with from to into onto near beside behind under over above below"
        " between among around through across along during after before outside against toward"
        " without upon as like than about off out up down past per via until since despite"
        " except beyond opposite throughout"
    ).split()
)
"""Words that bind the noun that follows them."""

NEGATORS = frozenset(
    (
        "not no never none nobody nothing nowhere neither nor without hardly barely scarcely"
        " rarely seldom no-longer unable fail fails failed failing lack lacks lacked lacking"
        " refuse refuses refused refusing deny denies denied denying cease ceases ceased"
        " avoid avoids avoided stop stops stopped quit quits except excluding"
    ).split()
)
"""Words that negate their neighbours."""

NEGATING_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "mis")
"""Prefixes that turn a word into its contrary."""

NEGATING_SUFFIX = "less"
"""The suffix that turns a noun, or an adjective in -ful, into its contrary."""

FALSE_CONTRARIES = frozenset(
    (
        "invaluable inflammable infamous indifferent disease discover discount display inside"
        " instill indeed impress import imply impart improve until unless under unite invent"
        " invest income input insight inform intend mission misses distill distract disposed"
        " inborn indoor inland intake imprint"
    ).split()
)
"""Words that begin like the contrary of another word but are not."""

_ANTONYMS = """
    hot/cold warm/cool big/small large/small tall/short long/short high/low old/young old/new
    good/bad best/worst better/worse happy/sad rich/poor fast/slow quick/slow early/late easy/hard
    easy/difficult hard/soft heavy/light light/dark bright/dark wet/dry clean/dirty full/empty
    open/closed open/shut opened/closed opens/closes on/off in/out inside/outside indoors/outdoors
    indoor/outdoor up/down above/below over/under before/after first/last next/last next/previous
    left/right front/back near/far always/never often/rarely all/none everything/nothing
    everyone/nobody many/few more/less more/fewer most/least with/without love/hate loves/hates
    like/hate likes/hates like/dislike likes/dislikes start/stop begin/end begins/ends
    started/stopped accept/reject accepts/rejects accepted/rejected win/lose won/lost buy/sell
    bought/sold push/pull increase/decrease increased/decreased rise/fall rose/fell true/false
    right/wrong correct/wrong yes/no alive/dead awake/asleep married/single married/divorced
    strong/weak thick/thin wide/narrow deep/shallow loud/quiet noisy/quiet safe/dangerous
    cheap/expensive public/private male/female man/woman men/women boy/girl boys/girls
    husband/wife brother/sister son/daughter mother/father he/she his/her morning/evening day/night
    north/south east/west northern/southern eastern/western present/absent same/different
    enabled/disabled enable/disable allow/forbid allowed/forbidden arrive/leave arrived/left
    remember/forget remembered/forgot success/failure friend/enemy smile/frown laugh/cry
    sit/stand asleep/awake junior/senior maximum/minimum import/export internal/external
    vegetarian/carnivore summer/winter gain/lose gained/lost borrow/lend add/remove added/removed
"""
_EXCLUSIVE = """
    red orange yellow green blue purple pink brown black white grey gold silver beige
    | north south east west northeast northwest southeast southwest
    | breakfast lunch dinner
    | spring summer autumn winter
    | gold silver bronze
"""


def _opposites() -> dict[str, frozenset[str]]:
    pairs = {tuple(pair.split("/")) for pair in _ANTONYMS.split()}
    for line in _EXCLUSIVE.split("|"):
        pairs |= set(permutations(line.split(), 2))
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES: dict[str, frozenset[str]] = _opposites()
"""For each word, those that cannot be true of the same thing."""
