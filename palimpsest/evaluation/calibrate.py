"""Thresholds from a budget of errors, tested on one half of the labels and reported on the other.

Pairs that share a text are one group, and a group is in one half. One pair of each group counts,
chosen by its hash, so that the counted pairs are independent; to count joins, it is one that the
policy may join, if the group has one. A label of the held-out half is read only once the threshold
that it tests is fixed. The scores of that half determine where each sequence of tests begins,
and in which proportion a policy's two thresholds are lowered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.policy import Certificate, Policy
from palimpsest.evaluation.evaluate import LabelCounts, evaluate_pairs
from palimpsest.evaluation.groups import groups_of
from palimpsest.evaluation.labelled import LabelledPair
from palimpsest.evaluation.rates import upper_bound
from palimpsest.evaluation.rules import (
    CUES,
    Measure,
    Measured,
    checks_of,
    joins_by_cosine,
    may_join,
    measure_pair,
    scores,
    wide_open,
    with_thresholds,
)
from palimpsest.evaluation.thresholds import (
    Test,
    ThresholdStep,
    downward,
    first_of,
    fixed_sequence,
    labels_that_would_do,
    levels_at_least,
    taken_by,
)
from palimpsest.evaluation.trial import Trial, TrialVectors
from palimpsest.streams.embedder import Progress
from palimpsest.streams.guard import guard_hash, tables_of
from palimpsest.streams.judge.certificate import CertifiedAnswer, JudgeCertificate

Answer = Literal["same", "different"]
Levels = NDArray[np.intp]

SAME_MEASURES: tuple[Measure, ...] = ("cosine", "jaccard", "probability", "verdict")
DIFFERENT_MEASURES: tuple[Measure, ...] = ("cosine", "jaccard", "cues", "probability", "verdict")
ALL = "all"
RISK: dict[Answer, str] = {
    "same": "wrong among what would be joined, at the labels' own mix",
    "different": "the same among what would be kept apart instead of asked, at the labels' own mix",
}
LIMIT = "It does not carry over to another mix of pairs, another embedder, guard or judge."


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """The shares of answers that may be wrong, and the confidence of each statement."""

    same: float
    different: float
    confidence: float

    def of(self, answer: Answer) -> float:
        """The budget for an answer."""
        return self.same if answer == "same" else self.different


@dataclass(frozen=True, slots=True)
class Halves:
    """One pair of each group with its scores: those to test with, and those held out."""

    tested: list[Measured]
    held_out: list[Measured]

    def of(self, language: str, *, asked: bool) -> Halves:
        """The pairs of one language, or all; with `asked`, only those for the judge."""

        def there(sample: Measured) -> bool:
            spoken = language in (ALL, sample.language)
            return spoken and (sample.asked or not asked)

        return Halves([*filter(there, self.tested)], [*filter(there, self.held_out)])


def chosen(
    pairs: Sequence[LabelledPair], policy: Policy | None = None
) -> tuple[list[LabelledPair], list[LabelledPair]]:
    """One pair of each group, chosen by its hash: for the half to test with, and the other half.

    With a policy it is a pair that the policy may join, if the group has one. This depends only on
    the texts, so the pairs of different groups stay independent, and more of them are joins. Exact
    repeats, which a hash proves, and related pairs are left out.
    """
    counted = [pair for pair in pairs if not pair.exact and pair.label != "related"]
    joins = (lambda _: True) if policy is None else may_join(policy)
    halves: tuple[list[LabelledPair], list[LabelledPair]] = ([], [])
    for group in groups_of([(pair.a, pair.b) for pair in counted]):
        ranked = sorted((counted[number] for number in group), key=lambda pair: pair.key)
        side = hashlib.sha256(b"half" + ranked[0].key).digest()[0] & 1
        halves[side].append(
            ranked[0] if len(ranked) == 1 else next(filter(joins, ranked), ranked[0])
        )
    return halves


def calibrate(
    pairs: Sequence[LabelledPair],
    policy: Policy,
    vectors: TrialVectors,
    budget: ErrorBudget,
    data: dict[str, str],
    progress: Progress,
) -> tuple[dict[str, Any], Policy | None]:
    """The answer of the command, and the calibrated policy if the labels support one.

    `data` identifies the labels: their `digest` and today's `date`. Raises UsageError if a judge's
    probabilities are of several models or prompts, or of none that is named exactly.
    """
    head = head_of(pairs, policy, vectors, budget, data)
    tested, held_out = chosen(pairs)
    tested_joins, held_out_joins = chosen(pairs, policy)
    every = [*tested, *held_out, *tested_joins, *held_out_joins]
    measured = _measure(every, policy, vectors, progress)
    halves = Halves([measured[p] for p in tested], [measured[p] for p in held_out])
    joins = Halves([measured[p] for p in tested_joins], [measured[p] for p in held_out_joins])
    statements = _statements(halves, joins, budget, len(pairs))
    path = _Path.of(policy, joins.held_out)
    test = path.test(joins, budget)
    made = _made(policy, path, test, statements)
    answer: dict[str, Any] = head | {
        "labels": label_counts(pairs, len(joins.tested), len(joins.held_out)),
        "thresholds": statements,
        "policy_test": shown_test(test, "same", len(pairs), budget) | path.at(test),
        "certificate": None,
    }
    answer["judge_certificate"] = _judge_certificate(answer, policy.hash)
    if made is None:
        return answer, None
    counts = LabelCounts()
    for seen in evaluate_pairs([sample.pair for sample in joins.held_out], made, vectors, progress):
        counts.add(seen.pair.label, seen.fate)
    assert test.certified is not None
    certificate = certificate_of(answer, test.certified, counts)
    answer["certificate"] = certificate.model_dump(mode="json")
    answer["held_out"] = counts.document(budget.confidence)
    return answer, made.model_copy(update={"certificate": certificate})


def _measure(
    pairs: Iterable[LabelledPair], policy: Policy, vectors: TrialVectors, progress: Progress
) -> dict[LabelledPair, Measured]:
    """The scores of pairs, each of which is decided on once."""
    once = [*dict.fromkeys(pairs)]
    vectors.prepare({text for pair in once for text in (pair.a, pair.b)}, progress)
    with Trial(wide_open(policy), vectors) as trial:
        decided = trial.pairs(once, progress, orders=1)
        return {
            pair: measure_pair(pair, decision, policy)
            for pair, [decision] in zip(once, decided, strict=True)
        }


def _judge_of(pairs: Sequence[LabelledPair]) -> str | None:
    """The exact model that gave all probabilities; UsageError for several, an alias, or none."""
    with_one = [pair for pair in pairs if pair.probability is not None]
    models = {pair.model or "" for pair in with_one}
    if not models:
        return None
    if len(models) > 1 or "" in models:
        named = ", ".join(sorted(model or "(none)" for model in models))
        raise UsageError(
            f"the probabilities are of {named}: a threshold is bound to one exact model, which"
            " the column `model` must name in each row"
        )
    [model] = models
    if model.endswith("latest"):
        raise UsageError(
            f"{model} is an alias that moves: a threshold is bound to the exact model, which the"
            " judge's answer names"
        )
    return model


def _prompt_of(pairs: Sequence[LabelledPair]) -> str | None:
    """The prompt that all judged pairs answer, if any are judged; UsageError for several."""
    prompts = {
        pair.prompt for pair in pairs if pair.probability is not None and pair.prompt is not None
    }
    if len(prompts) > 1:
        raise UsageError(
            f"the answers are to the prompts {', '.join(sorted(prompts))}: a threshold is bound to"
            " one, so ask the judge about all pairs again with `palimpsest judge pairs`"
        )
    return next(iter(prompts), None)


def head_of(
    pairs: Sequence[LabelledPair],
    policy: Policy,
    vectors: TrialVectors,
    budget: ErrorBudget,
    data: dict[str, str],
) -> dict[str, Any]:
    """The head of the answer, as JSON: the claim, the labels, and what it holds for."""
    return {
        "risk": RISK,
        "limit": LIMIT,
        "budget": budget.same,
        "different_budget": budget.different,
        "confidence": budget.confidence,
        "data": data["digest"],
        "date": data["date"],
        "embedder": f"{vectors.model}/{vectors.name}",
        "guard": guard_hash(tables_of(policy.languages)),
        "judge": _judge_of(pairs),
        "prompt": _prompt_of(pairs),
        "policy": policy.name,
    }


def label_counts(pairs: Sequence[LabelledPair], tested: int, held_out: int) -> dict[str, int]:
    """The number of labels of each kind, and how many count in each half."""
    return {
        "pairs": len(pairs),
        "same": sum(pair.label == "same" for pair in pairs),
        "different": sum(pair.label == "different" for pair in pairs),
        "related": sum(pair.label == "related" for pair in pairs),
        "exact": sum(pair.exact for pair in pairs),
        "tested": tested,
        "held_out": held_out,
    }


# -- thresholds of one score each ----------------------------------------------------------------


def _statements(
    halves: Halves, joins: Halves, budget: ErrorBudget, labels: int
) -> list[dict[str, Any]]:
    """A separate statement about each score, answer and language.

    `joins` has pairs that the policy may join: thresholds of its own scores are tested on those.
    """
    languages = sorted({sample.language for sample in (*halves.tested, *halves.held_out)})
    found: list[dict[str, Any]] = []
    for language in [ALL, *(languages if len(languages) > 1 else ())]:
        for measure in SAME_MEASURES:
            of_policy = measure in ("cosine", "jaccard")
            sample = joins if of_policy else halves
            found += _statement("same", measure, language, sample, budget, labels)
        for measure in DIFFERENT_MEASURES:
            found += _statement("different", measure, language, halves, budget, labels)
    return found


def _statement(
    answer: Answer,
    measure: Measure,
    language: str,
    halves: Halves,
    budget: ErrorBudget,
    labels: int,
) -> list[dict[str, Any]]:
    """One statement, in a list; an empty list if no pair has the score."""
    among = halves.of(language, asked=answer == "different" or measure == "verdict")
    sequence = downward()
    levels = [
        levels_at_least(scores(half, measure, same=answer == "same"), sequence)
        for half in (among.tested, among.held_out)
    ]
    if not any((level < len(sequence)).any() for level in levels):
        return []
    test = _tested(levels, _wrong(among.tested, answer), budget, answer)
    shown = shown_test(test, answer, labels, budget)
    head: dict[str, Any] = {"answer": answer, "score": measure, "language": language}
    at = test.certified
    if at is not None:
        head |= _shown_threshold(measure, answer, at.threshold)
        taken = levels[1] <= sequence.index(at.threshold)
        shown["held_out"] = _held_out(among.held_out, taken, answer, budget)
    return [head | shown]


def _shown_threshold(measure: Measure, answer: Answer, threshold: float) -> dict[str, Any]:
    if measure == "cues":
        return {"cues": [c for n, c in enumerate(CUES) if 1.0 - n / len(CUES) >= threshold]}
    return {"threshold": round(threshold if answer == "same" else 1.0 - threshold, 4)}


def _tested(
    levels: Sequence[Levels], wrong: NDArray[np.bool_], budget: ErrorBudget, answer: Answer
) -> Test:
    sequence, share = downward(), budget.of(answer)
    first = first_of(levels[1], len(sequence), share, budget.confidence)
    return fixed_sequence(levels[0], wrong, sequence, first, share, budget.confidence)


def _wrong(pairs: Sequence[Measured], answer: Answer) -> NDArray[np.bool_]:
    """Whether each pair's label differs from the answer."""
    return np.array([sample.pair.label != answer for sample in pairs], np.bool_)


def _held_out(
    pairs: Sequence[Measured], taken: NDArray[np.bool_], answer: Answer, budget: ErrorBudget
) -> dict[str, Any]:
    """The result of a threshold, already fixed, on the held-out half."""
    count, errors = int(taken.sum()), int((taken & _wrong(pairs, answer)).sum())
    return {
        "of": len(pairs),
        "taken": count,
        "errors": errors,
        "bound": upper_bound(errors, count, budget.confidence),
    }


def shown_test(test: Test, answer: Answer, labels: int, budget: ErrorBudget) -> dict[str, Any]:
    """A test's result as JSON, and its steps for the curve."""
    step = test.certified or test.steps[-1]
    shown: dict[str, Any] = {
        "certified": test.certified is not None,
        "taken": step.taken,
        "errors": step.errors,
        "p": step.p,
        "bound": upper_bound(step.errors, step.taken, budget.confidence),
        "steps": [[step.threshold, step.taken, step.errors, step.p] for step in test.steps],
    }
    if test.certified is None:
        share = budget.of(answer)
        shown["labels_that_would_do"] = labels_that_would_do(step, labels, share, budget.confidence)
    return shown


def _judge_certificate(answer: dict[str, Any], policy: str) -> dict[str, Any] | None:
    """What a first judge may settle according to these statements; None if nothing."""
    certified = {
        found["answer"]: CertifiedAnswer(
            threshold=found["threshold"],
            budget=answer["budget" if found["answer"] == "same" else "different_budget"],
            taken=found["taken"],
            wrong=found["errors"],
            held_out_taken=found["held_out"]["taken"],
            held_out_wrong=found["held_out"]["errors"],
            held_out_bound=found["held_out"]["bound"],
        )
        for found in answer["thresholds"]
        if found["score"] == "verdict" and found["language"] == ALL and found["certified"]
    }
    if not certified:
        return None
    certificate = JudgeCertificate(
        model=answer["judge"],
        prompt=answer["prompt"],
        data=answer["data"],
        date=answer["date"],
        confidence=answer["confidence"],
        labels=answer["labels"]["pairs"],
        policy=policy,
        embedder=answer["embedder"],
        guard=answer["guard"],
        **certified,
    )
    return certificate.model_dump(mode="json")


# -- the policy as a whole -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Path:
    """One sequence for the whole policy: the thresholds of both checks are lowered together.

    `words` is the step of the Jaccard threshold at each step of the cosine's, chosen so that both
    take the same share of the held-out pairs; None if the policy lacks the token check. A guarded
    token check refers to the judge the pairs that the guard stops, so its threshold never falls
    below the policy's.
    """

    cosine: bool
    words: tuple[int, ...] | None

    @classmethod
    def of(cls, policy: Policy, held_out: Sequence[Measured]) -> _Path:
        tokens, cosine = checks_of(policy)
        sequence, near = downward(), joins_by_cosine(cosine) != "never"
        if tokens is None:
            return cls(near, None)
        by_words, by_meaning = (
            taken_by(levels_at_least(scores(held_out, score, same=True), sequence), len(sequence))
            for score in ("jaccard", "cosine")
        )
        floor = tokens.threshold if tokens.guard else 0.0
        last = max(place for place, level in enumerate(sequence) if level >= floor)
        steps = np.arange(len(sequence))
        if near:
            steps = np.maximum(np.searchsorted(by_words, by_meaning, side="right") - 1, 0)
        return cls(near, tuple(np.minimum(steps, last).tolist()))

    def levels(self, pairs: Sequence[Measured]) -> Levels:
        """The first step at which each pair is joined by either check."""
        sequence = downward()
        found = np.full(len(pairs), len(sequence), np.intp)
        if self.cosine:
            found = levels_at_least(scores(pairs, "cosine", same=True), sequence)
        if self.words is not None:
            words = levels_at_least(scores(pairs, "jaccard", same=True), sequence)
            found = np.minimum(found, np.searchsorted(np.array(self.words), words, side="left"))
        return found

    def test(self, halves: Halves, budget: ErrorBudget) -> Test:
        """Test the policy at each step of the path."""
        levels = [self.levels(half) for half in (halves.tested, halves.held_out)]
        return _tested(levels, _wrong(halves.tested, "same"), budget, "same")

    def at(self, test: Test) -> dict[str, float | None]:
        """The thresholds of the certified step; None for both if no step is certified."""
        jaccard, cosine = None, None
        if test.certified is not None:
            sequence = downward()
            place = sequence.index(test.certified.threshold)
            cosine = sequence[place] if self.cosine else None
            jaccard = sequence[self.words[place]] if self.words is not None else None
        return {"jaccard": jaccard, "cosine": cosine}


def _made(
    policy: Policy, path: _Path, test: Test, statements: Sequence[dict[str, Any]]
) -> Policy | None:
    """The policy with the certified thresholds; None if there are none."""
    at = path.at(test)
    if at["jaccard"] is None and at["cosine"] is None:
        return None
    floors = [
        statement["threshold"]
        for statement in statements
        if (statement["answer"], statement["score"], statement["language"])
        == ("different", "cosine", ALL)
        and statement["certified"]
    ]
    made = with_thresholds(policy, at["jaccard"], at["cosine"], next(iter(floors), None))
    return made.model_copy(update={"name": f"{policy.name[:53]}-calibrated", "certificate": None})


def certificate_of(
    answer: dict[str, Any], certified: ThresholdStep, held_out: LabelCounts
) -> Certificate:
    """The certificate of what was `certified`, with the counts of the held-out half."""
    joined = held_out.found + held_out.false_joins
    bound = upper_bound(held_out.false_joins, joined, answer["confidence"])
    return Certificate(
        risk=f"{RISK['same']}. {LIMIT}",
        budget=answer["budget"],
        confidence=answer["confidence"],
        date=answer["date"],
        data=answer["data"],
        embedder=answer["embedder"],
        guard=answer["guard"],
        labels=answer["labels"]["pairs"],
        tested=answer["labels"]["tested"],
        joined=certified.taken,
        wrong=certified.errors,
        held_out=answer["labels"]["held_out"],
        held_out_joined=joined,
        held_out_wrong=held_out.false_joins,
        held_out_bound=round(bound, 6),
    )
