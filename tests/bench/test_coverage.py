"""The simulations of `bench coverage`, in small, and that they find what is broken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from bench import coverage
from bench.figure import Scale
from palimpsest.auditing.bound import Hypotheses
from palimpsest.auditing.order import sealed_order

RUNS = 300


class Forgetful(Hypotheses):
    """A break: it does not take the errors found out of those that are left."""

    def see(self, wrong: bool | NDArray[np.bool_]) -> None:
        super().see(wrong)
        self.errors = np.zeros(self.k.shape)


def test_a_bound_that_forgets_errors_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert coverage.ever_rejected(150, 40, RUNS) <= coverage.DELTA
    monkeypatch.setattr(coverage, "Hypotheses", Forgetful)
    assert coverage.ever_rejected(150, 40, RUNS) > coverage.DELTA


def test_the_old_order_without_the_errors_found_is_a_trap() -> None:
    assert coverage.wrong_certificates(
        60, lambda _, second, pairs: sealed_order(second, pairs)
    ) <= (coverage.DELTA)
    assert coverage.wrong_certificates(60, lambda first, _, pairs: sealed_order(first, pairs)) > 0.8


@pytest.mark.long
def test_an_interval_covers_and_detection_is_not_overrated() -> None:
    assert coverage.covered((0.3,) * 6, 50) >= 0.9
    assert coverage.ever_overrated(0.8, 100) <= 0.05


def test_as_many_runs_are_told_as_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(at: int) -> Callable[..., float]:
        def simulate(*words: int) -> float:
            made.append(words[at])
            return 0.0

        return simulate

    runs_at = {"ever_rejected": 2, "wrong_certificates": 0, "ever_overrated": 1, "covered": 1}
    for name, at in runs_at.items():
        monkeypatch.setattr(coverage, name, counted(at))
    told = [one.note for one in coverage.coverage(Scale("full"))]
    assert told == [f"{runs:,} runs" for runs in made]
