"""The joins of any policy, by the writer itself, which decides in memory; every text is embedded.

This is for policies that join without the guard, fold exact repeats or compare with memories: their
joins depend on all vectors and on earlier joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from palimpsest.cleaning.texts import RowJoin, Texts
from palimpsest.contracts.counting import counted
from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.labelled import LabelledMember
from palimpsest.evaluation.trial import Trial, TrialDecision, TrialVectors
from palimpsest.streams.core.exact import FOLDED
from palimpsest.streams.embedder import Engine, Progress


def join_by_writer(
    texts: Texts, policy: Policy, load: Callable[[], Engine], progress: Progress
) -> Iterator[list[RowJoin]]:
    """The join of each row that has one, except verbatim repeats.

    There is no judge: the pairs it would be asked about stay apart, unless the policy's rule for
    missing answers joins them.
    """
    vectors = TrialVectors(load())
    vectors.prepare(texts.texts, progress)
    rows: dict[object, list[int]] = {}
    scope_of = {number: scope for scope, numbers in texts.scopes.items() for number in numbers}
    for row, number in enumerate(texts.of):
        if number >= 0:
            rows.setdefault(scope_of[number], []).append(row)
    done = 0
    with Trial(policy, vectors) as trial:
        for number, some in enumerate(rows.values()):
            members = [
                LabelledMember(f"scope {number}", texts.texts[texts.of[row]], "") for row in some
            ]

            def count(more: int) -> None:
                nonlocal done
                done += more
                progress(f"deciding on {counted(len(texts.of), 'row')}", done / len(texts.of))

            stream = trial.stream(members, count)
            for row, decision in zip(some, stream.decisions, strict=True):
                if decision.joined_to is None or decision.check == "exact":
                    continue
                partner = some[stream.numbers[decision.joined_to]]
                yield [RowJoin(row, partner, *_rule(decision))]


def _rule(decision: TrialDecision) -> tuple[str, float]:
    """The decision that joined two texts, or that of a folded repeat, and their score."""
    if decision.check == FOLDED:
        return FOLDED, 1.0
    near = next(n for n in decision.evidence.neighbours if n.candidate_id == decision.joined_to)
    score = near.jaccard if decision.check == "tokens" else near.cosine
    return decision.decision, score or 0.0
