"""The batch rule that a policy names, for one owner."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from palimpsest.contracts.policy import ClusterDedupe, Policy, TokenDedupe
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.dedupe.by_clusters import Composes, by_clusters
from palimpsest.streams.dedupe.by_tokens import Compares, by_tokens
from palimpsest.streams.dedupe.run import Proposal, Run


class Asked(Compares, Composes, Protocol):
    """What all rules need of a judge."""


def proposals(
    ledger: Ledger, policy: Policy, judge: Asked, run: Run
) -> AsyncIterator[list[Proposal]]:
    """What the policy's batch rule makes of an owner's memories, part by part.

    A part is carried out before the next one is asked for. ValueError for a policy without rules.
    """
    rule = policy.dedupe
    if rule is None:
        raise ValueError(f"the policy {policy.name} has no batch rules")
    match rule:
        case TokenDedupe():
            return by_tokens(ledger, policy, rule, judge, run)
        case ClusterDedupe():
            return by_clusters(ledger, policy, judge, run)
