"""Requests about many joins or candidates: one step for each, committed in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from palimpsest.contracts.answers import (
    CandidateTold,
    JoinTold,
    NotDone,
    Reinstatements,
    Restorations,
    Retractions,
    Reversals,
)
from palimpsest.contracts.commands import Restore, Retract, Unmerge
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requests import (
    ReinstateManyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
)
from palimpsest.streams.core.expand import (
    reinstate_one,
    restore_commands,
    retract_commands,
    reverse_commands,
    reversed_joins,
)
from palimpsest.streams.core.lazy_copy import glance
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.write.executor import (
    Executor,
    not_done,
    owner_of_candidate,
    require_owner,
    run_one,
)
from palimpsest.streams.write.handlers.forget import remember
from palimpsest.streams.write.handlers.unmerge import reinstate

STEPS = 200
"""Steps of a bulk request between two commits, counting candidates scanned and commands. In a
memory of thousands of members each command takes some hundredths of a second."""

Step = Unmerge | ReinstateRequest | Retract | Restore
Told = TypeVar("Told")


def reverse(executor: Executor, request: ReverseRequest) -> Reversals:
    """Reverse every join that a selection matches, except exact repeats."""
    found = _Bulk(executor, _describe_join, dry_run=request.dry_run)
    found.carry_out(request.selection, lambda ledger: reverse_commands(ledger, request))
    answer: Reversals = {
        "reversed": found.done,
        "refused": found.refused,
        "owners": found.owners,
    }
    if request.dry_run:
        answer |= {"joins": found.described, "asks": found.asks}
    else:
        answer["cause"] = request.request_id
    return answer


def reinstate_many(executor: Executor, request: ReinstateManyRequest) -> Reinstatements:
    """Take back the reversal of every join that a selection matches."""
    found = _Bulk(executor, _describe_join, dry_run=request.dry_run)
    found.carry_out(
        request.selection,
        lambda ledger: [
            reinstate_one(request, edge.id) for edge in reversed_joins(ledger, request)
        ],
    )
    answer: Reinstatements = {
        "reinstated": found.done,
        "refused": found.refused,
        "owners": found.owners,
    }
    if request.dry_run:
        answer |= {"joins": found.described, "asks": found.asks}
    else:
        answer["events"] = found.recorded
    return answer


def retract(executor: Executor, request: RetractRequest) -> Retractions:
    """Hide every candidate that a selection matches."""
    found = _Bulk(executor, _describe_candidate, dry_run=request.dry_run)
    found.carry_out(request.selection, lambda ledger: retract_commands(ledger, request))
    answer: Retractions = {
        "retracted": found.done,
        "refused": found.refused,
        "owners": found.owners,
    }
    if request.again is not None:
        answer["again"] = request.again
    if request.dry_run:
        answer |= {"candidates": found.described, "asks": found.asks}
    else:
        answer["cause"] = request.request_id
    return answer


def restore(executor: Executor, request: RestoreRequest) -> Restorations:
    """Restore every retracted candidate that a selection matches, or all that a request forgot."""
    if request.selection is None:
        return remember(executor, request)
    found = _Bulk(executor, _describe_candidate, dry_run=request.dry_run)
    found.carry_out(request.selection, lambda ledger: restore_commands(ledger, request))
    answer: Restorations = {
        "restored": found.done,
        "refused": found.refused,
        "owners": found.owners,
    }
    if request.dry_run:
        answer |= {"candidates": found.described, "asks": found.asks}
    return answer


@dataclass
class _Bulk(Generic[Told]):
    """What a bulk request did; nothing is done twice.

    A dry run describes each target, because a count does not show that a selection matches the
    wrong ones. It also counts the questions that would be open again, because the judge is paid for
    each.
    """

    executor: Executor
    describe: Callable[[Ledger, str], Told]
    dry_run: bool
    done: list[str] = field(default_factory=list)
    refused: list[NotDone] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    described: list[Told] = field(default_factory=list)
    owners: int = 0
    asks: int = 0
    _steps: int = 0

    def carry_out(self, selection: Selection, expand: Callable[[Ledger], Sequence[Step]]) -> None:
        """Run one step per owner and join or candidate."""
        for owner_id in list(_owners(self.executor, selection)):
            ledger = self.executor.ledger(owner_id)
            commands = expand(ledger)
            self.owners += bool(commands)
            self._count(len(ledger.entries))
            before = _asking(ledger) if self.dry_run else set()
            meant = tuple(map(_target, commands))
            for command in commands:
                target = _target(command)
                if self.dry_run:
                    self.described.append(self.describe(ledger, target))
                events, why = _run_step(self.executor, ledger, command, meant)
                self.refused += why
                if events is not None:
                    self.done.append(target)
                    self.recorded += events
                self._count(1)
            self.asks += len(_asking(ledger) - before) if self.dry_run else 0

    def _count(self, steps: int) -> None:
        """Count steps, and commit after enough of them."""
        self._steps += steps
        if self._steps >= STEPS:
            self.executor.commit_part()
            self._steps = 0


def _owners(executor: Executor, selection: Selection) -> Iterator[str]:
    if selection.candidate_id is not None:
        owner_id = owner_of_candidate(executor, selection.candidate_id)
        require_owner(owner_id, selection.owner_id, selection.candidate_id)
        return iter([owner_id])
    if selection.owner_id is not None:
        return iter([selection.owner_id])
    return executor.log.owners()


def _asking(ledger: Ledger) -> set[tuple[str, str]]:
    """The pairs that the judge is to be asked about."""
    entries = glance(ledger.entries)
    return {(entry.id, neighbour_id) for entry in entries for neighbour_id in entry.open}


def _target(command: Step) -> str:
    return command.candidate_id if isinstance(command, Retract | Restore) else command.decision_id


def _run_step(
    executor: Executor, ledger: Ledger, step: Step, meant: tuple[str, ...]
) -> tuple[list[str] | None, list[NotDone]]:
    """The events of a step, or None if it was refused, and all refusals.

    A join that is reinstated may bring others back, and each of these may be refused, too. If
    several joins are `meant`, this one may already have come back with an earlier one.
    """
    if not isinstance(step, ReinstateRequest):
        events, why = run_one(executor, step, _target(step))
        return None if why else [event.id for event in events], why
    if ledger.edges[step.decision_id].standing:
        own = event_id(event_id(step.request_id, step.decision_id), "0")
        return [own] if own in ledger.events else [], []
    try:
        answer = reinstate(executor, step, meant, shows=False)
    except RefusedError as error:
        return None, [not_done(step.decision_id, error)]
    return answer["events"], answer["refused"]


def _describe_candidate(ledger: Ledger, candidate_id: str) -> CandidateTold:
    """A candidate with what a person needs to check it."""
    entry = ledger.entries[candidate_id]
    return {
        "candidate_id": entry.id,
        "owner_id": ledger.owner_id,
        "source": entry.fields.source,
        "decision": entry.decision,
        "decided_at": entry.decided_at.isoformat(),
        "text": entry.text,
    }


def _describe_join(ledger: Ledger, decision_id: str) -> JoinTold:
    """A join with what a person needs to check it."""
    edge = ledger.edges[decision_id]
    return {
        "decision_id": edge.id,
        "owner_id": ledger.owner_id,
        "source": edge.newer.fields.source,
        "decision": edge.decision,
        "decided_at": edge.decided_at.isoformat(),
        "similarity": edge.similarity,
        "older": edge.older.id,
        "newer": edge.newer.id,
        "older_text": edge.older.text,
        "newer_text": edge.newer.text,
    }
