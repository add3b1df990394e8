"""Runs the batch rule of a policy for one owner."""

from __future__ import annotations

from collections.abc import AsyncIterator

from palimpsest.contracts.policy import ClusterDedupe, PairsDedupe, Policy, TokenDedupe
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.dedupe.by_clusters import by_clusters
from palimpsest.streams.dedupe.by_tokens import by_tokens
from palimpsest.streams.dedupe.run import Proposal, Run
from palimpsest.streams.judge.judge import PairJudge


def proposals(
    ledger: Ledger, policy: Policy, judge: PairJudge, run: Run
) -> AsyncIterator[list[Proposal]]:
    """The proposals of the policy's batch rule for an owner's memories, part by part.

    Each part is carried out before the next. Raises ValueError for a policy without batch rules,
    and for a rule that asks no judge: the writer carries it out (`streams.write.handlers.run`).
    """
    rule = policy.dedupe
    if rule is None:
        raise ValueError(f"the policy {policy.name} has no batch rules")
    match rule:
        case TokenDedupe():
            return by_tokens(ledger, policy, rule, judge, run)
        case ClusterDedupe():
            return by_clusters(ledger, policy, judge, run)
        case PairsDedupe():
            raise ValueError(f"the rule {rule.rule} asks no judge")
