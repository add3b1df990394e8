"""Finds similar token sets, in pairs and in clusters whose members are all similar."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.intp]
STEPS: Final = 10_000
"""Scores are integers in ten-thousandths, rounded to four decimals before they are compared."""


class SimilarSets:
    """Pairs of sets whose Jaccard similarity, rounded to four decimals, is `above` a threshold.

    Sets are identified by number. Shared tokens are counted for all sets at once, token by token: a
    thousand similar sets have half a million pairs, too many for a loop in Python.
    """

    def __init__(self, sets: Sequence[frozenset[str]], above: float) -> None:
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for number, tokens in enumerate(sets):
            for token in tokens:
                postings[token].append(number)
        self._having = {token: np.array(numbers) for token, numbers in postings.items()}
        self._sizes = np.array([len(tokens) for tokens in sets], dtype=np.int64)
        self._apart: defaultdict[int, list[int]] = defaultdict(list)
        self._near: list[Numbers] = []
        self._scores: list[NDArray[np.int64]] = []
        for number, tokens in enumerate(sets):
            shared = np.zeros(len(self._sizes), dtype=np.int64)
            for token in tokens:
                shared[self._having[token]] += 1
            union = np.maximum(self._sizes + self._sizes[number] - shared, 1)
            scores: NDArray[np.int64] = np.rint(shared / union * STEPS).astype(np.int64)
            scores[number] = 0
            self._near.append(np.flatnonzero(scores / STEPS > above))
            self._scores.append(scores[self._near[-1]])

    def pairs_of(self, number: int) -> Iterator[int]:
        """The sets that are similar to this one."""
        return map(int, self._near[number])

    def part(self, a: int, b: int) -> None:
        """Never put these two sets into the same cluster."""
        self._apart[a].append(b)
        self._apart[b].append(a)

    def score(self, a: int, b: int) -> float:
        """The Jaccard similarity of two similar sets."""
        place = np.searchsorted(self._near[a], b)
        return int(self._scores[a][place]) / STEPS

    def total(self, cluster: Sequence[int]) -> float:
        """The sum of the scores of all pairs in a cluster."""
        inside = np.zeros(len(self._sizes), dtype=np.bool_)
        inside[list(cluster)] = True
        each = (self._scores[n][inside[self._near[n]]].sum() for n in cluster)
        return int(sum(each)) / 2 / STEPS

    def clusters(self) -> Iterator[list[int]]:
        """Build clusters greedily, in order: each admits later sets similar to all its members.

        No set is in two clusters.
        """
        free = np.ones(len(self._sizes), dtype=np.bool_)
        for first in range(len(free)):
            if not free[first]:
                continue
            cluster, like_all = [first], self._like(first) & free
            while (later := np.flatnonzero(like_all[cluster[-1] + 1 :])).size:
                cluster.append(cluster[-1] + 1 + int(later[0]))
                like_all &= self._like(cluster[-1])
            if len(cluster) > 1:
                free[cluster] = False
                yield cluster

    def _like(self, number: int) -> NDArray[np.bool_]:
        """Which sets may be in a cluster with this one."""
        like = np.zeros(len(self._sizes), dtype=np.bool_)
        like[self._near[number]] = True
        like[self._apart.get(number, [])] = False
        return like
