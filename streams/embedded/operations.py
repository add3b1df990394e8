"""People's requests, expanded to commands and carried out at a desk (design sections 9 and 13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from contracts.commands import (
    Access,
    Combine,
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
from contracts.errors import RefusedError
from contracts.events import (
    AnyEvent,
    Composition,
    Joined,
    Refused,
)
from contracts.identity import decision_id_of, event_id
from contracts.requests import (
    AccessRequest,
    AnyRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    MergeRequest,
    PolicyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    SettleRequest,
    UnmergeRequest,
)
from streams.core.expand import (
    restore_commands,
    retract_commands,
    reverse_commands,
    unmerge_commands,
)
from streams.core.ledger import Entry, Ledger, Memory
from streams.core.picture import picture
from streams.embedded.desk import Answer, Desk

BULK = 500
"""How many commands of a bulk request are committed together."""


def carry_out(desk: Desk, request: AnyRequest) -> Answer:
    """What a request did, as plain values.

    Raises RefusedError where nothing could be done, with the reason.
    """
    match request:
        case MergeRequest() | SeparateRequest():
            return _pair(desk, request)
        case CombineRequest():
            return _combine(desk, request)
        case ConfirmRequest() | ReinstateRequest():
            return _on_decision(desk, request)
        case UnmergeRequest():
            return _unmerge(desk, request)
        case ReverseRequest() | RetractRequest() | RestoreRequest():
            return _in_bulk(desk, request)
        case SettleRequest() | ComposeRequest():
            return _judged(desk, request)
        case AccessRequest() | SessionRequest():
            return _heard(desk, request)
        case PolicyRequest():
            return desk.set_policy(request)
        case _:
            assert_never(request)


def _said(request: AnyRequest, owner_id: str, target: str) -> dict[str, Any]:
    return {
        "command_id": event_id(request.request_id, target),
        "owner_id": owner_id,
        "actor": request.actor,
        "because": request.because,
    }


def _owner_of_candidate(desk: Desk, candidate_id: str) -> str:
    """Whose candidate it is: its first decision's id follows from its own, if that is an id."""
    try:
        owner_id = desk.log.owner_of(decision_id_of(candidate_id))
    except ValueError:
        owner_id = None
    if owner_id is None:
        raise RefusedError("unknown_candidate", f"there is no candidate {candidate_id}")
    return owner_id


def _owner_of_decision(desk: Desk, decision_id: str) -> str:
    owner_id = desk.log.owner_of(decision_id)
    if not owner_id:
        raise RefusedError("unknown_decision", f"there is no decision {decision_id}")
    return owner_id


def _run_or_refuse(desk: Desk, command: Operation) -> list[AnyEvent]:
    """The events of one command; its refusal is raised, and committed by whoever answers."""
    events = desk.run(command)
    for event in events:
        if isinstance(event, Refused):
            raise RefusedError(event.data.reason, event.data.detail)
    return events


def _memories(entries: list[Entry]) -> list[Any]:
    seen: dict[str, Memory] = {entry.memory.id: entry.memory for entry in entries}
    return [picture(memory) for memory in seen.values()]


def _pair(desk: Desk, request: MergeRequest | SeparateRequest) -> Answer:
    owner_id = _owner_of_candidate(desk, request.a)
    said = _said(request, owner_id, "pair")
    if isinstance(request, MergeRequest):
        events = _run_or_refuse(desk, Merge(**said, a=request.a, b=request.b, face=request.face))
    else:
        said |= {"rank": request.rank, "verdicts": request.verdicts}
        events = _run_or_refuse(desk, Separate(**said, a=request.a, b=request.b))
    ledger = desk.ledger(owner_id)
    pair = [ledger.entries[request.a], ledger.entries[request.b]]
    answer: Answer = {"memories": _memories(pair)}
    joined = next((event.id for event in events if isinstance(event, Joined)), None)
    return {"decision_id": joined, **answer} if joined else answer


def _combine(desk: Desk, request: CombineRequest) -> Answer:
    owner_id = _owner_of_candidate(desk, request.a)
    text = None
    if request.face == "text" and request.composed is not None:
        text = Composition(content=desk.content(request.composed), sources=request.sources)
    command = Combine(
        **_said(request, owner_id, "pair"),
        a=request.a,
        b=request.b,
        decision=request.decision,
        face=request.face,
        composition=text,
        evidence=request.evidence,
        rank=request.rank,
    )
    events = _run_or_refuse(desk, command)
    entry = desk.ledger(owner_id).entries[request.a]
    return {"decision_id": events[0].id if events else None, "memories": _memories([entry])}


def _on_decision(desk: Desk, request: ConfirmRequest | ReinstateRequest) -> Answer:
    owner_id = _owner_of_decision(desk, request.decision_id)
    said = _said(request, owner_id, request.decision_id)
    if isinstance(request, ConfirmRequest):
        said |= {"rank": request.rank, "verdicts": request.verdicts}
        _run_or_refuse(desk, Confirm(**said, decision_id=request.decision_id))
    else:
        _run_or_refuse(desk, Reinstate(**said, decision_id=request.decision_id))
    edge = desk.ledger(owner_id).edges.get(request.decision_id)
    memories = _memories([edge.newer, edge.older]) if edge else []
    return {"decision_id": request.decision_id, "memories": memories}


def _unmerge(desk: Desk, request: UnmergeRequest) -> Answer:
    owner_id = (
        _owner_of_decision(desk, request.decision_id)
        if request.decision_id
        else _owner_of_candidate(desk, request.candidate_id or request.memory_id or "")
    )
    commands = unmerge_commands(desk.ledger(owner_id), request)
    if not commands:
        raise RefusedError("not_a_join", "it holds no join that can be taken out")
    answer = _take_out(desk, owner_id, commands)
    if not answer["reversed"]:
        first = answer["refused"][0]
        raise RefusedError(first["reason"], first["detail"])
    return answer


def _take_out(desk: Desk, owner_id: str, commands: list[Unmerge]) -> Answer:
    refused: list[dict[str, str]] = []
    for command in commands:
        events = desk.run(command)
        refused += [_why(command.decision_id, e) for e in events if isinstance(e, Refused)]
    ledger = desk.ledger(owner_id)
    not_done = {one["decision_id"] for one in refused}
    ids = [c.decision_id for c in commands if c.decision_id not in not_done]
    ends = [e for i in ids for e in (ledger.edges[i].older, ledger.edges[i].newer)]
    return {"reversed": ids, "refused": refused, "memories": _memories(ends)}


def _why(target: str, event: Refused) -> dict[str, str]:
    return {"decision_id": target, "reason": event.data.reason, "detail": event.data.detail}


def _in_bulk(desk: Desk, request: ReverseRequest | RetractRequest | RestoreRequest) -> Answer:
    """One command per owner and join or candidate, committed in parts; nothing is done twice."""
    done: list[str] = []
    refused: list[dict[str, str]] = []
    owners = 0
    since_commit = 0
    for owner_id in list(_owners(desk, request.selection)):
        commands = _expanded(desk.ledger(owner_id), request)
        owners += bool(commands)
        for command in commands:
            target = command.decision_id if isinstance(command, Unmerge) else command.candidate_id
            refusals = [_why(target, e) for e in desk.run(command) if isinstance(e, Refused)]
            refused += refusals
            if not refusals:
                done.append(target)
            since_commit += 1
        if since_commit >= BULK:
            desk.checkpoint()
            since_commit = 0
    names = {"reverse": "reversed", "retract": "retracted", "restore": "restored"}
    return {names[request.request]: done, "refused": refused, "owners": owners}


def _owners(desk: Desk, selection: Selection) -> Iterator[str]:
    if selection.candidate_id is not None:
        return iter([_owner_of_candidate(desk, selection.candidate_id)])
    if selection.owner_id is not None:
        return iter([selection.owner_id])
    return (owner_id for owner_id in desk.log.owners() if owner_id)


def _expanded(
    ledger: Ledger, request: ReverseRequest | RetractRequest | RestoreRequest
) -> list[Unmerge] | list[Retract] | list[Restore]:
    match request:
        case ReverseRequest():
            return reverse_commands(ledger, request)
        case RetractRequest():
            return retract_commands(ledger, request)
        case RestoreRequest():
            return restore_commands(ledger, request)


def _judged(desk: Desk, request: SettleRequest | ComposeRequest) -> Answer:
    if isinstance(request, ComposeRequest):
        owner_id = _owner_of_decision(desk, request.decision_id)
        text = Composition(content=desk.content(request.text), sources=request.sources)
        said = _said(request, owner_id, request.decision_id)
        command = Compose(
            **said,
            decision_id=request.decision_id,
            composition=text,
            verdicts=request.verdicts,
        )
        _run_or_refuse(desk, command)
        edge = desk.ledger(owner_id).edges[request.decision_id]
        return {"memories": _memories([edge.newer])}
    owner_id = _owner_of_candidate(desk, request.candidate_id)
    said = _said(request, owner_id, request.candidate_id)
    ledger = desk.ledger(owner_id)
    settle = Settle(
        **said,
        candidate_id=request.candidate_id,
        verdicts=request.verdicts,
        composition=_composition(desk, ledger, request),
    )
    events = _run_or_refuse(desk, settle)
    entry = desk.ledger(owner_id).entries[request.candidate_id]
    return {"decision_id": events[0].id if events else None, "memories": _memories([entry])}


def _composition(desk: Desk, ledger: Ledger, request: SettleRequest) -> Composition | None:
    """The composed text with its sources: those that it was made of, as far as that was said."""
    joins = (v.neighbour_id for v in request.verdicts if v.answer == "compose")
    other = ledger.entries.get(next(joins, ""))
    if request.composed is None or not request.composed.strip() or other is None:
        return None
    face = other.memory.face
    sources = face.composition.sources if face.composition else (face.speaker.id,)
    return Composition(
        content=desk.content(request.composed),
        sources=request.sources or (*sources, request.candidate_id),
    )


def _heard(desk: Desk, request: AccessRequest | SessionRequest) -> Answer:
    if isinstance(request, AccessRequest):
        owner_id = _owner_of_candidate(desk, request.candidate_id)
        said = _said(request, owner_id, request.candidate_id)
        _run_or_refuse(desk, Access(**said, candidate_id=request.candidate_id))
        return {"candidate_id": request.candidate_id}
    kind = EndSession if request.request == "end_session" else Compact
    said = _said(request, request.owner_id, request.session_id)
    _run_or_refuse(desk, kind(**said, session_id=request.session_id))
    return {"session_id": request.session_id}
