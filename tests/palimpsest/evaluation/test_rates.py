"""Bounds and agreements, compared with values computed by hand or known from tables."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.evaluation.rates import (
    Agreement,
    b_cubed,
    lower_bound,
    p_value,
    pairwise,
    trials_needed,
    upper_bound,
)
from tests.long import examples


@pytest.mark.parametrize(
    ("errors", "trials", "bound"),
    [
        (0, 1, 0.95),
        (0, 10, 1 - 0.05**0.1),
        (0, 1000, 1 - 0.05**0.001),
        (1, 10, 0.39416),
        (5, 100, 0.10225),
        (10, 10, 1.0),
        (0, 0, 1.0),
    ],
)
def test_the_bound_is_that_of_clopper_and_pearson(errors: int, trials: int, bound: float) -> None:
    assert upper_bound(errors, trials) == pytest.approx(bound, abs=5e-5)


def test_the_bound_holds_where_the_terms_alone_would_vanish() -> None:
    assert 0.019 < upper_bound(710, 34_525) < 0.023


@given(st.integers(0, 200), st.integers(1, 5_000), st.floats(0.5, 0.99))
@settings(max_examples=examples(200))
def test_the_bound_lies_above_the_rate_and_grows_with_errors(
    errors: int, more: int, confidence: float
) -> None:
    trials = errors + more
    bound = upper_bound(errors, trials, confidence)
    assert errors / trials < bound < 1.0
    assert upper_bound(errors + 1, trials, confidence) > bound
    assert upper_bound(errors, trials, 0.995) > bound


def test_more_errors_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="3 errors in 2 trials"):
        upper_bound(3, 2)


def test_pairwise_counts_pairs_that_belong_together() -> None:
    gold = {"a": 1, "b": 1, "c": 1, "d": 2}
    found = {"a": "x", "b": "x", "c": "y", "d": "y"}
    assert pairwise(found, gold) == Agreement(precision=1 / 2, recall=1 / 3)


def test_b_cubed_is_averaged_over_items() -> None:
    gold = {"a": 1, "b": 1, "c": 1, "d": 2}
    found = {"a": "x", "b": "x", "c": "y", "d": "y"}
    agreement = b_cubed(found, gold)
    assert agreement.precision == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)
    assert agreement.recall == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 4)))
@settings(max_examples=examples(200))
def test_the_gold_clusters_agree_with_themselves_under_any_names(gold: dict[int, int]) -> None:
    renamed = {item: f"cluster {label}" for item, label in gold.items()}
    for agreement in (pairwise(renamed, gold), b_cubed(renamed, gold)):
        assert agreement.precision == pytest.approx(1.0)
        assert agreement.recall == pytest.approx(1.0)
        assert agreement.f1 == pytest.approx(1.0)


def test_one_cluster_of_all_finds_everything_and_singletons_are_never_wrong() -> None:
    gold = {1: "a", 2: "a", 3: "b", 4: "b"}
    lumped, split = dict.fromkeys(gold, 0), {item: item for item in gold}
    assert pairwise(lumped, gold).recall == b_cubed(lumped, gold).recall == 1.0
    assert pairwise(split, gold) == Agreement(1.0, 0.0)
    assert pairwise(split, gold).f1 == pytest.approx(0.0)
    assert b_cubed(split, gold) == Agreement(1.0, 0.5)


def test_clusters_of_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match="different items"):
        b_cubed({1: 1}, {2: 1})


def exactly_at_most(errors: int, trials: int, rate: Fraction) -> Fraction:
    """The binomial distribution in exact fractions: slow, but without rounding."""
    return sum(
        (comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(errors + 1)),
        Fraction(0),
    )


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 199))
def test_a_p_value_is_the_exact_sum(errors: int, more: int, budget: int) -> None:
    exact = exactly_at_most(errors, errors + more, Fraction(budget, 200))
    found = p_value(errors, errors + more, budget / 200)
    assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


@given(st.integers(0, 40), st.integers(1, 200))
def test_a_bound_is_the_rate_at_which_so_few_errors_have_the_p_value(
    errors: int, more: int
) -> None:
    trials = errors + more
    bound = Fraction(upper_bound(errors, trials)).limit_denominator(10**12)
    assert float(exactly_at_most(errors, trials, bound)) == pytest.approx(0.05, rel=1e-6)
    assert lower_bound(trials - errors, trials) == pytest.approx(1 - float(bound))


@pytest.mark.parametrize(("budget", "errors"), [(0.005, 0), (0.005, 1), (0.05, 0), (0.1, 7)])
def test_the_trials_needed_are_the_fewest(budget: float, errors: int) -> None:
    needed = trials_needed(budget, 0.95, errors)
    share = Fraction(budget).limit_denominator(1000)
    assert exactly_at_most(errors, needed, share) <= Fraction(1, 20)
    assert exactly_at_most(errors, needed - 1, share) > Fraction(1, 20)


def test_without_an_error_598_labels_certify_half_a_percent() -> None:
    assert trials_needed(0.005, 0.95) == 598
