"""People's requests, expanded to commands and carried out at a desk (docs/design.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from palimpsest.contracts.commands import (
    Access,
    Compact,
    Confirm,
    EndSession,
    Merge,
    Restore,
    Retract,
    Separate,
    Unmerge,
    Withdraw,
)
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Joined
from palimpsest.contracts.requests import (
    AccessRequest,
    AnyRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    JoinSelection,
    MergeRequest,
    PolicyRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    SettleRequest,
    UnmergeRequest,
    WithdrawRequest,
)
from palimpsest.streams.core.expand import (
    reinstate_one,
    restore_commands,
    retract_commands,
    reverse_commands,
    reversed_joins,
)
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.write.addressing import (
    memories,
    owner_of_candidate,
    owner_of_decision,
    run,
    run_or_refuse,
    words_of,
)
from palimpsest.streams.write.desk import Answer, Desk
from palimpsest.streams.write.judged import combined, judged
from palimpsest.streams.write.unmerging import refusals, reinstated, unmerged

BULK = 200
"""Steps of a bulk request between two commits: candidates looked at, and commands. In a memory of
thousands of members each command takes some hundredths of a second."""

BulkRequest = ReverseRequest | ReinstateManyRequest | RetractRequest | RestoreRequest
Step = Unmerge | ReinstateRequest | Retract | Restore
DONE = {
    "reverse": "reversed",
    "reinstate_many": "reinstated",
    "retract": "retracted",
    "restore": "restored",
}
"""By bulk request, the key of its answer that names what was done."""


def carry_out(desk: Desk, request: AnyRequest) -> Answer:
    """What a request did, as plain values.

    Raises RefusedError where nothing could be done, with the reason.
    """
    match request:
        case MergeRequest() | SeparateRequest() | WithdrawRequest():
            return _pair(desk, request)
        case CombineRequest():
            return combined(desk, request)
        case ConfirmRequest():
            return _confirmed(desk, request)
        case ReinstateRequest():
            return reinstated(desk, request)
        case UnmergeRequest():
            return unmerged(desk, request)
        case ReverseRequest() | ReinstateManyRequest() | RetractRequest() | RestoreRequest():
            return _in_bulk(desk, request)
        case SettleRequest() | ComposeRequest():
            return judged(desk, request)
        case AccessRequest() | SessionRequest():
            return _heard(desk, request)
        case PolicyRequest():
            return desk.set_policy(request)
        case _:
            assert_never(request)


def _pair(desk: Desk, request: MergeRequest | SeparateRequest | WithdrawRequest) -> Answer:
    owner_id = owner_of_candidate(desk, request.a)
    said = words_of(request, owner_id, "pair")
    if isinstance(request, MergeRequest):
        events = run_or_refuse(desk, Merge(**said, a=request.a, b=request.b, face=request.face))
    elif isinstance(request, WithdrawRequest):
        events = run_or_refuse(desk, Withdraw(**said, a=request.a, b=request.b))
    else:
        names = ("a", "b", "rank", "verdicts", "similarity")
        said |= {name: getattr(request, name) for name in names}
        events = run_or_refuse(desk, Separate(**said))
    ledger = desk.ledger(owner_id)
    pair = [ledger.entries[request.a], ledger.entries[request.b]]
    answer: Answer = {"memories": memories(pair)}
    joined = next((event.id for event in events if isinstance(event, Joined)), None)
    return {"decision_id": joined, **answer} if joined else answer


def _confirmed(desk: Desk, request: ConfirmRequest) -> Answer:
    owner_id = owner_of_decision(desk, request.decision_id)
    said = words_of(request, owner_id, request.decision_id)
    said |= {"rank": request.rank, "verdicts": request.verdicts}
    run_or_refuse(desk, Confirm(**said, decision_id=request.decision_id))
    edge = desk.ledger(owner_id).edges.get(request.decision_id)
    changed = memories([edge.newer, edge.older]) if edge else []
    return {"decision_id": request.decision_id, "memories": changed}


def _in_bulk(desk: Desk, request: BulkRequest) -> Answer:
    """One step per owner and join or candidate, committed in parts; nothing is done twice.

    A dry run tells of each what it is: a count does not show that a selection meant the wrong ones.
    And it counts the questions that would be open again, each of which the judge is paid for.
    """
    done: list[str] = []
    refused: list[dict[str, str]] = []
    told: list[dict[str, Any]] = []
    owners = 0
    asks = 0
    steps = 0
    for owner_id in list(_owners(desk, request.selection)):
        ledger = desk.ledger(owner_id)
        commands = _expanded(ledger, request)
        owners += bool(commands)
        steps = _committed(desk, steps + len(ledger.entries))
        before = _asking(ledger) if request.dry_run else set()
        for command in commands:
            target = _target(command)
            if request.dry_run:
                told.append(_told(ledger, target))
            why = _carried_out(desk, command)
            refused += why
            if not why:
                done.append(target)
            steps = _committed(desk, steps + 1)
        asks += len(_asking(ledger) - before) if request.dry_run else 0
    answer: Answer = {DONE[request.request]: done, "refused": refused, "owners": owners}
    what = "joins" if isinstance(request.selection, JoinSelection) else "candidates"
    return answer | ({what: told, "asks": asks} if request.dry_run else {})


def _asking(ledger: Ledger) -> set[tuple[str, str]]:
    """The pairs that the judge is to be asked about."""
    entries = ledger.entries.values()
    return {(entry.id, neighbour_id) for entry in entries for neighbour_id in entry.open}


def _target(command: Step) -> str:
    return command.candidate_id if isinstance(command, Retract | Restore) else command.decision_id


def _carried_out(desk: Desk, command: Step) -> list[dict[str, str]]:
    """Why a step could not be, if it could not."""
    if not isinstance(command, ReinstateRequest):
        return refusals(_target(command), run(desk, command))
    try:
        carry_out(desk, command)
    except RefusedError as error:
        named = {"reason": error.reason, "detail": error.detail}
        return [{"decision_id": command.decision_id, **named}]
    return []


def _told(ledger: Ledger, target: str) -> dict[str, Any]:
    """A join or a candidate that a bulk request means, as a person can tell whether it should."""
    edge = ledger.edges.get(target)
    if edge is None:
        entry = ledger.entries[target]
        return {
            "candidate_id": entry.id,
            "owner_id": ledger.owner_id,
            "source": entry.fields.source,
            "decision": entry.decision,
            "decided_at": entry.decided_at.isoformat(),
            "text": entry.text,
        }
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


def _committed(desk: Desk, steps: int) -> int:
    """The steps since the last commit, which is now where they are enough."""
    if steps < BULK:
        return steps
    desk.checkpoint()
    return 0


def _owners(desk: Desk, selection: Selection) -> Iterator[str]:
    if selection.candidate_id is not None:
        return iter([owner_of_candidate(desk, selection.candidate_id)])
    if selection.owner_id is not None:
        return iter([selection.owner_id])
    return (owner_id for owner_id in desk.log.owners() if owner_id)


def _expanded(ledger: Ledger, request: BulkRequest) -> Sequence[Step]:
    match request:
        case ReverseRequest():
            return reverse_commands(ledger, request)
        case ReinstateManyRequest():
            return [reinstate_one(request, edge.id) for edge in reversed_joins(ledger, request)]
        case RetractRequest():
            return retract_commands(ledger, request)
        case RestoreRequest():
            return restore_commands(ledger, request)


def _heard(desk: Desk, request: AccessRequest | SessionRequest) -> Answer:
    if isinstance(request, AccessRequest):
        owner_id = owner_of_candidate(desk, request.candidate_id)
        said = words_of(request, owner_id, request.candidate_id)
        run_or_refuse(desk, Access(**said, candidate_id=request.candidate_id))
        return {"candidate_id": request.candidate_id}
    kind = EndSession if request.request == "end_session" else Compact
    said = words_of(request, request.owner_id, request.session_id)
    run_or_refuse(desk, kind(**said, session_id=request.session_id))
    return {"session_id": request.session_id}
