"""A batch run over a store: planned from the log, carried out by the store's writer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from palimpsest.contracts.answers import JsonObject
from palimpsest.contracts.errors import RefusedError, TransientError
from palimpsest.contracts.requests import AnyRequest
from palimpsest.local_gateway import LocalGateway
from palimpsest.streams.dedupe import Pairing, Progress, Proposal, Run, proposals
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.write.owners import fold_owner

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcomes:
    """The outcomes of a run's requests: how many were done, and the refusals with reasons."""

    done: int = 0
    decisions: dict[tuple[str, str], str] = field(default_factory=dict)
    refused: list[dict[str, str]] = field(default_factory=list)

    def record(
        self, request: AnyRequest, answer: JsonObject | RefusedError | TransientError
    ) -> None:
        """Record one answer; a failed request is a warning, and the run continues."""
        pair = str(getattr(request, "a", "")), str(getattr(request, "b", ""))
        if not isinstance(answer, Exception):
            self.done += 1
            if answer.get("decision_id"):
                self.decisions[pair] = answer["decision_id"]
            return
        reason = answer.reason if isinstance(answer, RefusedError) else "unanswered"
        _log.warning("%s of %s and %s came to nothing: %s", request.request, *pair, answer)
        self.refused.append(
            {"request": request.request, "a": pair[0], "b": pair[1], "reason": reason}
        )


async def dedupe(
    gateway: LocalGateway,
    judge: PairJudge,
    *,
    dry_run: bool,
    progress: Progress,
    owner_id: str | None = None,
) -> dict[str, Any]:
    """Run the batch rules of the policy in force over every owner or one; returns a summary.

    A dry run asks the judge as the real run does, which then finds the cached answers; it writes
    nothing to the log. Raises RefusedError if the policy has no batch rules.
    """
    policy, run, outcomes = gateway.policy_in_force(), Run(progress), Outcomes()
    if policy.dedupe is None:
        raise RefusedError(
            "no_batch_rules", f"the policy in force, {policy.name}, has no [dedupe] section"
        )
    owners = gateway.owners(owner_id)
    for number, owner in enumerate(owners):
        progress("comparing memories", number / len(owners))
        ledger = fold_owner(gateway.log, owner)
        run.seen = ledger.seen
        async for part in proposals(ledger, policy, judge, run):
            if not dry_run:
                carry_out(gateway, part, outcomes)
        ledger.dissolve()
    return _summary(policy.name, len(owners), run, outcomes, dry_run=dry_run)


def carry_out(gateway: LocalGateway, part: Sequence[Proposal], outcomes: Outcomes) -> None:
    """Send requests together, or one by one if the writer did not answer in time.

    A request that was carried out meanwhile has no second effect.
    """
    answers: Sequence[JsonObject | RefusedError | TransientError]
    try:
        answers = gateway.ask_each(part)
    except TransientError:
        answers = [_one(gateway, request) for request in part]
    for request, answer in zip(part, answers, strict=True):
        outcomes.record(request, answer)


def _one(gateway: LocalGateway, request: AnyRequest) -> JsonObject | RefusedError | TransientError:
    try:
        return gateway.ask(request)
    except (RefusedError, TransientError) as error:
        return error


def _summary(
    policy: str, owners: int, run: Run, outcomes: Outcomes, *, dry_run: bool
) -> dict[str, Any]:
    refused = {(one["a"], one["b"]) for one in outcomes.refused}
    return {
        "policy": policy,
        "dry_run": dry_run,
        "owners": owners,
        "memories": run.memories,
        "pairs": run.pairs,
        "all_pairs": run.all_pairs,
        "asked": dict(run.asked),
        "left": run.left + run.unanswered,
        "joined": [
            _with_decision_id(join, outcomes)
            for join in run.joins
            if (join["older"], join["newer"]) not in refused
        ],
        "refused": outcomes.refused,
    }


def _with_decision_id(join: Pairing, outcomes: Outcomes) -> dict[str, Any]:
    decision_id = outcomes.decisions.get((join["older"], join["newer"]))
    return {"decision_id": decision_id, **join}
