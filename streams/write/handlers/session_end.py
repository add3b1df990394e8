"""The commands that the end of a session leads to (docs/designs/layered.md)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from palimpsest.contracts.commands import EndSession, Operation, RecordRun
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.dedupe.consolidate import CHECK, figures, joins, plan


def run_of(end: EndSession) -> str:
    """The id of the run that the end of a session leads to, derived from the command's id."""
    return event_id(end.command_id, CHECK)


def consolidate(
    end: EndSession, ledger: Ledger, policy: Policy, now: datetime
) -> Iterator[Operation]:
    """The joins of an ended session, each to be executed before the next, and their record.

    Empty if the policy has no such rule, or is not enabled. A join that is impossible when its turn
    comes is left out.
    """
    rule = policy.consolidate
    if rule is None or not policy.enabled:
        return
    planned, run = plan(ledger, policy, rule, end.session_id), run_of(end)
    fields = {"actor": end.actor, "because": end.because, "more_follow": True}
    superseded = 0
    for join in joins(ledger, policy, planned, run):
        superseded += 1
        yield join.model_copy(update=fields)
    yield RecordRun(
        command_id=run,
        owner_id=end.owner_id,
        actor=end.actor,
        because=end.because,
        step="consolidate",
        due=now,
        figures=figures(planned, superseded),
        session_id=end.session_id,
    )
