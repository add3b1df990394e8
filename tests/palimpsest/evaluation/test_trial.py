"""A trial predicts what a store does, and a calibrated threshold does what it did when tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.evaluate import clusters_document, evaluate_clusters, evaluate_pairs
from palimpsest.evaluation.labelled import LabelledMember, LabelledPair
from palimpsest.evaluation.rules import measure_pair, wide_open, with_thresholds
from palimpsest.evaluation.trial import Trial, TrialVectors
from palimpsest.streams.policies import load_policy, preset_names
from tests.long import long_but
from tests.palimpsest.evaluation.conftest import edited, silent
from tests.stub_engine import load_stub

PAIRS = [*edited(1, 80)]
FATES = {"stored": "kept", "pending": "asked", "llm_keep": "kept", "fallback_keep": "kept"}
EXACT = ("hash_exact", "recent_capture")


def vectors_for(policy: Policy) -> TrialVectors:
    """Vectors of the model that the policy names."""
    return TrialVectors(load_stub(policy.model))


@pytest.mark.parametrize("name", preset_names())
def test_a_trial_decides_as_a_store_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Palimpsest.open(tmp_path, policy=name) as opened:
        rows = [
            {"owner_id": f"{pair.id}:{order}", "text": text}
            for pair in PAIRS
            for order, texts in enumerate(((pair.a, pair.b), (pair.b, pair.a)))
            for text in texts
        ]
        outcomes = opened.submit(rows, source="test")
    decisions = [outcome.decision or "" for outcome in outcomes[1::2]]
    fates = [FATES.get(d, "exact" if d in EXACT else "joined") for d in decisions]
    policy = load_policy(name)
    with Trial(policy, vectors_for(policy)) as trial:
        found = [one.fate for both in trial.pairs(PAIRS, silent) for one in both]
    assert found == fates
    assert len(set(found)) >= (3 if name != "importance" else 2)


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize(
    "thresholds",
    long_but((0.85, 0.6), (1.0, 0.86), of=[(0.9, 0.95), (0.85, 0.6), (1.0, 0.86), (0.95, 0.3)]),
)
def test_a_threshold_joins_in_earnest_what_it_was_tested_to_join(
    name: str, thresholds: tuple[float, float]
) -> None:
    jaccard, cosine = thresholds
    policy = load_policy(name)
    vectors = vectors_for(policy)
    with Trial(wide_open(policy), vectors) as trial:
        decided = trial.pairs(PAIRS, silent, orders=1)
        seen = [measure_pair(pair, one, policy) for pair, [one] in zip(PAIRS, decided, strict=True)]
    expected = [
        pair.exact or one.same("jaccard") >= jaccard or one.same("cosine") >= cosine
        for pair, one in zip(PAIRS, seen, strict=True)
    ]
    with Trial(with_thresholds(policy, jaccard, cosine, None), vectors) as trial:
        decided = trial.pairs(PAIRS, silent)
        found = [any(one.fate in ("joined", "exact") for one in both) for both in decided]
    assert found == expected
    assert any(expected)


@pytest.mark.parametrize("name", preset_names())
def test_what_a_policy_asks_about_is_known_from_one_run_wide_open(
    name: str,
) -> None:
    policy = load_policy(name).model_copy(update={"enabled": True})
    vectors = vectors_for(policy)
    judged = policy.model_copy(update={"judge": policy.judge.model_copy(update={"enabled": True})})
    with Trial(wide_open(judged), vectors) as trial:
        decided = trial.pairs(PAIRS, silent, orders=1)
        seen = [measure_pair(pair, one, judged) for pair, [one] in zip(PAIRS, decided, strict=True)]
    with Trial(judged, vectors) as trial:
        found = [both[0].fate for both in trial.pairs(PAIRS, silent)]
    pairs = zip(PAIRS, seen, found, strict=True)
    assert [(p.id, m.asked) for p, m, _ in pairs if not p.exact] == [
        (p.id, fate == "asked") for p, fate in zip(PAIRS, found, strict=True) if not p.exact
    ]


def test_a_floor_is_where_asking_begins(vectors: TrialVectors) -> None:
    policy = with_thresholds(load_policy("standard"), None, None, 0.9)
    pairs = [
        LabelledPair("near", "a b c d e f g h i j k", "a b c d e f g h i j l", "different"),
        LabelledPair("far", "a b c d e f g h", "a b c d e f g i", "different"),
    ]
    found = evaluate_pairs(pairs, policy, vectors, silent)
    assert [(one.pair.id, one.fate) for one in found] == [("near", "asked"), ("far", "kept")]


def test_of_two_orders_the_worse_counts(vectors: TrialVectors) -> None:
    """Except for `importance` and the like, presets decide the same in both orders."""
    policy = load_policy("namespaced")
    short, long = "a b c d e f", "a b c d e f " + " " * 60 + "g"
    [seen] = evaluate_pairs([LabelledPair("1", short, long, "different")], policy, vectors, silent)
    assert seen.order_matters
    assert seen.fate == "joined"
    [seen] = evaluate_pairs([LabelledPair("1", short, long, "same")], policy, vectors, silent)
    assert seen.fate == "kept"


def test_clusters_are_decided_on_as_streams_in_both_orders(vectors: TrialVectors) -> None:
    texts = [
        ("ada", "Ada owns a big red dog and feeds it daily", "1"),
        ("ada", "Ada owns a big red dog and feeds it daily.", "1"),
        ("ada", "Grace sails near the old mill on Mondays", "2"),
        ("ben", "Ada owns a big red dog and feeds it daily", "1"),
    ]
    members = [LabelledMember(*text) for text in texts]
    policy = load_policy("standard")
    orders = evaluate_clusters(members, policy, vectors, silent)
    answer = clusters_document(orders, policy, vectors, 0.95)
    assert (answer["texts"], answer["owners"], answer["clusters"]) == (4, 2, 3)
    for order in answer["orders"]:
        assert (order["memories"], order["joined"], order["false_joins"]) == (3, 1, 0)
        assert order["pairwise"] == order["b_cubed"] == {"precision": 1, "recall": 1, "f1": 1}
        assert order["by_check"].keys() == {"tokens"}
        assert order["wrong_bound"] == pytest.approx(0.95)


def test_a_wrong_join_of_clusters_is_counted(vectors: TrialVectors) -> None:
    texts = [("ada", "Ada owns a big red dog", "1"), ("ada", "Ada owns a big red dog.", "2")]
    policy = load_policy("standard")
    orders = evaluate_clusters([LabelledMember(*text) for text in texts], policy, vectors, silent)
    for order in clusters_document(orders, policy, vectors, 0.95)["orders"]:
        assert (order["joined"], order["false_joins"]) == (1, 1)
        assert order["pairwise"]["precision"] == 0.0
