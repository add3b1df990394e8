"""Thresholds from a budget: Learn then Test by a fixed sequence of exact tests. Pure.

A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei: Learn then Test (arXiv
2110.01052). The hypothesis of a threshold is that its risk is over the budget. The thresholds are
tested from strict to loose, each at the whole level; the first that cannot be rejected ends the
test. So the probability that any certified threshold has a risk over the budget is at most
1 - confidence, whatever the scores are and whether or not the risk grows along the sequence.

The risk is the share of wrong pairs among those taken: if a threshold takes n independent pairs,
the number of wrong ones is binomial given n. This requires that the sequence depends neither on the
labels that it is tested with nor on their scores: `first_of` uses the scores of the other half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from palimpsest.evaluation.rates import p_value, trials_needed

Threshold = float
STEPS = 200
"""Steps between 0 and 1: thresholds are multiples of .005."""
MARGIN = 1.25
"""A sequence begins where the held-out half takes this multiple of the trials that a test needs."""


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """One tested threshold: how many pairs it takes, how many of them wrongly, and the p-value."""

    threshold: Threshold
    taken: int
    errors: int
    p: float


@dataclass(frozen=True, slots=True)
class Test:
    """A tested sequence: its steps, of which the last may be one that was not certified."""

    steps: tuple[ThresholdStep, ...]
    certified: ThresholdStep | None


def downward() -> list[Threshold]:
    """Thresholds from 1 down to 0; each takes the pairs whose score reaches it."""
    return [step / STEPS for step in range(STEPS, -1, -1)]


def taken_by(levels: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """How many pairs each step of a sequence takes; a pair's level is the first step that takes it.

    A level of `count` or more means that no step does.
    """
    found = np.bincount(levels[levels < count], minlength=count)
    return np.array([*accumulate(found.tolist())], np.intp)


def levels_at_least(scores: NDArray[np.float64], sequence: Sequence[Threshold]) -> NDArray[np.intp]:
    """The first step of a falling sequence at which each score is at least the threshold.

    Scores are compared as recorded, with four decimals; no step takes nan.
    """
    falling = -np.round(np.array(sequence), 4)
    rounded = np.where(np.isnan(scores), -1.0, np.round(scores, 4))
    return np.searchsorted(falling, -rounded, side="left")


def first_of(levels: NDArray[np.intp], count: int, budget: float, confidence: float) -> int:
    """The step to begin with: the first at which the other half has enough pairs for a test.

    A sequence that began with fewer would end at once. If no step has enough, it is the last one.
    """
    enough = trials_needed(budget, confidence) * MARGIN
    reached = np.flatnonzero(taken_by(levels, count) >= enough)
    return int(reached[0]) if len(reached) else count - 1


def fixed_sequence(
    levels: NDArray[np.intp],
    wrong: NDArray[np.bool_],
    sequence: Sequence[Threshold],
    first: int,
    budget: float,
    confidence: float,
) -> Test:
    """Test the thresholds from `first` on until one cannot be certified.

    `levels` are those of independent labelled pairs, and `wrong` says whether taking each is an
    error. The certified step is the loosest, or a stricter one that takes the same pairs.
    """
    taken = taken_by(levels, len(sequence))
    errors = taken_by(levels[wrong], len(sequence))
    steps: list[ThresholdStep] = []
    certified: ThresholdStep | None = None
    for place in range(first, len(sequence)):
        k, n = int(errors[place]), int(taken[place])
        step = ThresholdStep(sequence[place], n, k, p_value(k, n, budget))
        steps.append(step)
        if step.p > 1.0 - confidence:
            break
        if certified is None or step.taken > certified.taken:
            certified = step
    return Test(tuple(steps), certified)


def labels_that_would_do(
    step: ThresholdStep, labels: int, budget: float, confidence: float
) -> int | None:
    """How many labels would probably certify a step that failed, at its current rates.

    None if it took no pairs, or if its error rate is not under the budget, so that more labels of
    the same kind would not help.
    """
    if not step.taken or step.errors / step.taken >= budget:
        return None
    needed = step.taken
    for _ in range(64):
        expected = -(-step.errors * needed // step.taken)
        more = trials_needed(budget, confidence, expected)
        if more <= needed:
            break
        needed = more
    return -(-needed * labels // step.taken)
