"""A batch run over a store: planned from the log, carried out by whoever may write to it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from palimpsest.contracts.answers import JsonObject
from palimpsest.contracts.errors import RefusedError, TransientError
from palimpsest.contracts.requests import AnyRequest
from palimpsest.desk import FrontDesk
from palimpsest.streams.dedupe import Pairing, Progress, Proposal, Run, proposals
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.write.owners import fold_owner

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Carried:
    """What became of a run's requests: how many events, and what was refused, with the reason."""

    done: int = 0
    decisions: dict[tuple[str, str], str] = field(default_factory=dict)
    refused: list[dict[str, str]] = field(default_factory=list)

    def note(self, request: AnyRequest, answer: JsonObject | RefusedError | TransientError) -> None:
        """Count one answer; a request that failed is a warning, and the run goes on."""
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
    desk: FrontDesk,
    judge: PairJudge,
    *,
    dry_run: bool,
    progress: Progress,
    owner_id: str | None = None,
) -> dict[str, Any]:
    """Run the batch rules of the policy in force over every owner or one; what came of it.

    A dry run asks the judge as the real one does, which then finds its answers; nothing is written
    to the log. RefusedError where the policy has no batch rules.
    """
    policy, run, carried = desk.policy_in_force(), Run(progress), Carried()
    if policy.dedupe is None:
        raise RefusedError(
            "no_batch_rules", f"the policy in force, {policy.name}, has no [dedupe] section"
        )
    owners = desk.owners(owner_id)
    for number, owner in enumerate(owners):
        progress("comparing memories", number / len(owners))
        ledger = fold_owner(desk.log, owner)
        run.seen = ledger.seen
        async for part in proposals(ledger, policy, judge, run):
            if not dry_run:
                carry_out(desk, part, carried)
        ledger.dissolve()
    return _summed_up(policy.name, len(owners), run, carried, dry_run=dry_run)


def carry_out(desk: FrontDesk, part: Sequence[Proposal], carried: Carried) -> None:
    """Hand requests in together, or one by one where somebody did not answer in time.

    Asked again, a request that was carried out meanwhile has no second effect.
    """
    answers: Sequence[JsonObject | RefusedError | TransientError]
    try:
        answers = desk.ask_each(part)
    except TransientError:
        answers = [_one(desk, request) for request in part]
    for request, answer in zip(part, answers, strict=True):
        carried.note(request, answer)


def _one(desk: FrontDesk, request: AnyRequest) -> JsonObject | RefusedError | TransientError:
    try:
        return desk.ask(request)
    except (RefusedError, TransientError) as error:
        return error


def _summed_up(
    policy: str, owners: int, run: Run, carried: Carried, *, dry_run: bool
) -> dict[str, Any]:
    refused = {(one["a"], one["b"]) for one in carried.refused}
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
            _told(join, carried)
            for join in run.joins
            if (join["older"], join["newer"]) not in refused
        ],
        "refused": carried.refused,
    }


def _told(join: Pairing, carried: Carried) -> dict[str, Any]:
    decision_id = carried.decisions.get((join["older"], join["newer"]))
    return {"decision_id": decision_id, **join}
