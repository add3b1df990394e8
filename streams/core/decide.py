"""`decide`: from a command and a ledger to events. Total, pure, idempotent (docs/design.md)."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from palimpsest.contracts.commands import (
    Access,
    Admit,
    Combine,
    Compact,
    Compose,
    Confirm,
    Embed,
    EndSession,
    Forget,
    Merge,
    Operation,
    RecordRun,
    Redecide,
    Reinstate,
    Restore,
    Retract,
    Separate,
    SetExpiry,
    SetNames,
    Settle,
    Undo,
    Unmerge,
    Update,
    Withdraw,
)
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, Refused, RefusedData
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core import forget as forgetting
from palimpsest.streams.core import operate, record
from palimpsest.streams.core import update as updating
from palimpsest.streams.core.admit import admit_candidate
from palimpsest.streams.core.combine import combine
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.expiry import advance, set_expiry
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.redecide import redecide
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.settle import Freed, due, settle, settle_due
from palimpsest.streams.core.touched import Touched


def decide(
    command: Admit | Operation, ledger: Ledger, policy: Policy, now: datetime
) -> list[AnyEvent]:
    """The events that a command causes; none if it was decided on before.

    `now` is the runtime's clock; within an owner the recorded time never goes back. Call `advance`
    first, so that candidates that expire by `now` are expired in the ledger.
    """
    now = ledger.at(now)
    if isinstance(command, Admit):
        return admit_candidate(command, ledger, policy, now)
    if event_id(command.command_id, "0") in ledger.events:
        return []
    result: operate.Result
    match command:
        case Settle():
            return settle(command, ledger, policy, now)
        case Merge():
            result = operate.merge(command, ledger, now)
        case Combine():
            result = combine(command, ledger, now)
        case Separate():
            result = operate.separate(command, ledger, policy, now)
        case Unmerge():
            result = operate.unmerge(command, ledger, now)
        case Withdraw():
            result = operate.withdraw(command, ledger, now)
        case Redecide():
            result = redecide(command, ledger, now)
        case Reinstate():
            result = operate.reinstate(command, ledger, now)
        case Confirm():
            result = record.confirm(command, ledger, now)
        case Retract():
            result = updating.retract(command, ledger, now)
        case Update():
            result = updating.update(command, ledger, policy, now)
        case Forget():
            result = forgetting.forget(command, ledger, now)
        case Undo():
            result = updating.undo(command, ledger, now)
        case Restore():
            result = record.restore(command, ledger, now)
        case SetExpiry():
            result = set_expiry(command, ledger, now)
        case SetNames():
            result = record.set_names(command, ledger, now)
        case Compose():
            result = record.compose(command, ledger, policy, now)
        case Access():
            result = record.access(command, ledger, now)
        case Embed():
            result = record.embed(command, ledger, policy, now)
        case EndSession() | Compact():
            result = record.end_or_compact(command, now)
        case RecordRun():
            result = record.record_run(command, policy, now)
        case _:
            assert_never(command)
    return [refused(command, result, now)] if isinstance(result, Refusal) else result


def refused(command: Operation, refusal: Refusal | RefusedError, now: datetime) -> Refused:
    """The event of a refused command."""
    data = RefusedData(
        command=command.command,
        reason=refusal.reason,
        detail=refusal.detail,
        candidate_id=_about(command),
        decision_id=getattr(command, "decision_id", None),
        verdicts=_verdicts(command),
        a=getattr(command, "a", None),
        b=getattr(command, "b", None),
        actor=command.actor,
        because=command.because,
    )
    return Refused(**head(command, command.command_id, now), data=data)


def _about(command: Operation) -> str | None:
    """The candidate that a command is about; for an update, the one that names the memory."""
    if isinstance(command, Update):
        return command.memory
    if isinstance(command, Forget):
        return command.memories[0]
    return getattr(command, "candidate_id", None)


def _verdicts(command: Operation) -> tuple[Verdict, ...]:
    """The verdicts of a refused command, which are kept because they cost money."""
    match command:
        case Combine():
            return command.evidence.verdicts
        case Separate() | Unmerge() | Confirm() | Compose():
            return command.verdicts or ()
        case _:
            return ()


Done = list[tuple[AnyEvent, Touched]]


def execute(command: Admit | Operation, ledger: Ledger, policy: Policy, now: datetime) -> Done:
    """Decide, fold, and settle by the answers that this freed; return what each event touched.

    A newcomer frees no answer. If a request has many commands, the last one settles for all.
    """
    advance(ledger, ledger.at(now))
    done = [(event, evolve(ledger, event)) for event in decide(command, ledger, policy, now)]
    if isinstance(command, Admit):
        return done + _unasked(command, ledger, policy, now) if done else done
    if ledger.held and not command.more_follow:
        done += _settle_due(command, ledger, policy, now)
    return done


def _unasked(command: Admit, ledger: Ledger, policy: Policy, now: datetime) -> Done:
    """Settle a candidate that would wait for a judge that the policy has switched off."""
    entry = ledger.entries.get(command.candidate_id)
    if policy.judge.enabled or entry is None or not entry.open:
        return []
    nobody = Verdict(neighbour_id=entry.open[0], answer="unavailable")
    at_once = Settle(
        command_id=event_id(entry.decision_id, "judge"),
        owner_id=ledger.owner_id,
        candidate_id=entry.id,
        verdicts=(nobody,),
        rank="rule",
    )
    events = settle(at_once, ledger, policy, ledger.at(now))
    return [(event, evolve(ledger, event)) for event in events]


def _settle_due(command: Operation, ledger: Ledger, policy: Policy, now: datetime) -> Done:
    """Settle by the answers that nothing holds back any longer, oldest first.

    It reads the ledger, not the event, so a command that a crash cut short is finished on a retry.
    """
    freed_by = event_id(command.command_id, "0")
    cause = command.cause or freed_by
    done: Done = []
    while (found := due(ledger, policy)) is not None:
        event = settle_due(Freed(freed_by, cause, *found), ledger, policy, ledger.at(now))
        done.append((event, evolve(ledger, event)))
    return done
