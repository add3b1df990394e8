"""A policy's own thresholds, tested as they are.

There is one hypothesis, which was fixed before any label was read, so no labels are spent on a
choice and none have to be held out: half as many labels suffice for the same certificate. The
labels prove nothing if they were used to choose the thresholds or the guard's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.calibrate import (
    ErrorBudget,
    certificate_of,
    chosen,
    head_of,
    label_counts,
    shown_test,
)
from palimpsest.evaluation.evaluate import LabelCounts, evaluate_pairs
from palimpsest.evaluation.labelled import LabelledPair
from palimpsest.evaluation.rates import p_value
from palimpsest.evaluation.rules import joins_from
from palimpsest.evaluation.thresholds import Test, ThresholdStep
from palimpsest.evaluation.trial import TrialVectors
from palimpsest.streams.embedder import Progress


def calibrate_as_is(
    pairs: Sequence[LabelledPair],
    policy: Policy,
    vectors: TrialVectors,
    budget: ErrorBudget,
    data: dict[str, str],
    progress: Progress,
) -> tuple[dict[str, Any], Policy | None]:
    """The answer of `calibrate --as-is`, and the certified policy if the labels support that.

    One pair of each group counts, as in `calibrate`. The policy itself decides, in both orders, and
    the worse result counts. The policy's hash stays: a certificate is not a rule.
    """
    sample = [pair for half in chosen(pairs, policy) for pair in half]
    counts = LabelCounts()
    for seen in evaluate_pairs(sample, policy, vectors, progress):
        counts.add(seen.pair.label, seen.fate)
    joined, wrong = counts.found + counts.false_joins, counts.false_joins
    step = ThresholdStep(0.0, joined, wrong, p_value(wrong, joined, budget.same))
    certified = step if step.p <= 1.0 - budget.confidence else None
    test = shown_test(Test((step,), certified), "same", len(pairs), budget)
    answer = head_of(pairs, policy, vectors, budget, data) | {
        "as_is": True,
        "labels": label_counts(pairs, len(sample), 0),
        "thresholds": [],
        "policy_test": test | joins_from(policy) | {"steps": []},
        "certificate": None,
        "judge_certificate": None,
    }
    if certified is None:
        return answer, None
    certificate = certificate_of(answer, certified, LabelCounts())
    answer["certificate"] = certificate.model_dump(mode="json")
    return answer, policy.model_copy(update={"certificate": certificate})
