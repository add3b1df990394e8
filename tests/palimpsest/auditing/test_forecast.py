"""Forecasts of the number of labels, compared with audits that are labelled one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from palimpsest.auditing.bound import DetectionBound, ErrorBound
from palimpsest.auditing.forecast import MOST_LABELS, foresee_labels, labels_taken
from palimpsest.auditing.state import is_probe_slot

DELTA, DETECTION = 0.04, 0.01


def one_by_one(wrong: NDArray[np.bool_], joins: int, target: float, seed: str, probes: int) -> int:
    """The labels of one audit, with a probe at each slot that its seed has for one."""
    errors, detection = ErrorBound(joins, DELTA), DetectionBound(DETECTION)
    given, due, left, order = 0, 0, probes, iter(wrong)
    while True:
        detected = detection.least if probes else 1.0
        if detected and errors.most / detected / joins <= target:
            return given
        due += is_probe_slot(seed, given)
        given += 1
        if due and left:
            detection.see(found=True)
            due, left = due - 1, left - 1
        else:
            errors.see(wrong=bool(next(order)))


@pytest.mark.parametrize("joins", [60, 400])
def test_without_probes_it_is_what_each_order_takes(joins: int) -> None:
    chance = np.random.default_rng(joins)
    wrong = chance.random((12, joins)) < 0.02
    took = labels_taken(wrong, joins, 0.1, DELTA, 0.0, 0)
    assert took.tolist() == [one_by_one(order, joins, 0.1, "", 0) for order in wrong]
    assert np.isinf(labels_taken(wrong[:, :5], joins, 0.1, DELTA, 0.0, 0)).all(), "too few"


@pytest.mark.parametrize(
    ("target", "share"),
    [
        pytest.param(0.02, 0.0, marks=pytest.mark.long),
        (0.05, 0.01),
        pytest.param(0.1, 0.05, marks=pytest.mark.long),
    ],
)
def test_with_probes_it_is_what_half_of_all_audits_take(target: float, share: float) -> None:
    """Only approximately: a seed's slots for probes are not exactly one in ten."""
    joins, took = 1_500, []
    for seed in range(41):
        wrong = np.random.default_rng(100 + seed).permutation(np.arange(joins) < share * joins)
        took.append(one_by_one(wrong, joins, target, f"dice {seed}", 100))
    found = foresee_labels(joins, target, share, DELTA, DETECTION, 100)
    assert found["labels"] == pytest.approx(np.median(took), rel=0.06)
    assert found["mostly"] == pytest.approx(np.quantile(took, 0.9), rel=0.15)


def test_what_cannot_be_certified_has_no_number() -> None:
    assert foresee_labels(900, 0.01, 0.01, DELTA, DETECTION, 100)["labels"] is None
    few = foresee_labels(50, 0.001, 0.0, DELTA, 0.0, 0)
    assert few["labels"] == ErrorBound(50, DELTA).labels_needed(0)
    many = foresee_labels(10**6, 0.0001, 0.0, DELTA, 0.0, 0)
    assert many["labels"] is None, f"over {MOST_LABELS}"
