"""The executors that handlers run a request's commands on, and functions that handlers share."""

from __future__ import annotations

from palimpsest.contracts.answers import NotDone
from palimpsest.contracts.commands import Operation
from palimpsest.contracts.errors import RefusedError, no_such_id
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.identity import decision_id_or_unchanged
from palimpsest.streams.write.dry_run import DryRun
from palimpsest.streams.write.writer import Oversight, Writer

Executor = Writer | DryRun
"""What a request runs on: the writer, or for a dry run ledgers that are discarded."""


def trial_of(writer: Writer, oversight: Oversight | None = None) -> DryRun:
    """A dry run on the committed state, which the writer's ledgers have unless it is deciding."""
    owners = None if writer.pending.owners else writer.owners
    return DryRun(writer.log, writer.policy, writer.clock, oversight=oversight, owners=owners)


def owner_of_candidate(executor: Executor, candidate_id: str) -> str:
    """The owner of a candidate. Raises RefusedError if it is unknown.

    Two spellings of an id, such as one with capitals, lead to the same first decision, so the
    spelling is compared, too.
    """
    found = executor.log.find(decision_id_or_unchanged(candidate_id))
    if found is None or found.event.subject != candidate_id:
        raise RefusedError("unknown_candidate", no_such_id(candidate_id))
    return found.event.owner_id


def owner_of_decision(executor: Executor, decision_id: str) -> str:
    """The owner of a decision. Raises RefusedError if it is unknown."""
    owner_id = executor.log.owner_of(decision_id)
    if not owner_id:
        raise RefusedError("unknown_decision", no_such_id(decision_id))
    return owner_id


def require_owner(owner_id: str, wanted: str | None, what: str) -> None:
    """Raise RefusedError, as if the id `what` were unknown, unless this is the wanted owner."""
    if wanted not in (None, owner_id):
        raise RefusedError("unknown_candidate", no_such_id(what))


def run_one(
    executor: Executor, command: Operation, target: str
) -> tuple[list[AnyEvent], list[NotDone]]:
    """Run one command of several; returns its events, and any refusal, so that others still run."""
    try:
        return executor.run(command), []
    except RefusedError as error:
        return [], [not_done(target, error)]


def not_done(target: str, error: RefusedError) -> NotDone:
    """The refusal of a command about a decision or candidate, in the form of answers."""
    return {"decision_id": target, "reason": error.reason, "detail": error.detail}
