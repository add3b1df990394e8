"""Estimates how many duplicates were missed, from labels of pairs that are not joined. Pure.

Pairs are drawn in strata by the recorded score, so that few labels suffice: after a pilot, larger
and more mixed strata get more labels (Neyman allocation). The interval combines the strata's exact
intervals (M. P. Fay, M. A. Proschan, E. Brittain: Combining one-sample confidence procedures for
inference in the two-sample case, Biometrics 71, 2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palimpsest.evaluation.rates import lower_bound, upper_bound

EDGES = (0.5, 0.6, 0.7, 0.8, 0.9)
"""The scores between the strata."""
PILOT = 0.4
"""The share of labels that is divided equally among the strata."""
AT_RANDOM = 0.2
"""The share of labels that go to pairs drawn at random."""
DRAWS = 20_000
"""Number of random draws for an interval; the draws are the same every time."""


@dataclass(frozen=True, slots=True)
class StratumCounts:
    """A stratum: its number of pairs, of labels, and of labels other than `right`."""

    pairs: int
    labels: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate of a number of pairs, and its interval."""

    estimate: float
    low: float
    high: float


def stratum_of(score: float) -> int:
    """The number of the stratum of a score, counted from 0."""
    return sum(score >= edge for edge in EDGES)


def pilot(sizes: Sequence[int], labels: int) -> list[int]:
    """The pilot's number of pairs for each stratum: the same for all, as far as there are pairs."""
    whole = round(labels * PILOT)
    return _shared(whole, [1.0] * len(sizes), list(sizes))


def allocation(strata: Sequence[StratumCounts], labels: int) -> list[int]:
    """How many more labels each stratum gets after its pilot (J. Neyman, 1934).

    Its share is proportional to its number of pairs times the standard deviation of its labels. A
    stratum whose labels all agree may still be mixed, so the deviation is that with one more label
    of each kind.
    """
    weights = []
    for stratum in strata:
        share = (stratum.missed + 1) / (stratum.labels + 2)
        weights.append(stratum.pairs * math.sqrt(share * (1 - share)))
    return _shared(labels, weights, [stratum.pairs - stratum.labels for stratum in strata])


def _shared(labels: int, weights: Sequence[float], room: Sequence[int]) -> list[int]:
    """Share labels by weight, each to the stratum that lacks most; never more than its `room`."""
    given = [0] * len(room)
    for _ in range(min(labels, sum(room))):
        open_for = [place for place in range(len(room)) if given[place] < room[place]]
        most = max(open_for, key=lambda place: (weights[place] / (given[place] + 1), -place))
        given[most] += 1
    return given


def interval(strata: Sequence[StratumCounts], confidence: float) -> Interval:
    """How many pairs of all strata say the same.

    For a single large stratum it is the exact interval of Clopper and Pearson. A fully labelled
    stratum is known exactly.
    """
    random = np.random.default_rng(0)
    low, high = np.zeros(DRAWS), np.zeros(DRAWS)
    estimate = 0.0
    for stratum in strata:
        pairs, labels, missed = stratum.pairs, stratum.labels, stratum.missed
        estimate += pairs * missed / labels if labels else pairs / 2
        if pairs == labels:
            low += missed
            high += missed
            continue
        low += np.maximum(missed, pairs * _beta(random, missed, labels - missed + 1))
        high += np.minimum(
            pairs - (labels - missed), pairs * _beta(random, missed + 1, labels - missed)
        )
    tail = (1.0 - confidence) / 2
    return Interval(estimate, float(np.quantile(low, tail)), float(np.quantile(high, 1.0 - tail)))


def exact_interval(stratum: StratumCounts, confidence: float) -> Interval:
    """How many pairs of one stratum say the same, by Clopper and Pearson."""
    pairs, labels, missed = stratum.pairs, stratum.labels, stratum.missed
    if pairs == labels:
        return Interval(missed, missed, missed)
    one_sided = (1.0 + confidence) / 2
    return Interval(
        pairs * missed / labels if labels else pairs / 2,
        max(missed, pairs * lower_bound(missed, labels, one_sided)),
        min(pairs - (labels - missed), pairs * upper_bound(missed, labels, one_sided)),
    )


def _beta(random: np.random.Generator, ones: int, others: int) -> NDArray[np.float64]:
    """Draws of a Beta distribution; its ends if one of its parameters is 0."""
    if ones == 0 or others == 0:
        return np.full(DRAWS, 0.0 if ones == 0 else 1.0)
    return random.beta(ones, others, DRAWS)
