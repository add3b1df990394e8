"""`decide`: a command and a ledger give events. Total, pure, idempotent (design section 4)."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from contracts.commands import (
    Access,
    Admit,
    Compact,
    Compose,
    Confirm,
    EndSession,
    Merge,
    Operation,
    Reinstate,
    Restore,
    Retract,
    Separate,
    Settle,
    Unmerge,
)
from contracts.events import AnyEvent, Refused, RefusedData
from contracts.identity import event_id
from contracts.policy import Policy
from streams.core import operate, word
from streams.core.admit import admit_candidate
from streams.core.envelope import head
from streams.core.evolve import Touched, evolve
from streams.core.ledger import Entry, Ledger
from streams.core.refusal import Refusal
from streams.core.settle import obstacle, settle


def decide(
    command: Admit | Operation, ledger: Ledger, policy: Policy, now: datetime
) -> list[AnyEvent]:
    """The events that a command causes; none where it was carried out before.

    `now` is the runtime's clock; within an owner the recorded time never goes back.
    """
    now = ledger.at(now)
    if isinstance(command, Admit):
        return admit_candidate(command, ledger, policy, now)
    if event_id(command.command_id, "0") in ledger.events:
        return []
    if isinstance(command, Settle):
        return settle(command, ledger, policy, now)
    result = _operate(command, ledger, policy, now)
    return [_refused(command, result, now)] if isinstance(result, Refusal) else result


def _operate(command: Operation, ledger: Ledger, policy: Policy, now: datetime) -> operate.Result:
    match command:
        case Merge():
            return operate.merge(command, ledger, now)
        case Separate():
            return operate.separate(command, ledger, policy, now)
        case Unmerge():
            return operate.unmerge(command, ledger, now)
        case Reinstate():
            return operate.reinstate(command, ledger, now)
        case Confirm():
            return word.confirm(command, ledger, now)
        case Retract():
            return word.retract(command, ledger, now)
        case Restore():
            return word.restore(command, ledger, now)
        case Compose():
            return word.compose(command, ledger, policy, now)
        case Access():
            return word.access(command, ledger, now)
        case EndSession() | Compact():
            return word.session_word(command, now)
        case Settle():
            return settle(command, ledger, policy, now)
        case _:
            assert_never(command)


def _refused(command: Operation, refusal: Refusal, now: datetime) -> Refused:
    data = RefusedData(
        command=command.command,
        reason=refusal.reason,
        detail=refusal.detail,
        candidate_id=getattr(command, "candidate_id", None),
        decision_id=getattr(command, "decision_id", None),
        actor=command.actor,
    )
    return Refused(**head(command, command.command_id, now), data=data)


def execute(
    command: Admit | Operation, ledger: Ledger, policy: Policy, now: datetime
) -> list[tuple[AnyEvent, Touched]]:
    """Decide, fold, and settle what waited for this change; each event with what it touched."""
    done: list[tuple[AnyEvent, Touched]] = []
    waiting: list[Admit | Operation] = [command]
    while waiting:
        for event in decide(waiting.pop(0), ledger, policy, now):
            done.append((event, evolve(ledger, event)))
            waiting += _resumed(ledger, event)
    return done


_UNBLOCKS = frozenset({"palimpsest.reversed.v1", "palimpsest.restored.v1"})


def _resumed(ledger: Ledger, event: AnyEvent) -> list[Settle]:
    """Verdicts that were kept because of a separation or a retraction and can settle now.

    So un-merging late equals un-merging at once (law L2): what an undone join had blocked happens.
    """
    if event.type not in _UNBLOCKS:
        return []
    return [
        Settle(
            command_id=event_id(event.id, entry.id),
            owner_id=ledger.owner_id,
            candidate_id=entry.id,
            verdicts=entry.kept.verdicts,
            composition=entry.kept.composition,
        )
        for entry in ledger.entries.values()
        if entry.pending and entry.kept is not None and _unblocked(ledger, entry)
    ]


def _unblocked(ledger: Ledger, entry: Entry) -> bool:
    assert entry.kept is not None
    joins = (v for v in entry.kept.verdicts if v.answer in ("same", "update", "compose"))
    first = next(joins, None)
    other = ledger.entries.get(first.neighbour_id) if first else None
    return other is not None and obstacle(ledger, entry, other) is None
