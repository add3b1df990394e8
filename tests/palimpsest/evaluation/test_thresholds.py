"""Learn then Test against a brute-force oracle in fractions, and its guarantee by simulation."""

from __future__ import annotations

from fractions import Fraction
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.evaluation.rates import p_value, trials_needed
from palimpsest.evaluation.thresholds import (
    ThresholdStep,
    downward,
    first_of,
    fixed_sequence,
    labels_that_would_do,
    levels_at_least,
)

FEW = (0.9, 0.7, 0.5, 0.3)
Labelled = list[tuple[float, bool]]
labelled = st.lists(
    st.tuples(st.sampled_from([0.95, 0.9, 0.8, 0.7, 0.6, 0.4, 0.1]), st.booleans()), max_size=60
)


def oracle(pairs: Labelled, budget: Fraction, level: Fraction) -> list[float]:
    """The thresholds that are certified, by loops over pairs and exact fractions."""
    certified: list[float] = []
    for threshold in FEW:
        taken = [wrong for score, wrong in pairs if score >= threshold]
        n, k = len(taken), sum(taken)
        p = sum(comb(n, i) * budget**i * (1 - budget) ** (n - i) for i in range(k + 1))
        if p > level:
            break
        certified.append(threshold)
    return certified


def certified_of(pairs: Labelled, budget: float, confidence: float, first: int = 0) -> list[float]:
    scores = np.array([score for score, _ in pairs], np.float64)
    wrong = np.array([one for _, one in pairs], np.bool_)
    levels = levels_at_least(scores, FEW)
    test = fixed_sequence(levels, wrong, FEW, first, budget, confidence)
    return [step.threshold for step in test.steps if step.p <= 1 - confidence]


@given(labelled, st.sampled_from([Fraction(1, 4), Fraction(1, 10), Fraction(1, 2)]))
def test_the_certified_thresholds_are_those_of_the_oracle(
    pairs: Labelled, budget: Fraction
) -> None:
    assert certified_of(pairs, float(budget), 0.8) == oracle(pairs, budget, Fraction(1, 5))


def test_the_sequence_ends_at_the_first_that_fails() -> None:
    """A looser threshold that would pass by itself is not tested."""
    pairs = [(0.9, False)] * 60 + [(0.7, True)] * 20 + [(0.5, False)] * 900
    assert certified_of(pairs, 0.05, 0.95) == [0.9]


def test_of_thresholds_that_take_the_same_pairs_the_strictest_is_returned() -> None:
    levels = levels_at_least(np.full(100, 0.9), FEW)
    test = fixed_sequence(levels, np.zeros(100, np.bool_), FEW, 0, 0.05, 0.95)
    assert [step.threshold for step in test.steps] == [*FEW]
    assert test.certified == ThresholdStep(0.9, 100, 0, p_value(0, 100, 0.05))


def test_scores_are_compared_with_four_decimals_and_thresholds_are_inclusive() -> None:
    scores = np.array([0.9, 0.89996, 0.8999, float("nan")])
    assert levels_at_least(scores, FEW).tolist() == [0, 0, 1, len(FEW)]
    assert downward()[0] == 1.0
    assert downward()[-1] == 0.0
    assert levels_at_least(np.array([0.0]), downward()).tolist() == [200]


def test_it_begins_where_the_other_half_has_enough_pairs() -> None:
    levels = np.repeat([0, 1, 2], [10, 60, 200])
    assert first_of(levels, 4, 0.05, 0.95) == 2  # 59 are needed, and a quarter more to be safe
    assert first_of(levels[:10], 4, 0.05, 0.95) == 3


def test_labels_that_would_do_follow_from_the_rates() -> None:
    assert labels_that_would_do(ThresholdStep(0.9, 100, 0, 1.0), 1_000, 0.005, 0.95) == 5_980
    assert labels_that_would_do(ThresholdStep(0.9, 100, 5, 1.0), 1_000, 0.005, 0.95) is None
    assert labels_that_would_do(ThresholdStep(0.9, 0, 0, 1.0), 1_000, 0.005, 0.95) is None
    some = labels_that_would_do(ThresholdStep(0.9, 100, 1, 1.0), 100, 0.05, 0.95)
    assert some is not None
    assert p_value(-(-some // 100), some, 0.05) <= 0.05


RUNS, PAIRS = 4_000, 400
BUDGET, LEVEL = 0.05, 0.1
RISKS = (0.0, 0.02, 0.06, 0.2)
"""The share of errors in each range of scores: over the budget from the last threshold on."""
SHARES = (0.3, 0.2, 0.25, 0.25)


def wrongly_certified() -> float:
    """The share of runs that certify a threshold whose true risk is over the budget."""
    random = np.random.default_rng(20_261_127)
    mass, errors = np.cumsum(SHARES), np.cumsum(np.multiply(SHARES, RISKS))
    over = {FEW[n] for n in range(len(FEW)) if errors[n] / mass[n] > BUDGET}
    assert over == {FEW[-1]}
    wrong_runs = 0
    for _ in range(RUNS):
        levels = random.choice(len(FEW), PAIRS, p=SHARES)
        wrong = random.random(PAIRS) < np.take(RISKS, levels)
        test = fixed_sequence(levels, wrong, FEW, 0, BUDGET, 1 - LEVEL)
        wrong_runs += test.certified is not None and test.certified.threshold in over
    return wrong_runs / RUNS


def at_the_edge(*, exact: bool) -> float:
    """The share of runs that certify a threshold whose true risk is just over the budget.

    By the exact test, or only by the observed share of errors.
    """
    random = np.random.default_rng(7)
    over = BUDGET + 1e-9
    wrong_runs = 0
    for _ in range(RUNS):
        count = int(random.binomial(PAIRS, 0.8))  # the number it takes is random, too
        errors = int(random.binomial(count, over))
        levels = np.zeros(count, np.intp)
        wrong = np.arange(count) < errors
        test = fixed_sequence(levels, wrong, FEW, 0, BUDGET, 1 - LEVEL)
        wrong_runs += test.certified is not None if exact else errors <= BUDGET * count
    return wrong_runs / RUNS


def test_at_the_worst_place_a_bad_threshold_is_certified_no_more_often_than_promised() -> None:
    slack = 3 * sqrt(LEVEL * (1 - LEVEL) / RUNS)
    assert LEVEL / 3 < at_the_edge(exact=True) <= LEVEL + slack  # and the test is not idle
    assert wrongly_certified() <= LEVEL + slack


def test_the_simulation_notices_a_threshold_that_is_not_tested() -> None:
    assert at_the_edge(exact=False) > 3 * LEVEL


@pytest.mark.parametrize("budget", [0.005, 0.05])
def test_a_perfect_score_is_certified_with_exactly_as_many_labels_as_are_needed(
    budget: float,
) -> None:
    needed = trials_needed(budget, 0.95)
    for count, certified in ((needed, True), (needed - 1, False)):
        levels = np.zeros(count, np.intp)
        test = fixed_sequence(levels, np.zeros(count, np.bool_), FEW, 0, budget, 0.95)
        assert (test.certified is not None) == certified
