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
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        progress(f"deciding on {counted(len(texts.of), 'row')}", done / len(texts.of))

    with Trial(policy, vectors) as trial:
        for number, rows in enumerate(texts.by_scope(range(len(texts.of)))):
            said = [texts.texts[texts.of[row]] for row in rows]
            members = [LabelledMember(f"scope {number}", text, "") for text in said]
            stream = trial.stream(members, advance)
            for row, decision in zip(rows, stream.decisions, strict=True):
                if decision.joined_to is not None and decision.check != "exact":
                    partner = rows[stream.numbers[decision.joined_to]]
                    yield [RowJoin(row, partner, *_rule(decision))]


def _rule(decision: TrialDecision) -> tuple[str, float]:
    """The decision that joined two texts, or that of a folded repeat, and their score."""
    if decision.check == FOLDED:
        return FOLDED, 1.0
    near = next(n for n in decision.evidence.neighbours if n.candidate_id == decision.joined_to)
    score = near.jaccard if decision.check == "tokens" else near.cosine
    return decision.decision, score or 0.0
