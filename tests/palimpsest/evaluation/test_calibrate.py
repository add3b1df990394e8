"""Held-out labels stay held out, claims were tested, and anything else is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.evaluation.calibrate import ErrorBudget, calibrate, chosen
from palimpsest.evaluation.labelled import Label, LabelledPair
from palimpsest.evaluation.rates import upper_bound
from palimpsest.evaluation.tables import judge_refusal
from palimpsest.evaluation.trial import TrialVectors
from palimpsest.streams.judge.certificate import JudgeCertificate
from palimpsest.streams.policies import load_policy, parse_policy
from palimpsest.streams.policies.explain import explain
from palimpsest.streams.policies.writing import write_policy
from tests.palimpsest.evaluation.conftest import silent

STANDARD = load_policy("standard")
BUDGET = ErrorBudget(same=0.05, different=0.2, confidence=0.95)
DATA = {"digest": "sha256:made-up", "date": "2026-11-27"}


def labels(count: int = 500) -> list[LabelledPair]:
    """Pairs that differ in a final stop, and pairs that differ in a number or altogether."""
    pairs: list[LabelledPair] = []
    for n in range(count):
        text = f"Ada met her friend w{n} and fed the dog near the old mill"
        match n % 4:
            case 0 | 1:
                pairs.append(LabelledPair(str(n), text, f"{text}.", "same", language="en"))
            case 2:
                pairs.append(
                    LabelledPair(str(n), f"{text} 2 times", f"{text} 3 times", "different")
                )
            case _:
                pairs.append(LabelledPair(str(n), text, f"w{n} sails", "different"))
    return pairs


def calibrated(
    vectors: TrialVectors,
    pairs: list[LabelledPair],
    budget: ErrorBudget = BUDGET,
    policy: Policy = STANDARD,
) -> tuple[dict[str, Any], Policy | None]:
    return calibrate(pairs, policy, vectors, budget, DATA, silent)


texts = st.text("abcdef", min_size=1, max_size=2)
some_pairs = st.lists(st.tuples(texts, texts), max_size=40).map(
    lambda found: [LabelledPair(str(n), a, b, "same") for n, (a, b) in enumerate(found)]
)


which = st.sampled_from([None, STANDARD])


@given(some_pairs, which)
def test_no_two_chosen_pairs_share_a_text_whichever_half_they_are_on(
    pairs: list[LabelledPair], policy: Policy | None
) -> None:
    halves = chosen(pairs, policy)
    said = [text for half in halves for pair in half for text in {pair.a, pair.b}]
    assert len(said) == len(set(said))


@given(some_pairs, st.randoms(), which)
def test_the_halves_depend_on_neither_order_nor_labels(
    pairs: list[LabelledPair], random: Any, policy: Policy | None
) -> None:
    said: tuple[Label, ...] = ("same", "different")
    other = [pair._replace(a=pair.b, b=pair.a, label=random.choice(said)) for pair in pairs]
    random.shuffle(other)
    for half, again in zip(chosen(pairs, policy), chosen(other, policy), strict=True):
        assert {pair.key for pair in half} == {pair.key for pair in again}


@given(some_pairs)
def test_each_group_is_on_one_half_whatever_policy_is_asked(pairs: list[LabelledPair]) -> None:
    for half, again in zip(chosen(pairs), chosen(pairs, STANDARD), strict=True):
        assert len(half) == len(again)


def test_the_halves_are_about_of_one_size() -> None:
    tested, held_out = chosen(labels(2_000))
    assert len(tested) + len(held_out) == 2_000
    assert abs(len(tested) - 1_000) < 150


def test_no_threshold_depends_on_a_label_that_is_held_out(vectors: TrialVectors) -> None:
    pairs = labels()
    _, held_out = chosen(pairs)
    keys = {pair.key for pair in held_out}
    flipped = [
        pair._replace(label="same" if pair.label == "different" else "different")
        if pair.key in keys
        else pair
        for pair in pairs
    ]
    (one, made), (other, made_again) = (calibrated(vectors, some) for some in (pairs, flipped))
    assert made is not None
    assert made_again is not None
    assert made.hash == made_again.hash
    assert one["policy_test"] == other["policy_test"]
    for mine, theirs in zip(one["thresholds"], other["thresholds"], strict=True):
        assert mine | {"held_out": None} == theirs | {"held_out": None}
    assert one["held_out"]["false_joins"] == 0
    assert other["held_out"]["false_joins"] > 0


def test_one_label_of_the_tested_half_can_change_it(vectors: TrialVectors) -> None:
    """So the test above is not idle: if all labels there are inverted, nothing can be certified."""
    pairs = labels()
    keys = {pair.key for pair in chosen(pairs)[0]}
    turned = [p._replace(label="different") if p.key in keys else p for p in pairs]
    assert calibrated(vectors, turned)[1] is None


def test_the_certificate_has_what_was_counted(vectors: TrialVectors) -> None:
    answer, made = calibrated(vectors, labels())
    assert made is not None
    one = made.certificate
    assert one is not None
    tested, held_out = chosen(labels())
    assert (one.labels, one.tested, one.held_out) == (500, len(tested), len(held_out))
    same = [sum(pair.label == "same" for pair in half) for half in (tested, held_out)]
    assert [one.joined, one.held_out_joined] == same
    assert (one.wrong, one.held_out_wrong) == (0, 0)
    assert one.held_out_bound == pytest.approx(upper_bound(0, same[1]), abs=1e-6)
    assert (one.data, one.date) == (DATA["digest"], DATA["date"])
    assert one.embedder == "all-MiniLM-L6-v2/stub"
    assert "does not carry over to another mix" in one.risk
    assert "labels' own mix" in answer["risk"]["same"]


def test_what_differs_is_kept_apart_under_a_threshold_of_its_own(vectors: TrialVectors) -> None:
    answer, made = calibrated(vectors, labels())
    found = {
        (threshold["answer"], threshold["score"], threshold["language"]): threshold
        for threshold in answer["thresholds"]
    }
    assert found["different", "cues", "all"]["certified"]
    assert "number" in found["different", "cues", "all"]["cues"]
    assert found["different", "cues", "all"]["held_out"]["errors"] == 0
    assert found["same", "cosine", "en"]["certified"]
    assert made is not None


def test_the_written_policy_is_read_back_with_its_certificate(vectors: TrialVectors) -> None:
    made = calibrated(vectors, labels())[1]
    assert made is not None
    read = parse_policy(write_policy(made), "file")
    assert read == made
    assert read.hash == made.hash
    assert read.hash == made.model_copy(update={"certificate": None}).hash
    assert read.hash != STANDARD.hash
    assert "Its thresholds are from labels of 2026-11-27" in " ".join(explain(read))


@pytest.mark.parametrize("name", ["importance", "layered", "namespaced", "store-time", "standard"])
def test_every_policy_is_written_as_it_is_read(name: str) -> None:
    policy = load_policy(name)
    assert parse_policy(write_policy(policy), name) == policy


def test_too_few_labels_are_refused_with_how_many_would_do(vectors: TrialVectors) -> None:
    answer, made = calibrated(vectors, labels(100), ErrorBudget(0.005, 0.05, 0.95))
    test = answer["policy_test"]
    assert made is None
    assert answer["certificate"] is None
    assert test["labels_that_would_do"] == -(-598 * 100 // test["taken"])
    enough = ErrorBudget(0.05, 0.05, 0.95)
    assert calibrated(vectors, labels(100), enough)[1] is None
    assert calibrated(vectors, labels(4 * 59 + 200), enough)[1] is not None


def test_where_joins_are_wrong_more_labels_are_not_said_to_help(vectors: TrialVectors) -> None:
    pairs = [pair._replace(label="different") for pair in labels()]
    answer, made = calibrated(vectors, pairs)
    assert made is None
    assert answer["policy_test"]["labels_that_would_do"] is None


def judged(model: str | None, count: int = 400) -> list[LabelledPair]:
    return [
        pair._replace(probability=0.97 if pair.label == "same" else 0.02, model=model)
        for pair in labels(count)
    ]


def test_a_judges_probability_has_a_threshold_bound_to_its_exact_model(
    vectors: TrialVectors,
) -> None:
    answer, _ = calibrated(vectors, judged("judge-5-20260901"))
    found = {
        (threshold["answer"], threshold["score"]): threshold
        for threshold in answer["thresholds"]
        if threshold["language"] == "all"
    }
    assert answer["judge"] == "judge-5-20260901"
    assert found["same", "probability"]["threshold"] == 0.97
    assert found["different", "probability"]["certified"]
    assert found["different", "probability"]["threshold"] == pytest.approx(0.025)


@pytest.mark.parametrize("model", ["judge-latest", None])
def test_probabilities_of_no_exact_model_are_refused(
    vectors: TrialVectors, model: str | None
) -> None:
    with pytest.raises(UsageError, match="exact"):
        calibrated(vectors, judged(model))


def test_probabilities_of_two_models_are_refused(vectors: TrialVectors) -> None:
    with pytest.raises(UsageError, match="one exact model"):
        calibrated(vectors, [*judged("judge-5-1", 8), *judged("judge-5-2", 12)[8:]])


# -- what a first judge may settle -----------------------------------------------------------------


ASKS_ALL = STANDARD.model_copy(
    update={"checks": (CosineCheck(check="cosine", zones=(Zone(at_least=0.0, action="pending"),)),)}
)


def answered(count: int = 500, wrong: int = 0) -> list[LabelledPair]:
    """Pairs with a judge's answers; `wrong` of the labels are inverted."""
    found = [
        pair._replace(answer=pair.label, prompt="compare-same@sha256:1")
        for pair in judged("judge-5-20260901", count)
    ]
    other: dict[Label, Label] = {"same": "different", "different": "same"}
    return [
        pair._replace(label=other[pair.label]) if n < wrong else pair
        for n, pair in enumerate(found)
    ]


def test_a_judges_answers_are_certified_among_what_is_asked(vectors: TrialVectors) -> None:
    answer, made = calibrated(vectors, answered(), policy=ASKS_ALL)
    assert made is None, "the policy itself joins nothing"
    certificate = JudgeCertificate.model_validate(answer["judge_certificate"])
    assert (certificate.model, certificate.prompt) == ("judge-5-20260901", "compare-same@sha256:1")
    assert (certificate.data, certificate.policy) == (DATA["digest"], ASKS_ALL.hash)
    assert certificate.same is not None
    assert certificate.different is not None
    assert (certificate.same.threshold, certificate.same.budget) == (0.97, 0.05)
    assert (certificate.different.threshold, certificate.different.budget) == (0.025, 0.2)
    tested, held_out = chosen(answered())
    counts = {label: sum(p.label == label for p in tested) for label in ("same", "different")}
    assert (certificate.same.taken, certificate.same.wrong) == (counts["same"], 0)
    assert (certificate.different.taken, certificate.different.wrong) == (counts["different"], 0)
    assert certificate.same.held_out_taken == sum(pair.label == "same" for pair in held_out)


def test_pairs_that_the_policy_joins_itself_certify_no_judge(vectors: TrialVectors) -> None:
    """Under `standard` the pairs that are the same are joined by a rule, and not asked about."""
    certificate = calibrated(vectors, answered())[0]["judge_certificate"]
    assert certificate["same"] is None
    assert certificate["different"] is not None


@pytest.mark.parametrize("said", ["update", None])
def test_another_answer_than_same_or_different_certifies_nothing(
    vectors: TrialVectors, said: str | None
) -> None:
    pairs = [pair._replace(answer=said) for pair in answered(200)]
    assert calibrated(vectors, pairs, policy=ASKS_ALL)[0]["judge_certificate"] is None


def test_wrong_answers_certify_nothing(vectors: TrialVectors) -> None:
    answer, _ = calibrated(vectors, answered(wrong=250), policy=ASKS_ALL)
    assert answer["judge_certificate"] is None
    assert "wrong among *same*" in judge_refusal(answer)


def test_answers_to_two_prompts_are_refused(vectors: TrialVectors) -> None:
    pairs = answered(8)
    pairs[0] = pairs[0]._replace(prompt="compare-same@sha256:2")
    with pytest.raises(UsageError, match="judge pairs"):
        calibrated(vectors, pairs)
