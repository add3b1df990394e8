"""Forgetting memories, and restoring them exactly (docs/intent.md)."""

from __future__ import annotations

from palimpsest.contracts.answers import Forgotten, NotDone, Restorations, Waits
from palimpsest.contracts.commands import Forget
from palimpsest.contracts.errors import RefusedError, no_such_id
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requests import ForgetRequest, RestoreRequest, command_head
from palimpsest.streams.core.expand import FORGET, restore_commands
from palimpsest.streams.core.lazy_copy import glance
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.picture import pictures
from palimpsest.streams.core.version import versions_of
from palimpsest.streams.write.executor import (
    Executor,
    owner_of_candidate,
    require_owner,
    run_one,
)
from palimpsest.streams.write.handlers.unmerge import as_found


def forget(executor: Executor, request: ForgetRequest) -> Forgotten:
    """Forget memories; a repeated request gets its first answer.

    Raises RefusedError if an id is unknown or another owner's, if `expect` no longer holds, or if
    no memory has a living member.
    """
    by_agent = request.rank == "agent"
    again = request.again or ("allow" if by_agent else "ask")
    if not request.memory_ids:
        if request.expect not in (None, versions_of([])):
            raise RefusedError("moved_on", "the memories that were expected are gone: look again")
        return {
            "forgotten": request.request_id,
            "candidates": [],
            "again": again,
            "token": versions_of([]),
            "waits": [],
            "memories": [],
            "events": [],
        }
    owner_id = owner_of_candidate(executor, request.memory_ids[0])
    require_owner(owner_id, request.owner_id, request.memory_ids[0])
    for memory_id in request.memory_ids[1:]:
        require_owner(owner_of_candidate(executor, memory_id), owner_id, memory_id)
    head = command_head(request, owner_id, FORGET)
    first = executor.log.find(event_id(head["command_id"], "0"))
    if first is not None:
        executor = as_found(executor, first)
    ledger = executor.ledger(owner_id)
    meant = _meant(ledger, request.memory_ids)
    token, waits = versions_of(meant), _waiting(ledger, meant)
    command = Forget(
        **head,
        memories=request.memory_ids,
        expect=request.expect,
        again=again,
        earlier="refuse" if by_agent and request.again is None else None,
        speaker="agent" if by_agent else None,
        cause=request.request_id,
    )
    events = executor.run(command)
    return {
        "forgotten": request.request_id,
        "candidates": [event.subject for event in events],
        "again": again,
        "token": token,
        "waits": waits,
        "memories": pictures([memory.members[0] for memory in meant]),
        "events": [event.id for event in events],
    }


def _meant(ledger: Ledger, ids: tuple[str, ...]) -> list[Memory]:
    """The memories of some ids, each once."""
    found = {
        ledger.entries[memory_id].memory.id: ledger.entries[memory_id].memory for memory_id in ids
    }
    return list(found.values())


def _waiting(ledger: Ledger, meant: list[Memory]) -> list[Waits]:
    """The candidates that wait for the judge, in one of these memories or about one of them."""
    members = {entry.id for memory in meant for entry in memory.members}
    return [
        {"candidate_id": entry.id, "memory_id": entry.memory.id, "text": entry.text}
        for entry in glance(ledger.entries)
        if _waits_on(entry, members)
    ]


def _waits_on(entry: Entry, members: set[str]) -> bool:
    if not entry.pending or not entry.living:
        return False
    return entry.id in members or not members.isdisjoint(entry.open)


def remember(executor: Executor, request: RestoreRequest) -> Restorations:
    """Undo a request to forget; a candidate whose text has been stored again joins that memory.

    `refused` lists what later statements prevent. Raises RefusedError if there was no such request,
    or all that it forgot has been restored.
    """
    name = request.forgotten or ""
    try:
        owner_id = executor.log.owner_of(event_id(event_id(name, FORGET), "0"))
    except ValueError:
        owner_id = None
    if not owner_id:
        raise RefusedError("unknown_decision", no_such_id(name))
    commands = restore_commands(executor.ledger(owner_id), request)
    if not commands:
        raise RefusedError("not_retracted", f"all that {name} forgot has been restored")
    refused: list[NotDone] = []
    done: list[str] = []
    for command in commands:
        _, why = run_one(executor, command, command.candidate_id)
        refused += why
        if not why:
            done.append(command.candidate_id)
    entries = executor.ledger(owner_id).entries
    return {
        "restored": done,
        "refused": refused,
        "owners": 1,
        "memories": pictures([entries[command.candidate_id] for command in commands]),
    }
