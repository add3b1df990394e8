"""From a request to its owner and its commands, and from what they did to an answer."""

from __future__ import annotations

from typing import Any

from palimpsest.contracts.commands import Operation
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, Refused
from palimpsest.contracts.identity import decision_id_of, event_id
from palimpsest.contracts.requests import AnyRequest
from palimpsest.streams.core.ledger import Entry, Memory
from palimpsest.streams.core.picture import picture
from palimpsest.streams.write.desk import Desk


def words_of(request: AnyRequest, owner_id: str, target: str) -> dict[str, Any]:
    """What a command about one target says because its request did; the same when asked again."""
    return {
        "command_id": event_id(request.request_id, target),
        "owner_id": owner_id,
        "actor": request.actor,
        "because": request.because,
    }


def owner_of_candidate(desk: Desk, candidate_id: str) -> str:
    """Whose candidate it is; RefusedError for an unknown one.

    The id of a candidate's first decision follows from its own, if that is an id.
    """
    try:
        owner_id = desk.log.owner_of(decision_id_of(candidate_id))
    except ValueError:
        owner_id = None
    if owner_id is None:
        raise RefusedError("unknown_candidate", f"there is no candidate {candidate_id}")
    return owner_id


def owner_of_decision(desk: Desk, decision_id: str) -> str:
    """Whose decision it is; RefusedError for an unknown one."""
    owner_id = desk.log.owner_of(decision_id)
    if not owner_id:
        raise RefusedError("unknown_decision", f"there is no decision {decision_id}")
    return owner_id


def run(desk: Desk, command: Operation) -> list[AnyEvent]:
    """The events of one command, those of old where it was carried out before.

    So a request that is asked again is answered as it was, also where it was refused.
    """
    events = desk.run(command)
    first = event_id(command.command_id, "0")
    before = None if any(event.id == first for event in events) else desk.log.find(first)
    return events if before is None else [before.event, *events]


def run_or_refuse(desk: Desk, command: Operation) -> list[AnyEvent]:
    """As `run`; its refusal is raised, and committed by whoever answers."""
    events = run(desk, command)
    for event in events:
        if isinstance(event, Refused):
            raise RefusedError(event.data.reason, event.data.detail)
    return events


def memories(entries: list[Entry]) -> list[Any]:
    """The memories of some candidates, each once, as a person sees them."""
    seen: dict[str, Memory] = {entry.memory.id: entry.memory for entry in entries}
    return [picture(memory) for memory in seen.values()]
