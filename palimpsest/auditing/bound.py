"""An upper bound on the number of wrong joins in a population, valid after every label. Pure.

Bets are placed against each hypothesis "k of the N joins are wrong", label by label, as joins are
drawn without replacement in random order. Under the hypothesis, the next join is wrong with the
probability m = (k - errors so far) / (joins left). A bet c multiplies its wealth by
1 + c m / (1 - m) at a clean label, and by 1 - c at an error. If k is true, the wealth is a
nonnegative martingale that begins at 1, so the probability that it ever reaches 1/delta is at most
delta (Ville's inequality): one may look after every label, and stop at any time.

I. Waudby-Smith, A. Ramdas: Confidence sequences for sampling without replacement (arXiv
2006.04347); Estimating means of bounded random variables by betting (2010.09686). P. B. Stark:
risk-limiting audits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BETS = np.array([[0.999], [0.9], [0.75], [0.5], [0.3], [0.15], [0.07]])
"""The share of its wealth that each bet risks; the boldest bet is best while there is no error."""
WEIGHTS = np.array([[0.4], [0.15], [0.12], [0.1], [0.09], [0.07], [0.07]])
"""The wealth that each bet begins with."""


class Hypotheses:
    """The wealth of the bets against each hypothesis that `k` of `population` joins are wrong."""

    def __init__(self, population: int, k: NDArray[np.float64]) -> None:
        self.k = k
        self.left = population
        self.errors = np.zeros(k.shape)
        self.logs = np.log(WEIGHTS) + np.zeros(k.shape)
        """The logarithms of the wealth of each bet."""

    @property
    def log_wealth(self) -> NDArray[np.float64]:
        """The logarithm of the wealth of all bets against each hypothesis."""
        wealth: NDArray[np.float64] = np.logaddexp.reduce(self.logs, axis=0)
        return wealth

    def see(self, wrong: bool | NDArray[np.bool_]) -> None:
        """Bet on the next label, which is one for all hypotheses or an array with one for each.

        A clean label rejects for good a hypothesis under which all remaining joins are wrong.
        """
        chance = (self.k - self.errors) / self.left
        possible = chance < 1.0
        odds = np.where(possible, chance / np.where(possible, 1.0 - chance, 1.0), np.inf)
        self.logs += np.where(wrong, np.log1p(-BETS), np.log1p(BETS * odds))
        self.errors = self.errors + wrong
        self.left -= 1

    def keep(self, count: int) -> None:
        """Drop all but the first `count` hypotheses."""
        self.k, self.errors = self.k[:count], self.errors[:count]
        self.logs = self.logs[:, :count]


class ErrorBound:
    """The largest number of wrong joins that the labels have not ruled out.

    The probability that the true number is ever above `most` is at most `delta`. `most` grows only
    if more errors are found than it allowed.
    """

    def __init__(self, population: int, delta: float) -> None:
        """Raises ValueError if `delta` is not between 0 and 1, both excluded."""
        if not 0.0 < delta < 1.0:
            raise ValueError(f"delta must be above 0 and below 1, not {delta}")
        self.population = population
        self.labels = 0
        self.errors = 0
        self._delta = delta
        self._open = Hypotheses(population, np.arange(population + 1.0))

    @property
    def most(self) -> int:
        """The bound; not less than the errors found."""
        return max(len(self._open.k) - 1, self.errors)

    def see(self, *, wrong: bool) -> None:
        """Count the label of the next join in the order. Raises ValueError after the last.

        Wealth grows with k, so the rejected hypotheses are those with the largest k. They are
        dropped for good.
        """
        if self.labels == self.population:
            raise ValueError("every join has its label")
        self._open.see(wrong)
        self.labels += 1
        self.errors += wrong
        self._open.keep(int(np.searchsorted(self._open.log_wealth, -np.log(self._delta))))

    def labels_needed(self, most: int, further: int = 0) -> int | None:
        """How many more labels bring the bound to `most`, if the next `further` joins are wrong.

        All joins after those are assumed to be right. None if no number of labels is enough. Wealth
        grows with k, so it is enough to follow the bets against `most` + 1.
        """
        errors = self.errors + further
        if errors > most or (further and further >= self._open.left):
            return None
        if self.most <= most:
            return 0
        left = np.arange(self._open.left - further, 0, -1.0)
        odds = np.full(left.shape, np.inf)
        wrong = most + 1.0 - errors
        np.divide(wrong, left - wrong, out=odds, where=left > wrong)
        logs = self._open.logs[:, most + 1, None] + further * np.log1p(-BETS)
        logs = logs + np.cumsum(np.log1p(BETS * odds), axis=1)
        enough = np.logaddexp.reduce(logs, axis=0) >= -np.log(self._delta)
        return further + int(np.argmax(enough)) + 1


class DetectionBound:
    """A lower bound on the share of wrong joins that an auditor finds, valid after every probe.

    A probe is a pair that is known to be wrong. Provided that each is found with the same
    probability, independently of the others, the probability that `least` is ever above the true
    share is at most `delta`. The bound may fall again, so that a tiring auditor is noticed.
    """

    STEPS = 1000
    """The bound is a multiple of a thousandth."""

    def __init__(self, delta: float) -> None:
        """Raises ValueError if `delta` is not between 0 and 1, both excluded."""
        if not 0.0 < delta < 1.0:
            raise ValueError(f"delta must be above 0 and below 1, not {delta}")
        self.probes = 0
        self.found = 0
        self._delta = delta
        self._odds = np.arange(self.STEPS) / np.arange(self.STEPS, 0, -1.0)
        self._logs = np.log(WEIGHTS) + np.zeros(self.STEPS)

    @property
    def least(self) -> float:
        """The bound; 0 before any probe."""
        return self.least_after(0)

    def least_after(self, found: int) -> float:
        """The bound after `found` more probes, all of them found."""
        logs = self._logs + found * np.log1p(BETS * self._odds)
        wealth = np.logaddexp.reduce(logs, axis=0)
        missed = int(np.searchsorted(wealth, -np.log(self._delta)))
        return 1.0 - missed / self.STEPS

    def see(self, *, found: bool) -> None:
        """Count a probe."""
        self._logs += np.log1p(BETS * self._odds) if found else np.log1p(-BETS)
        self.probes += 1
        self.found += found
