"""Simulates audits to forecast how many labels they take if a share of the joins is wrong. Pure.

Before the first label, only an assumed share of wrong joins can tell whether an operator reaches a
target within an hour.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from palimpsest.auditing.bound import DetectionBound, Hypotheses
from palimpsest.auditing.state import PROBES_ARE_ONE_IN

RUNS = 50
"""Number of simulated audits for each target and share."""
MOST_LABELS = 5_000
"""Audits that take more labels are not simulated to their end."""
TARGETS = (0.005, 0.01, 0.02, 0.05)
SHARES = (0.0, 0.001, 0.0025, 0.005, 0.01)
PROBES_TRIED = (*range(0, 40, 2), 40, 50, 60, 80)
"""Numbers of probes after which a simulated audit may end; it may also end after all of them."""


class LabelsForeseen(TypedDict):
    """How many labels, probes included, certify `target` if the share `wrong` of joins is wrong.

    Half of the audits take at most `labels`, nine in ten at most `mostly`; None if more than
    `MOST_LABELS` would be needed, or if no number would do.
    """

    target: float
    wrong: float
    labels: int | None
    mostly: int | None


def foresee_labels(
    joins: int, target: float, share: float, delta: float, detection: float, probes: int
) -> LabelsForeseen:
    """Simulate audits of a number of joins, in random orders, in which all probes are found.

    `delta` and `detection` are the error probabilities of the two bounds. `probes` is the number of
    probes; with 0 the labels are taken to be right.
    """
    wrong = np.zeros((RUNS, joins), np.bool_)
    wrong[:, : round(share * joins)] = True
    wrong = np.random.default_rng(1).permuted(wrong, axis=1)[:, :MOST_LABELS]
    took = np.full(RUNS, np.inf)
    if share < target:
        took = np.sort(labels_taken(wrong, joins, target, delta, detection, probes))
    labels, mostly = (float(took[int(RUNS * part) - 1]) for part in (0.5, 0.9))
    return {
        "target": target,
        "wrong": share,
        "labels": int(labels) if labels < np.inf else None,
        "mostly": int(mostly) if mostly < np.inf else None,
    }


def labels_taken(
    wrong: NDArray[np.bool_], joins: int, target: float, delta: float, detection: float, probes: int
) -> NDArray[np.float64]:
    """How many labels each audit takes to reach the target.

    `wrong`, of shape (runs, joins), says which joins are wrong. Infinite if these joins are not
    enough. One pair in ten is a probe, while any are left.
    """
    shown = np.array([*(count for count in PROBES_TRIED if count < probes), probes])
    least = DetectionBound(detection).least_after if probes else lambda _: 1.0
    most = np.array([int(target * joins * least(int(count)) + 1e-9) for count in shown])
    runs = len(wrong)
    bets = Hypotheses(joins, np.repeat(most + 1.0, runs))
    needed = np.full(len(most) * runs, np.inf)
    earliest = np.repeat(shown * (PROBES_ARE_ONE_IN - 1), runs)
    ready = np.full(runs, np.inf)
    for number, some in enumerate(wrong.T, 1):
        bets.see(np.tile(some, len(most)))
        rejected = bets.log_wealth >= -np.log(delta)
        needed[rejected & (needed == np.inf)] = number
        ready = np.maximum(needed, earliest).reshape(len(most), runs).min(axis=0)
        if (ready <= number).all():
            break
    between = PROBES_ARE_ONE_IN - 1
    took: NDArray[np.float64] = ready + np.minimum(ready, probes * between) // between
    return took
