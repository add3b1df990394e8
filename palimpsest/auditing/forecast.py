"""How many labels an audit would take, if a share of the joins is wrong: by simulated audits. Pure.

Whether a target is within reach of an operator's hour is known before the first label only if
somebody says how many joins may be wrong.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from palimpsest.auditing.bound import DetectionBound, Hypotheses
from palimpsest.auditing.state import PROBES_ARE_ONE_IN

RUNS = 50
"""Simulated audits of each target and share."""
MOST_LABELS = 5_000
"""An audit that takes more labels is not simulated to its end."""
TARGETS = (0.005, 0.01, 0.02, 0.05)
SHARES = (0.0, 0.001, 0.0025, 0.005, 0.01)
PROBES_TRIED = (*range(0, 40, 2), 40, 50, 60, 80)
"""Numbers of probes after which an audit may end, beside all there are; many end before 40."""


class LabelsForeseen(TypedDict):
    """The labels, probes among them, until `target` is certified if a share `wrong` of joins is.

    Half of the audits take `labels` or fewer, nine in ten `mostly`; None for more than
    `MOST_LABELS` joins, or if no number does.
    """

    target: float
    wrong: float
    labels: int | None
    mostly: int | None


def foresee_labels(
    joins: int, target: float, share: float, delta: float, detection: float, probes: int
) -> LabelsForeseen:
    """Simulate audits of a number of joins, in random orders, of which all probes are found.

    `delta` and `detection` are the chances of error of both bounds, `probes` how many there are; 0
    for labels that are taken to be right.
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
    """Of audits (runs, labels) whose joins are `wrong` or not: all labels until the target.

    Infinite if these labels are not enough. One pair in ten is a probe, as long as there are some.
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
