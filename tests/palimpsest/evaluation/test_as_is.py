"""Thresholds that are given are tested by all labels, and certified no more often than promised."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest

from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.as_is import calibrate_as_is
from palimpsest.evaluation.calibrate import ErrorBudget, chosen
from palimpsest.evaluation.evaluate import evaluate_pairs
from palimpsest.evaluation.labelled import LabelledPair
from palimpsest.evaluation.rates import p_value, trials_needed
from palimpsest.evaluation.trial import TrialVectors
from palimpsest.streams.policies import load_policy, parse_policy
from palimpsest.streams.policies.explain import explain
from palimpsest.streams.policies.writing import write_policy
from tests.palimpsest.evaluation.conftest import edited, silent
from tests.palimpsest.evaluation.test_calibrate import DATA, STANDARD, labels

LAYERED = load_policy("layered")


def confirmed(
    vectors: TrialVectors, pairs: list[LabelledPair], budget: float, policy: Policy = STANDARD
) -> tuple[dict[str, Any], Policy | None]:
    return calibrate_as_is(pairs, policy, vectors, ErrorBudget(budget, 0.05, 0.95), DATA, silent)


def test_all_labels_test_the_policy_and_none_are_held_out(vectors: TrialVectors) -> None:
    enough = 2 * trials_needed(0.05, 0.95) - 1  # of three labels two are joined, then one in four
    answer, made = confirmed(vectors, labels(enough), 0.05)
    assert (answer["labels"]["tested"], answer["labels"]["held_out"]) == (enough, 0)
    assert made is not None
    assert made.certificate is not None
    assert (made.certificate.joined, made.certificate.wrong) == (59, 0)
    short, refused = confirmed(vectors, labels(enough - 4), 0.05)
    assert refused is None
    assert (short["policy_test"]["taken"], short["certificate"]) == (57, None)
    assert short["policy_test"]["labels_that_would_do"] == -(-59 * (enough - 4) // 57)


def test_the_policy_keeps_its_rules_and_its_hash(vectors: TrialVectors) -> None:
    answer, made = confirmed(vectors, labels(), 0.05)
    assert made is not None
    assert made.model_copy(update={"certificate": None}) == STANDARD
    assert made.hash == STANDARD.hash
    assert answer["certificate"] == made.model_dump(mode="json")["certificate"]
    assert parse_policy(write_policy(made), "file") == made
    assert "tested as they are" in " ".join(explain(made))
    assert answer["policy_test"]["cosine"] == 0.4
    assert answer["policy_test"]["jaccard"] == 0.85


@pytest.mark.parametrize(
    ("policy", "budget"),
    [
        (STANDARD, Fraction(1, 2)),
        (LAYERED, Fraction(1, 10)),
        pytest.param(STANDARD, Fraction(1, 10), marks=pytest.mark.long),
        pytest.param(LAYERED, Fraction(1, 2), marks=pytest.mark.long),
    ],
)
def test_what_is_counted_is_what_evaluate_sees(
    vectors: TrialVectors, policy: Policy, budget: Fraction
) -> None:
    """The oracle counts joins in the answer of `evaluate`, and sums the tail in fractions."""
    pairs = [*edited(5, 300)]
    answer, made = confirmed(vectors, pairs, float(budget), policy)
    sample = [pair for half in chosen(pairs, policy) for pair in half]
    joined = [s for s in evaluate_pairs(sample, policy, vectors, silent) if s.fate == "joined"]
    n, k = len(joined), sum(seen.wrong for seen in joined)
    assert (answer["policy_test"]["taken"], answer["policy_test"]["errors"]) == (n, k)
    assert n
    p = sum(comb(n, i) * budget**i * (1 - budget) ** (n - i) for i in range(k + 1))
    assert answer["policy_test"]["p"] == pytest.approx(float(p))
    assert (made is not None) == (p <= Fraction(1, 20))


# -- one pair of each group, and one that may be joined --------------------------------------------

RUNS, GROUPS, LEVEL, BUDGET = 4_000, 59, 0.05, 0.05
EACH = 10
"""Pairs of a group that may be joined."""


def grouped() -> list[LabelledPair]:
    """Groups of one text: ten pairs that are near-identical, and ten that are not."""
    pairs: list[LabelledPair] = []
    for n in range(GROUPS):
        text = f"Ada met her friend w{n} and fed the dog near the old mill with her"
        for other in range(EACH):
            longer = f"{text} sister x{other}"
            pairs.append(LabelledPair(f"{n}", longer, f"{longer}.", "same"))
            pairs.append(LabelledPair(f"{n}", text, f"{longer}.", "different"))
    return pairs


def wrongly_certified(sample: list[LabelledPair]) -> float:
    """The share of runs that certify a risk just over the budget by the pairs that count.

    The labels of a group are right or wrong together: one person read its text.
    """
    random = np.random.default_rng(20_261_129)
    counted = Counter(int(pair.id) for pair in sample)
    sizes = np.array([counted[group] for group in range(GROUPS)])
    wrong = (random.random((RUNS, GROUPS)) < BUDGET + 1e-9) @ sizes
    return sum(p_value(int(k), int(sizes.sum()), BUDGET) <= LEVEL for k in wrong) / RUNS


def both_halves(policy: Policy | None) -> list[LabelledPair]:
    return [pair for half in chosen(grouped(), policy) for pair in half]


def test_of_each_group_one_pair_that_may_be_joined_counts() -> None:
    assert [*Counter(pair.id for pair in both_halves(STANDARD)).values()] == [1] * GROUPS
    assert all(pair.label == "same" for pair in both_halves(STANDARD))
    assert 0 < sum(pair.label == "same" for pair in both_halves(None)) < GROUPS


def test_a_policy_that_joins_by_scores_alone_may_join_any_pair() -> None:
    """To prefer what the guard lets pass would leave its wrong joins out."""
    assert both_halves(LAYERED) == both_halves(None)


def test_one_of_a_group_certifies_no_more_often_than_promised_and_all_of_it_do() -> None:
    slack = 3 * sqrt(LEVEL * (1 - LEVEL) / RUNS)
    assert LEVEL / 3 < wrongly_certified(both_halves(STANDARD)) <= LEVEL + slack
    assert wrongly_certified([p for p in grouped() if p.label == "same"]) > 3 * LEVEL
