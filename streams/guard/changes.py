"""Texts that say that something is no longer as it was (docs/guard.md, Frames).

*Ada moved to Rome*, *Ada has a new number*, *I no longer drink coffee*. What it was, the text often
does not say: of the texts about the same owner it is most often the nearest.
"""

from __future__ import annotations

from itertools import pairwise

from palimpsest.streams.guard.data.change_words import CHANGED, NOW_OTHERWISE, PERFECT, PHRASES
from palimpsest.streams.guard.data.en import DETERMINERS, NEGATORS
from palimpsest.streams.guard.data.frame_words import LIGHT, VERBS
from palimpsest.streams.guard.reading import Reading

LONGEST = 30
"""Tokens of a text that says one thing; a longer one tells a story, or of several things."""
_THING = [(word,) for word in DETERMINERS]
"""Before these words a thing is named: *her left hand*."""


def tells_change(text: Reading) -> bool:
    """Whether a text says, by words of English, that something has changed."""
    lows = text.lows
    if "?" in lows or len(lows) > LONGEST:
        return False
    if not NOW_OTHERWISE.isdisjoint(lows) or ("but" in lows and _negates(lows)):
        return True  # now …, and: not … but …
    if any(low in CHANGED and lows[at - 1 : at] not in _THING for at, low in enumerate(lows)):
        return True
    return any(
        pair in PHRASES
        or (pair[0] in PERFECT and len(pair[1]) > 4 and pair[1].endswith("ed"))
        or _is_new(text, at)
        for at, pair in enumerate(pairwise(lows))
    )


def _negates(lows: tuple[str, ...]) -> bool:
    return not NEGATORS.isdisjoint(lows) or any(low.endswith("n't") for low in lows)


def _is_new(text: Reading, at: int) -> bool:
    """Whether *new* stands at a place, and is not the beginning of a name (*New York*)."""
    return text.lows[at] == "new" and text.texts[at + 1].islower()


def shares_a_word(one: Reading, other: Reading, names: tuple[str, ...]) -> bool:
    """Whether two texts have a word in common that says what they are about; no name does."""
    own = {part for name in names for part in name.casefold().split()}
    common = {*one.lows} & {*other.lows} - LIGHT - VERBS - own
    return any(len(word) > 3 for word in common)
