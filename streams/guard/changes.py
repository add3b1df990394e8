"""Texts that say that something is no longer as it was (docs/guard.md, Frames).

*Ada moved to Rome*, *Ada has a new number*, *I no longer drink coffee*. What it was, the text often
does not say: of the texts about the same owner it is most often the nearest.
"""

from __future__ import annotations

from itertools import pairwise

from palimpsest.streams.guard.data.change_words import CHANGED, NOW_OTHERWISE, PERFECT, PHRASES
from palimpsest.streams.guard.reading import Reading

LONGEST = 30
"""Tokens of a text that says one thing; a longer one tells a story, or of several things."""


def tells_change(text: Reading) -> bool:
    """Whether a text says, by words of English, that something has changed."""
    lows = text.lows
    if "?" in lows or len(lows) > LONGEST:
        return False
    if not (NOW_OTHERWISE.isdisjoint(lows) and CHANGED.isdisjoint(lows)):
        return True
    return any(
        pair in PHRASES
        or (pair[0] in PERFECT and len(pair[1]) > 4 and pair[1].endswith("ed"))
        or _is_new(text, at)
        for at, pair in enumerate(pairwise(lows))
    )


def _is_new(text: Reading, at: int) -> bool:
    """Whether *new* stands at a place, and is not the beginning of a name (*New York*)."""
    return text.lows[at] == "new" and text.texts[at + 1].islower()
