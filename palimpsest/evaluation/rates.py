"""Rates with their uncertainty, and how well clusters agree with a gold standard. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Item = TypeVar("_Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Precision and recall of found clusters, each 0 to 1; 1 if there is nothing to find."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def upper_bound(errors: int, trials: int, confidence: float = 0.95) -> float:
    """The one-sided Clopper-Pearson upper bound of an error rate.

    The largest rate at which at most this number of errors in independent trials still has the
    probability 1 - confidence (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934). 1 without
    trials. Raises ValueError if errors are negative or more than the trials.
    """
    if not 0 <= errors <= trials:
        raise ValueError(f"{errors} errors in {trials} trials")
    if errors == trials:
        return 1.0
    ways = _ways(errors, trials)
    low, high = errors / trials, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        if _at_most(ways, trials, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def lower_bound(hits: int, trials: int, confidence: float = 0.95) -> float:
    """The one-sided Clopper-Pearson lower bound of a rate of hits; 0 without trials.

    Raises ValueError as `upper_bound` does.
    """
    return 1.0 - upper_bound(trials - hits, trials, confidence)


def p_value(errors: int, trials: int, budget: float) -> float:
    """The exact p-value of "the error rate is over `budget`".

    That is P(Binomial(trials, budget) <= errors): small if so few errors are unlikely at that
    rate; 1 without trials. `budget` is between 0 and 1, both excluded. Raises ValueError if
    errors are negative or more than the trials.
    """
    if not 0 <= errors <= trials:
        raise ValueError(f"{errors} errors in {trials} trials")
    return 1.0 if errors == trials else min(1.0, _at_most(_ways(errors, trials), trials, budget))


def trials_needed(budget: float, confidence: float, errors: int = 0) -> int:
    """The fewest trials, `errors` of them wrong, that certify `budget` at `confidence`.

    Without an error it is the smallest n with (1 - budget)^n <= 1 - confidence. Raises ValueError
    if `errors` is negative.
    """
    low, high = errors, errors + 1
    while p_value(errors, high, budget) > 1 - confidence:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if p_value(errors, middle, budget) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _ways(errors: int, trials: int) -> NDArray[np.float64]:
    """The logarithm of the number of ways to have 0, 1, …, `errors` errors."""
    counts = range(errors + 1)
    whole = math.lgamma(trials + 1)
    return np.array(
        [whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in counts], np.float64
    )


def _at_most(ways: NDArray[np.float64], trials: int, rate: float) -> float:
    """The probability of at most the counted errors; logarithms keep terms from underflowing."""
    k = np.arange(len(ways))
    terms = np.exp(ways + k * math.log(rate) + (trials - k) * math.log1p(-rate))
    return math.fsum(terms.tolist())


def pairwise(clusters: Mapping[_Item, Hashable], gold: Mapping[_Item, Hashable]) -> Agreement:
    """Agreement over pairs of items: which of the pairs put together belong together.

    Both map each item to the name of its cluster. Raises ValueError if the items differ.
    """
    both = _overlaps(clusters, gold)
    together = sum(map(_pairs, both.values()))
    found = sum(map(_pairs, Counter(clusters.values()).values()))
    right = sum(map(_pairs, Counter(gold.values()).values()))
    return Agreement(together / found if found else 1.0, together / right if right else 1.0)


def b_cubed(clusters: Mapping[_Item, Hashable], gold: Mapping[_Item, Hashable]) -> Agreement:
    """Agreement averaged over items (A. Bagga and B. Baldwin, COLING-ACL 1998).

    An item's precision is the share of its found cluster that is of its gold cluster; its recall
    the share of its gold cluster that is in its found one. Raises ValueError if items differ.
    """
    both = _overlaps(clusters, gold)
    if not both:
        return Agreement(1.0, 1.0)
    found, right = Counter(clusters.values()), Counter(gold.values())
    precision = math.fsum(n * n / found[cluster] for (cluster, _), n in both.items())
    recall = math.fsum(n * n / right[label] for (_, label), n in both.items())
    return Agreement(precision / len(gold), recall / len(gold))


def _overlaps(
    clusters: Mapping[_Item, Hashable], gold: Mapping[_Item, Hashable]
) -> Counter[tuple[Hashable, Hashable]]:
    if clusters.keys() != gold.keys():
        raise ValueError("clusters and gold have different items")
    return Counter((clusters[item], gold[item]) for item in gold)


def _pairs(size: int) -> int:
    return size * (size - 1) // 2
