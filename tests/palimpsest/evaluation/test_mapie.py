"""The fixed sequence of tests against MAPIE, another implementation of Learn then Test.

The counts are powers of two: MAPIE computes the number of wrong pairs from their share, in floats,
and rounds it up. And it reverses a sequence along which the share of wrong pairs falls, which ours,
fixed in advance, must not; such draws are passed over.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from palimpsest.evaluation.thresholds import fixed_sequence, levels_at_least

SEQUENCE = (0.9, 0.7, 0.5, 0.3)
ADDED = (64, 64, 128, 256)
"""How many pairs each threshold takes that the one before it does not."""


def certified_by_mapie(
    scores: NDArray[np.float64], wrong: NDArray[np.bool_], budget: float, confidence: float
) -> list[float]:
    from mapie.risk_control import BinaryClassificationController  # a second, at no other test

    controller = BinaryClassificationController(
        lambda rows: np.column_stack([1 - rows[:, 0], rows[:, 0]]),
        "precision",
        1 - budget,
        confidence_level=confidence,
        list_predict_params=np.array(SEQUENCE),
        fwer_method="fixed_sequence",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if nothing is certified
        controller.calibrate(scores[:, None], (~wrong).astype(int))
    return sorted(map(float, controller.valid_predict_params), reverse=True)


def test_the_certified_thresholds_are_those_of_mapie() -> None:
    drawn, numbers = np.random.default_rng(1), Counter[int]()
    scores = np.repeat(np.array(SEQUENCE) + 0.05, ADDED)
    for _ in range(150):
        budget = float(drawn.choice([1 / 16, 1 / 8, 1 / 4]))
        confidence = float(drawn.choice([0.8, 0.95]))
        shares = np.sort(drawn.random(len(ADDED)) * 2 * budget)
        wrong = drawn.random(len(scores)) < np.repeat(shares, ADDED)
        if wrong.mean() <= wrong[: ADDED[0]].mean():
            continue
        levels = levels_at_least(scores, SEQUENCE)
        test = fixed_sequence(levels, wrong, SEQUENCE, 0, budget, confidence)
        certified = [step.threshold for step in test.steps if step.p <= 1 - confidence]
        assert certified == certified_by_mapie(scores, wrong, budget, confidence)
        numbers[len(certified)] += 1
    assert all(numbers[count] >= 5 for count in range(len(SEQUENCE) + 1)), numbers
