"""Which memories share key tokens: the candidates of a janitor, instead of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.intp]
"""Pairs of places, shape (n, 2), the smaller place first; each pair once, in order."""

EVERYWHERE = 0.5
"""A token that more than half of many memories have tells none of them apart."""
MANY = 64


def sharing(tokens: Sequence[frozenset[str]], most: int) -> Pairs:
    """Of each memory, the pairs with the `most` others that share its key tokens.

    Rare tokens count more (the logarithm of how rare they are); ties go to the earlier place. Time
    grows with the number of places that have a token, memory with the number of memories.
    """
    postings = _postings(tokens)
    found: list[Pairs] = []
    for place, own in enumerate(tokens):
        others = _best(place, [postings[token] for token in sorted(own)], len(tokens), most)
        low, high = np.minimum(others, place), np.maximum(others, place)
        found.append(np.stack([low, high], axis=1))
    together = np.concatenate(found) if found else np.empty((0, 2), np.intp)
    return np.unique(together, axis=0)


def _postings(tokens: Sequence[frozenset[str]]) -> dict[str, NDArray[np.intp]]:
    places: dict[str, list[int]] = {}
    for place, own in enumerate(tokens):
        for token in own:
            places.setdefault(token, []).append(place)
    return {token: np.array(found, np.intp) for token, found in places.items()}


def _best(place: int, postings: list[NDArray[np.intp]], count: int, most: int) -> NDArray[np.intp]:
    """The places that share most with one, itself apart."""
    telling = [p for p in postings if len(p) > 1 and (count < MANY or len(p) <= EVERYWHERE * count)]
    if not telling:
        return np.empty(0, np.intp)
    weights = np.repeat([log(1 + count / len(p)) for p in telling], [len(p) for p in telling])
    scores = np.bincount(np.concatenate(telling), weights, minlength=count)
    scores[place] = 0.0
    reached = np.flatnonzero(scores)
    # Rounded, because the order of a sum must not tell which of two equals comes first.
    rounded = scores[reached].round(9)
    if len(reached) > most:
        enough = rounded >= np.partition(rounded, -most)[-most]
        reached, rounded = reached[enough], rounded[enough]
    return reached[np.lexsort((reached, -rounded))[:most]]
