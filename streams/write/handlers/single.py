"""Requests that become one command of one owner, of the same kind and with the same fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from palimpsest.contracts.answers import (
    Accessed,
    Agreed,
    Apart,
    Concluded,
    Merged,
    Names,
    NewExpiry,
    Recomposed,
    Session,
)
from palimpsest.contracts.commands import (
    Access,
    Combine,
    Compact,
    Compose,
    Confirm,
    EndSession,
    Merge,
    OwnerCommand,
    Separate,
    SetExpiry,
    SetNames,
    Settle,
    Withdraw,
)
from palimpsest.contracts.events import AnyEvent, Composition, Joined, Ran
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requests import (
    AccessRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    MergeRequest,
    OneCommand,
    SeparateRequest,
    SessionRequest,
    SetExpiryRequest,
    SetNamesRequest,
    SettleRequest,
    WithdrawRequest,
    command_head,
    target_of,
)
from palimpsest.streams.core.picture import pictures
from palimpsest.streams.write.executor import (
    Executor,
    owner_of_candidate,
    owner_of_decision,
)
from palimpsest.streams.write.handlers.session_end import run_of

Command = TypeVar("Command", bound=OwnerCommand)


def _command(
    kind: type[Command],
    request: OneCommand,
    owner_id: str,
    composition: Composition | None = None,
) -> Command:
    """A request as its command, with its owner, and with the composition of its text."""
    head = command_head(request, owner_id, target_of(request))
    return kind(**{**dict(request), **head, "composition": composition})


def merge(executor: Executor, request: MergeRequest) -> Merged:
    """Join two candidates, because somebody states that they are the same."""
    owner_id = owner_of_candidate(executor, request.a)
    events = executor.run(_command(Merge, request, owner_id))
    entries = executor.ledger(owner_id).entries
    return {
        "decision_id": next(event.id for event in events if isinstance(event, Joined)),
        "memories": pictures([entries[request.a], entries[request.b]]),
    }


def separate(executor: Executor, request: SeparateRequest) -> Apart:
    """Separate two candidates."""
    owner_id = owner_of_candidate(executor, request.a)
    executor.run(_command(Separate, request, owner_id))
    return _apart(executor, owner_id, request)


def withdraw(executor: Executor, request: WithdrawRequest) -> Apart:
    """Withdraw the latest statement about two candidates."""
    owner_id = owner_of_candidate(executor, request.a)
    executor.run(_command(Withdraw, request, owner_id))
    return _apart(executor, owner_id, request)


def _apart(executor: Executor, owner_id: str, request: SeparateRequest | WithdrawRequest) -> Apart:
    entries = executor.ledger(owner_id).entries
    return {"memories": pictures([entries[request.a], entries[request.b]])}


def confirm(executor: Executor, request: ConfirmRequest) -> Agreed:
    """Agree with a decision."""
    owner_id = owner_of_decision(executor, request.decision_id)
    executor.run(_command(Confirm, request, owner_id))
    ledger = executor.ledger(owner_id)
    edge = ledger.edges.get(request.decision_id)
    alone = ledger.entries[ledger.decisions[request.decision_id]]
    return {
        "decision_id": request.decision_id,
        "memories": pictures([edge.newer, edge.older] if edge else [alone]),
    }


def set_expiry(executor: Executor, request: SetExpiryRequest) -> NewExpiry:
    """Change when a candidate expires, or make it never expire."""
    owner_id = owner_of_candidate(executor, request.candidate_id)
    [event] = executor.run(_command(SetExpiry, request, owner_id))
    entry = executor.ledger(owner_id).entries[request.candidate_id]
    return {
        "event_id": event.id,
        "candidate_id": entry.id,
        "expires_at": None if entry.expires_at is None else entry.expires_at.isoformat(),
        "memories": pictures([entry]),
    }


def set_names(executor: Executor, request: SetNamesRequest) -> Names:
    """Replace the names that an owner is called by."""
    executor.run(_command(SetNames, request, request.owner_id))
    return {"owner_id": request.owner_id, "names": [*request.names]}


def combine(executor: Executor, request: CombineRequest) -> Concluded:
    """Make one join of a batch run."""
    owner_id = owner_of_candidate(executor, request.a)
    composition = None
    if request.face == "text" and request.composed is not None:
        content = executor.content(request.composed)
        composition = Composition(content=content, sources=request.sources)
    events = executor.run(_command(Combine, request, owner_id, composition))
    return _concluded(executor, owner_id, request.a, events)


def settle(executor: Executor, request: SettleRequest) -> Concluded:
    """Settle a pending candidate by the judge's verdicts."""
    owner_id = owner_of_candidate(executor, request.candidate_id)
    composition = _composition(executor, request, owner_id)
    events = executor.run(_command(Settle, request, owner_id, composition))
    return _concluded(executor, owner_id, request.candidate_id, events)


def _composition(executor: Executor, request: SettleRequest, owner_id: str) -> Composition | None:
    """The text that the judge composed from a candidate and its neighbour's face, if it did."""
    if request.composed is None or not request.composed.strip():
        return None
    joins = (v.neighbour_id for v in request.verdicts if v.answer == "compose")
    other = executor.ledger(owner_id).entries.get(next(joins, ""))
    if other is None:
        return None
    sources = request.sources or (*other.memory.face.sources, request.candidate_id)
    return Composition(content=executor.content(request.composed), sources=sources)


def _concluded(
    executor: Executor, owner_id: str, candidate_id: str, events: Sequence[AnyEvent]
) -> Concluded:
    entry = executor.ledger(owner_id).entries[candidate_id]
    return {"decision_id": events[0].id if events else None, "memories": pictures([entry])}


def compose(executor: Executor, request: ComposeRequest) -> Recomposed:
    """Give a memory the recomposed text that it needs."""
    owner_id = owner_of_decision(executor, request.decision_id)
    content = executor.content(request.text)
    composition = Composition(content=content, sources=request.sources)
    executor.run(_command(Compose, request, owner_id, composition))
    edge = executor.ledger(owner_id).edges[request.decision_id]
    return {"memories": pictures([edge.newer])}


def access(executor: Executor, request: AccessRequest) -> Accessed:
    """Record that a memory was used."""
    owner_id = owner_of_candidate(executor, request.candidate_id)
    executor.run(_command(Access, request, owner_id))
    return {"candidate_id": request.candidate_id}


def end_or_compact(executor: Executor, request: SessionRequest) -> Session:
    """Record that a session ended, which may consolidate it, or that it was compacted."""
    if request.request == "compact":
        executor.run(_command(Compact, request, request.owner_id))
        return {"session_id": request.session_id}
    end = _command(EndSession, request, request.owner_id)
    events = executor.run(end)
    recorded = executor.log.find(event_id(run_of(end), "0"))
    found = [*events, *([recorded.event] if recorded else ())]
    # A run's figures, now or when it was first requested, have the names of the answer's fields.
    figures = next((event.data.figures for event in found if isinstance(event, Ran)), {})
    return cast("Session", {"session_id": request.session_id, **figures})
