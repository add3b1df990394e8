"""The bound of an audit: exact on small populations, valid in the worst case, and no wider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from palimpsest.auditing.bound import BETS, WEIGHTS, DetectionBound, ErrorBound, Hypotheses
from tests.long import long_but

DELTA = 0.05


def bound_after(population: int, labels: Sequence[bool], delta: float = DELTA) -> ErrorBound:
    audit = ErrorBound(population, delta)
    for wrong in labels:
        audit.see(wrong=wrong)
    return audit


def share_ever_wrong(population: int, errors: int, delta: float) -> float:
    """The share of all orders in which the bound is ever below the truth."""
    ever = 0
    for places in combinations(range(population), errors):
        audit = ErrorBound(population, delta)
        for number in range(population):
            audit.see(wrong=number in places)
            if audit.most < errors:
                ever += 1
                break
    return ever / math.comb(population, errors)


@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("population", [1, 2, 5, 9])
def test_the_bound_covers_in_every_small_population(population: int, delta: float) -> None:
    for errors in range(population + 1):
        assert share_ever_wrong(population, errors, delta) <= delta


def test_a_true_hypothesis_keeps_its_wealth_on_average() -> None:
    population, errors, labels = 8, 3, 5
    wealth = []
    for places in combinations(range(population), errors):
        hypothesis = Hypotheses(population, np.array([float(errors)]))
        for number in range(labels):
            hypothesis.see(number in places)
        wealth.append(float(np.exp(hypothesis.logs).sum()))
    assert np.mean(wealth) == pytest.approx(1.0)


def clean_sample(population: int, errors: int, labels: int) -> float:
    """The hypergeometric probability that no label of a sample is an error."""
    return math.comb(population - errors, labels) / math.comb(population, labels)


@pytest.mark.parametrize("population", [10, 40, 100])
def test_no_clean_sample_proves_more_than_the_hypergeometric_law(population: int) -> None:
    audit = ErrorBound(population, DELTA)
    for labels in range(1, population + 1):
        audit.see(wrong=False)
        exact = max(k for k in range(population + 1) if clean_sample(population, k, labels) > DELTA)
        assert exact <= audit.most
    assert audit.most == 0


def test_where_the_rest_would_have_to_be_wrong_a_clean_label_says_so() -> None:
    assert bound_after(4, [False]).most == 3
    assert bound_after(4, [False, True, False]).most == 2
    assert bound_after(4, [False, True, False, True]).most == 2


def test_the_bound_never_grows_and_is_never_under_the_errors() -> None:
    random = np.random.default_rng(1)
    for share in (0.0, 0.05, 0.5, 1.0):
        audit, before = ErrorBound(300, DELTA), 300
        for wrong in random.random(300) < share:
            audit.see(wrong=bool(wrong))
            assert audit.errors <= audit.most <= before
            before = audit.most
        assert audit.most == audit.errors


def test_a_percent_of_ten_thousand_joins_needs_352_labels_at_most() -> None:
    audit = ErrorBound(10_000, DELTA)
    needed = audit.labels_needed(100)
    assert needed == 342
    assert bound_after(10_000, [False] * 342).most == 100
    assert bound_after(10_000, [False] * 341).most > 100
    assert audit.labels == 0
    assert needed >= math.log(DELTA) / math.log(1 - 0.01)


@pytest.mark.parametrize("seen", [[], [False] * 40, [False] * 20 + [True]])
@pytest.mark.parametrize("further", [0, 1, 2])
def test_labels_needed_after_errors_are_those_that_it_takes(seen: list[bool], further: int) -> None:
    """The oracle labels on: the errors first, then clean ones until the bound is reached."""
    for most in (1, 3, 12):
        audit = bound_after(200, seen)
        needed, labels = audit.labels_needed(most, further), 0
        while audit.most > most and audit.labels < 200:
            audit.see(wrong=labels < further)
            labels += 1
        assert needed == (labels if audit.errors <= most and audit.most <= most else None)


def test_labels_needed_count_on_from_here() -> None:
    audit = bound_after(1_000, [False] * 100)
    assert audit.labels_needed(20) == (ErrorBound(1_000, DELTA).labels_needed(20) or 0) - 100
    assert bound_after(100, [True] * 3).labels_needed(2) is None
    with pytest.raises(ValueError, match="every join"):
        bound_after(1, [False, False])


RUNS = 5_000


def ever_rejected(population: int, errors: int, delta: float, seed: int) -> float:
    """The share of random orders in which any label rejects the true number of errors."""
    random = np.random.default_rng(seed)
    wrong = np.zeros((RUNS, population), dtype=bool)
    wrong[:, :errors] = True
    wrong = random.permuted(wrong, axis=1).T
    truth = Hypotheses(population, np.full(RUNS, float(errors)))
    rejected = np.zeros(RUNS, dtype=bool)
    for label in wrong:
        truth.see(label)
        rejected |= truth.log_wealth >= -np.log(delta)
    return float(rejected.mean())


PLACES = {20: (1, 2, 3, 5, 10, 19), 150: (1, 4, 10, 40, 120), 600: (1, 6, 40)}
"""Sizes, and the numbers of errors tried in each."""


@pytest.mark.parametrize("population", long_but(20, 150, of=PLACES))
def test_at_the_worst_place_five_percent_of_5000_runs_are_wrong_at_most(population: int) -> None:
    shares = [ever_rejected(population, k, DELTA, seed=k) for k in PLACES[population]]
    assert max(shares) <= DELTA


class Forgetful(Hypotheses):
    """A deliberate break: does not subtract the errors found from those that are left."""

    def see(self, wrong: bool | NDArray[np.bool_]) -> None:
        super().see(wrong)
        self.errors = np.zeros(self.k.shape)


def test_the_simulation_finds_a_bound_that_forgets_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "Hypotheses", Forgetful)
    assert max(ever_rejected(150, k, DELTA, seed=k) for k in PLACES[150]) > DELTA


def detection_after(found: Sequence[bool], delta: float = 0.01) -> DetectionBound:
    bound = DetectionBound(delta)
    for each in found:
        bound.see(found=each)
    return bound


def test_detection_is_unknown_at_first_and_grows_with_every_probe_found() -> None:
    assert DetectionBound(0.01).least == 0.0
    least = [detection_after([True] * count).least for count in (5, 10, 20, 40, 80)]
    assert least == sorted(least)
    assert 0.86 < least[3] < 0.9
    assert detection_after([True, False] * 30).least < 0.5
    assert detection_after([True] * 40 + [False] * 40).least < 0.5


@pytest.mark.parametrize("found", [[True] * 12, [True, False, True, True], [False] * 3])
def test_detection_is_what_the_bets_against_each_share_say(found: list[bool]) -> None:
    """Computed independently, one share after the other."""

    def wealth(missed: float) -> float:
        bets = zip(BETS[:, 0], WEIGHTS[:, 0], strict=True)
        each = (
            weight * math.prod(1 + c * missed / (1 - missed) if hit else 1 - c for hit in found)
            for c, weight in bets
        )
        return float(sum(each))

    kept = [step for step in range(1000) if wealth(step / 1000) < 1 / 0.05]
    assert detection_after(found, 0.05).least == pytest.approx(1 - (kept[-1] + 1) / 1000)


@pytest.mark.parametrize("share", long_but(0.8, of=[0.5, 0.8, 0.95]))
def test_detection_is_not_overrated(share: float) -> None:
    random, delta, runs = np.random.default_rng(7), 0.1, 500
    ever = 0
    for _ in range(runs):
        bound = DetectionBound(delta)
        for found in random.random(30) < share:
            bound.see(found=bool(found))
            if bound.least > share:
                ever += 1
                break
    assert ever / runs <= delta
