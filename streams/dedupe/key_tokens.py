"""Key tokens: the words that a memory is about, and the pairs of memories that share them."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.guard import tokens

Pairs = NDArray[np.intp]
"""Pairs of indices, shape (n, 2), the smaller first; sorted, without duplicates."""

EVERYWHERE = 0.5
"""A token in more than this share of the memories is ignored: it distinguishes nothing."""
MANY = 64
"""With fewer memories than this, no token is ignored."""

STOPWORDS = frozenset(
    "i me my mine myself we us our ours ourselves you your yours yourself he him his"
    " himself she her hers herself it its itself they them their theirs themselves this that"
    " these those who whom whose which what where when why how a an the and or but nor so"
    " yet if then else than because as until while of at by for with about against between"
    " into through during before after above below to from up down in out on off over under"
    " again further once here there all any both each few more most other some such no not"
    " only own same too very can could may might must shall should will would is am are was"
    " were be been being have has had having do does did doing done just also ever never"
    " always often still now get gets got let lets say says said tell tells told one two"
    " really quite much many lot like user".split()
)
"""Closed-class words of English, and words that most memories have (`user`, `said`)."""

_ENDINGS = ("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("s", "")
"""Endings of plurals and third persons, and what replaces them; the first match applies."""


def key_tokens(text: str) -> frozenset[str]:
    """The key tokens of a text: casefolded words, numbers and names, none of them a stopword."""
    return frozenset(_plain(token) for token in tokens(text) if token not in STOPWORDS)


def _plain(token: str) -> str:
    if len(token) > 3 and token.isascii() and token.isalpha() and not token.endswith(("ss", "us")):
        for ending, instead in _ENDINGS:
            if token.endswith(ending):
                return token.removesuffix(ending) + instead
    return token


def sharing_pairs(tokens: Sequence[frozenset[str]], most: int) -> Pairs:
    """For each memory, its pairs with the `most` others that share key tokens with it.

    Rare tokens count more (the logarithm of their rarity); ties go to the earlier index. Time grows
    with the number of indices that have a token, space with the number of memories.
    """
    places: dict[str, list[int]] = {}
    for place, own in enumerate(tokens):
        for token in own:
            places.setdefault(token, []).append(place)
    postings = {token: np.array(found, np.intp) for token, found in places.items()}
    found: list[Pairs] = []
    for place, own in enumerate(tokens):
        others = _best(place, [postings[token] for token in sorted(own)], len(tokens), most)
        low, high = np.minimum(others, place), np.maximum(others, place)
        found.append(np.stack([low, high], axis=1))
    together = np.concatenate(found) if found else np.empty((0, 2), np.intp)
    return np.unique(together, axis=0)


def _best(place: int, postings: list[NDArray[np.intp]], count: int, most: int) -> NDArray[np.intp]:
    """The other indices that share most with this one, by the weights of the shared tokens."""
    most_places = count if count < MANY else EVERYWHERE * count
    rare = [p for p in postings if 1 < len(p) <= most_places]
    if not rare:
        return np.empty(0, np.intp)
    weights = np.repeat([log(1 + count / len(p)) for p in rare], [len(p) for p in rare])
    scores = np.bincount(np.concatenate(rare), weights, minlength=count)
    scores[place] = 0.0
    reached = np.flatnonzero(scores)
    # Rounded, so that the order of summation does not affect the order of equal scores.
    rounded = scores[reached].round(9)
    if len(reached) > most:
        enough = rounded >= np.partition(rounded, -most)[-most]
        reached, rounded = reached[enough], rounded[enough]
    return reached[np.lexsort((reached, -rounded))[:most]]
