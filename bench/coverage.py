"""Simulates how often an audit, a certificate after errors, and an estimate are wrong.

Only chance is measured, with fixed seeds, so the numbers are the same on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bench.figure import Measured, Scale
from palimpsest.auditing.bound import DetectionBound, ErrorBound, Hypotheses
from palimpsest.auditing.order import sealed_order
from palimpsest.auditing.recall import StratumCounts, allocation, interval, pilot

DELTA, DETECTION_DELTA = 0.05, 0.01
PLACES = {
    20: (1, 2, 3, 5, 10, 19),
    150: (1, 4, 10, 40, 120),
    600: (1, 6, 40, 150),
    10_000: (50, 101, 500),
}
"""Numbers of joins, with the numbers of wrong ones among them."""
LOOKS = 1_500
"""Labels after which an audit of many joins is abandoned: nobody would continue for longer."""

JOINS, WRONG, TARGET = 400, 16, 0.02
FIRST_LOOK, SECOND_LOOK = 150, 200
"""Labels of two rounds: the first finds errors, which are un-merged; the second certifies."""
PAIRS = [f"pair {number}" for number in range(JOINS)]

SIZES = (1_600, 800, 400, 200, 100, 40)
MIXES = {
    "as it is": (0.0, 0.002, 0.01, 0.05, 0.2, 0.6),
    "rare": (0.001, 0.001, 0.001, 0.002, 0.002, 0.01),
    "one stratum": (0.0, 0.0, 0.0, 0.0, 0.0, 0.5),
    "all alike": (0.3,) * 6,
}
"""Shares of duplicates in the strata."""
LABELS = 160
"""Of an estimate's 200 labels, those for the strata; the other fifth is for random pairs."""

Reorder = Callable[[str, str, list[str]], list[str]]
"""Makes the order of the second round from both seeds and the standing joins."""


def coverage(scale: Scale) -> list[Measured]:
    """The shares of runs that are wrong; each must be at most what is claimed."""
    runs = scale.of(200, 5_000, 5_000)
    found = [
        _wrong(f"bound: {wrong:,} of {size:,} joins wrong", ever_rejected(size, wrong, runs), runs)
        for size, places in PLACES.items()
        for wrong in places
        if size <= scale.of(600, 10_000, 10_000)
    ]
    rounds = scale.of(100, 2_000, 5_000)
    orders: Mapping[str, Reorder] = {
        "certified anew with a fresh seed": lambda _first, second, left: sealed_order(second, left),
        "the trap, the old seed again": lambda first, _second, left: sealed_order(first, left),
    }
    for name, reorder in orders.items():
        share = wrong_certificates(rounds, reorder)
        found.append(_wrong(name, share, rounds, None if "trap" in name else DELTA))
    runs = scale.of(100, 2_000, 2_000)
    for share in (0.5, 0.8, 0.95):
        overrated = ever_overrated(share, runs)
        found.append(_wrong(f"detection: {share:.0%} are found", overrated, runs, DETECTION_DELTA))
    runs = scale.of(20, 1_000, 1_000)
    for name, shares in MIXES.items():
        missed = 1 - covered(shares, runs)
        found.append(_wrong(f"recall's interval, {name}", missed, runs))
    return found


def _wrong(name: str, share: float, runs: int, reach: float | None = DELTA) -> Measured:
    return Measured(name, "of the runs wrong", [share], reach, at_most=True, note=f"{runs:,} runs")


def ever_rejected(joins: int, wrong: int, runs: int) -> float:
    """The share of random orders in which some label rejects the true number of errors."""
    chance = np.random.default_rng(wrong)
    truth = Hypotheses(joins, np.full(runs, float(wrong)))
    rejected = np.zeros(runs, dtype=bool)
    left = np.full(runs, wrong)
    for label in range(min(joins, LOOKS)):
        is_wrong = chance.random(runs) < left / (joins - label)
        left -= is_wrong
        truth.see(is_wrong)
        rejected |= truth.log_wealth >= -np.log(DELTA)
    return float(rejected.mean())


def wrong_certificates(runs: int, reorder: Reorder) -> float:
    """The share of runs whose second round certifies the target although more joins are wrong.

    Before that round, the errors that the first one found were un-merged.
    """
    return sum(_certifies_wrongly(run, reorder) for run in range(runs)) / runs


def _certifies_wrongly(run: int, reorder: Reorder) -> bool:
    wrong = set(random.Random(run).sample(PAIRS, WRONG))
    first, second = f"first {run}", f"second {run}"
    looked_at = {*sealed_order(first, PAIRS)[:FIRST_LOOK]}
    standing = [pair for pair in PAIRS if pair not in looked_at or pair not in wrong]
    left = wrong & set(standing)
    allowed = int(TARGET * len(standing))
    bound = ErrorBound(len(standing), DELTA)
    for pair in reorder(first, second, standing)[:SECOND_LOOK]:
        bound.see(wrong=pair in left)
        if bound.most <= allowed:
            return len(left) > allowed
    return False


def ever_overrated(share: float, runs: int) -> float:
    """The share of runs of 100 probes in which the detection bound ever exceeds the true share."""
    chance, ever = np.random.default_rng(7), 0
    for _ in range(runs):
        bound = DetectionBound(DETECTION_DELTA)
        for found in chance.random(100) < share:
            bound.see(found=bool(found))
            if bound.least > share:
                ever += 1
                break
    return ever / runs


def covered(shares: Sequence[float], runs: int) -> float:
    """The share of runs in which an estimate's interval contains the true number of duplicates."""
    chance, hits = np.random.default_rng(11), 0
    truth = [round(size * share) for size, share in zip(SIZES, shares, strict=True)]
    for _ in range(runs):
        strata = [StratumCounts(size) for size in SIZES]
        first = pilot(SIZES, round(LABELS / (1 - 0.2)))
        strata = _looked(chance, strata, first, truth)
        more = allocation(strata, LABELS - sum(first))
        told = interval(_looked(chance, strata, more, truth), 1 - DELTA)
        hits += told.low <= sum(truth) <= told.high
    return hits / runs


def _looked(
    chance: np.random.Generator,
    strata: Sequence[StratumCounts],
    more: Sequence[int],
    truth: Sequence[int],
) -> list[StratumCounts]:
    """The strata after `more` labels each, drawn without replacement."""
    found = []
    for stratum, count, same in zip(strata, more, truth, strict=True):
        unseen = stratum.pairs - stratum.labels
        left = same - stratum.missed
        missed = int(chance.hypergeometric(left, unseen - left, count)) if count else 0
        found.append(StratumCounts(stratum.pairs, stratum.labels + count, stratum.missed + missed))
    return found
