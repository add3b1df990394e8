"""Requests: understood, executed, and committed with their answers.

The same for every caller, in both runtimes: through the lock, the inbox or `memory.commands`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from pydantic import ValidationError

from palimpsest.contracts.answers import Answer, Done, Failed, JsonObject, Misused, Refused
from palimpsest.contracts.commands import (
    Access,
    Combine,
    Compact,
    Compose,
    Confirm,
    EndSession,
    Merge,
    Restore,
    Retract,
    Separate,
    Settle,
    Unmerge,
    Withdraw,
)
from palimpsest.contracts.errors import (
    InvalidInputError,
    ModelError,
    PalimpsestError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.contracts.events import AnyEvent, Composition, Figures, Joined, Ran
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.requests import (
    REQUEST,
    AccessRequest,
    AnyRequest,
    CheckRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    EmbedRequest,
    ForgetRequest,
    JoinSelection,
    MergeRequest,
    PolicyRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    RunRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    SettleRequest,
    UndoRequest,
    UnmergeRequest,
    UpdateRequest,
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
from palimpsest.streams.write.check import check
from palimpsest.streams.write.commit import Address, InputOffset, Reply
from palimpsest.streams.write.executor import (
    Executor,
    WriterExecutor,
    command_fields,
    memories,
    owner_of_candidate,
    owner_of_decision,
    run_once,
    run_or_refuse,
)
from palimpsest.streams.write.forgetting import forgotten, remembered
from palimpsest.streams.write.runs import ran
from palimpsest.streams.write.session_end import run_of
from palimpsest.streams.write.unmerging import refusals, reinstated, unmerged
from palimpsest.streams.write.updating import undone, updated
from palimpsest.streams.write.writer import Writer

SMALL = (SettleRequest, ComposeRequest, CombineRequest, SeparateRequest, ConfirmRequest)
"""What verifiers and batch runs bring by the hundred: each is one step on one owner's ledger."""
MOST_TOGETHER = 64
"""Small requests of one transaction: each transaction waits for the disk, and others for it."""
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


# -- the path of a request -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request, where its answer goes, and the input offset that is finished with it.

    Without an address the caller gets the answer only from `serve`.
    """

    request: AnyRequest
    reply_to: Address | None = None
    offset: InputOffset | None = None


def understood(body: bytes) -> AnyRequest:
    """The request of some bytes; InvalidInputError for what is none."""
    try:
        return REQUEST.validate_json(body)
    except ValidationError as error:
        raise InvalidInputError("field", f"no request: {error.error_count()} errors") from None


def serve(executor: WriterExecutor, asked: Sequence[PendingRequest]) -> list[Answer]:
    """Execute requests in their order, and commit them in one transaction with their answers.

    A refusal and wrong usage are answers. Where anything else is raised, none of them happened, but
    for those parts of a bulk request that were committed on the way.
    """
    with executor.writer.undone_on_failure():
        answers = [_answer(executor, one.request) for one in asked]
        _commit(executor.writer, asked, answers)
    return answers


def serve_alone(executor: WriterExecutor, one: PendingRequest) -> Answer:
    """As `serve`, for one request. If another process asked, a bug is an answer, too.

    It must not stop the requests that come after it.
    """
    try:
        return serve(executor, [one])[0]
    except (PalimpsestError, OSError):
        raise
    except Exception as error:
        if one.reply_to is None:
            raise
        executor.met_a_bug(one.request, error)
        failed = Failed(type(error).__name__)
        _commit(executor.writer, [one], [failed])
        return failed


def _commit(writer: Writer, asked: Sequence[PendingRequest], answers: Sequence[Answer]) -> None:
    """Commit what was decided, with these answers to requests."""
    for one, answer in zip(asked, answers, strict=True):
        if one.reply_to is not None:
            writer.pending.answers.append(Reply(one.reply_to, answer))
        if one.offset is not None:
            writer.pending.offsets.append(one.offset)
    writer.commit()


def serve_all(executor: WriterExecutor, asked: Iterable[PendingRequest]) -> list[Answer]:
    """As `serve`, many small requests in one transaction, and any other in its own.

    Where something is raised that is no answer, each request of that transaction is served alone:
    what is wrong with one of them is not the others' trouble.
    """
    answers: list[Answer] = []
    for part in _parts(asked):
        try:
            answers += serve(executor, part)
        except (StoreError, TransientError, OSError):
            raise
        except Exception:  # noqa: BLE001 - who it was raises it again
            answers += [serve_alone(executor, one) for one in part]
    return answers


def _parts(asked: Iterable[PendingRequest]) -> Iterator[list[PendingRequest]]:
    """Requests in their order, in parts of one transaction: many small ones, or another alone."""
    part: list[PendingRequest] = []
    for one in asked:
        if part and not (_goes_with(one, part[-1]) and len(part) < MOST_TOGETHER):
            yield part
            part = []
        part.append(one)
    if part:
        yield part


def _goes_with(one: PendingRequest, other: PendingRequest) -> bool:
    return isinstance(one.request, SMALL) and isinstance(other.request, SMALL)


def _answer(executor: WriterExecutor, request: AnyRequest) -> Answer:
    try:
        return Done(execute(_executor_for(executor, request), request))
    except RefusedError as error:
        return Refused(error.reason, error.detail)
    except UsageError as error:
        return Misused(str(error))


def _executor_for(executor: WriterExecutor, request: AnyRequest) -> Executor:
    return executor.dry_run() if getattr(request, "dry_run", False) else executor


# -- what each of them does ----------------------------------------------------------------------


def execute(executor: Executor, request: AnyRequest) -> JsonObject:
    """Run the commands of a request; return what they did, as plain values.

    Raises RefusedError, with the reason, where nothing could be done.
    """
    match request:
        case MergeRequest() | SeparateRequest() | WithdrawRequest():
            return _pair(executor, request)
        case CombineRequest():
            return _combined(executor, request)
        case ConfirmRequest():
            return _confirmed(executor, request)
        case ReinstateRequest():
            return reinstated(executor, request)
        case UnmergeRequest():
            return unmerged(executor, request)
        case UpdateRequest():
            return updated(executor, request)
        case UndoRequest():
            return undone(executor, request)
        case ForgetRequest():
            return forgotten(executor, request)
        case RestoreRequest() if request.forgotten is not None:
            return remembered(executor, request)
        case ReverseRequest() | ReinstateManyRequest() | RetractRequest() | RestoreRequest():
            return _in_bulk(executor, request)
        case SettleRequest():
            return _settled(executor, request)
        case ComposeRequest():
            return _composed(executor, request)
        case RunRequest():
            return ran(executor, request)
        case AccessRequest():
            return _accessed(executor, request)
        case SessionRequest():
            return _in_session(executor, request)
        case EmbedRequest():
            return _embedded(executor, request)
        case CheckRequest():
            return check(executor, request)
        case PolicyRequest():
            return executor.set_policy(request)
        case _:
            assert_never(request)


def _pair(
    executor: Executor, request: MergeRequest | SeparateRequest | WithdrawRequest
) -> JsonObject:
    owner_id = owner_of_candidate(executor, request.a)
    fields = command_fields(request, owner_id, "pair")
    if isinstance(request, MergeRequest):
        events = run_or_refuse(
            executor, Merge(**fields, a=request.a, b=request.b, face=request.face)
        )
    elif isinstance(request, WithdrawRequest):
        events = run_or_refuse(executor, Withdraw(**fields, a=request.a, b=request.b))
    else:
        names = ("a", "b", "rank", "verdicts", "similarity")
        fields |= {name: getattr(request, name) for name in names}
        events = run_or_refuse(executor, Separate(**fields))
    ledger = executor.ledger(owner_id)
    pair = [ledger.entries[request.a], ledger.entries[request.b]]
    answer: JsonObject = {"memories": memories(pair)}
    joined = next((event.id for event in events if isinstance(event, Joined)), None)
    return {"decision_id": joined, **answer} if joined else answer


def _confirmed(executor: Executor, request: ConfirmRequest) -> JsonObject:
    owner_id = owner_of_decision(executor, request.decision_id)
    fields = command_fields(request, owner_id, request.decision_id)
    fields |= {"rank": request.rank, "verdicts": request.verdicts}
    run_or_refuse(executor, Confirm(**fields, decision_id=request.decision_id))
    edge = executor.ledger(owner_id).edges.get(request.decision_id)
    changed = memories([edge.newer, edge.older]) if edge else []
    return {"decision_id": request.decision_id, "memories": changed}


def _in_bulk(executor: Executor, request: BulkRequest) -> JsonObject:
    """One step per owner and join or candidate, committed in parts; nothing is done twice.

    A dry run describes each: a count does not show that a selection matches the wrong ones.
    And it counts the questions that would be open again, each of which the judge is paid for.
    """
    done: list[str] = []
    refused: list[dict[str, str]] = []
    described: list[dict[str, Any]] = []
    owners = 0
    asks = 0
    steps = 0
    assert request.selection is not None, "what was forgotten at once is another request's"
    for owner_id in list(_owners(executor, request.selection)):
        ledger = executor.ledger(owner_id)
        commands = _expanded(ledger, request)
        owners += bool(commands)
        steps = _committed(executor, steps + len(ledger.entries))
        before = _asking(ledger) if request.dry_run else set()
        for command in commands:
            target = _target(command)
            if request.dry_run:
                described.append(_describe_target(ledger, target))
            why = _carried_out(executor, command)
            refused += why
            if not why:
                done.append(target)
            steps = _committed(executor, steps + 1)
        asks += len(_asking(ledger) - before) if request.dry_run else 0
    answer: JsonObject = {DONE[request.request]: done, "refused": refused, "owners": owners}
    what = "joins" if isinstance(request.selection, JoinSelection) else "candidates"
    return answer | ({what: described, "asks": asks} if request.dry_run else {})


def _asking(ledger: Ledger) -> set[tuple[str, str]]:
    """The pairs that the judge is to be asked about."""
    entries = ledger.entries.values()
    return {(entry.id, neighbour_id) for entry in entries for neighbour_id in entry.open}


def _target(command: Step) -> str:
    return command.candidate_id if isinstance(command, Retract | Restore) else command.decision_id


def _carried_out(executor: Executor, command: Step) -> list[dict[str, str]]:
    """Why a step could not be, if it could not."""
    if not isinstance(command, ReinstateRequest):
        return refusals(_target(command), run_once(executor, command))
    try:
        execute(executor, command)
    except RefusedError as error:
        named = {"reason": error.reason, "detail": error.detail}
        return [{"decision_id": command.decision_id, **named}]
    return []


def _describe_target(ledger: Ledger, target: str) -> dict[str, Any]:
    """A join or a candidate of a bulk request, with what a person needs to check it."""
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


def _committed(executor: Executor, steps: int) -> int:
    """The steps since the last commit, which is now where they are enough."""
    if steps < BULK:
        return steps
    executor.checkpoint()
    return 0


def _owners(executor: Executor, selection: Selection) -> Iterator[str]:
    if selection.candidate_id is not None:
        return iter([owner_of_candidate(executor, selection.candidate_id)])
    if selection.owner_id is not None:
        return iter([selection.owner_id])
    return (owner_id for owner_id in executor.log.owners() if owner_id)


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


def _accessed(executor: Executor, request: AccessRequest) -> JsonObject:
    owner_id = owner_of_candidate(executor, request.candidate_id)
    fields = command_fields(request, owner_id, request.candidate_id)
    run_or_refuse(executor, Access(**fields, candidate_id=request.candidate_id))
    return {"candidate_id": request.candidate_id}


def _in_session(executor: Executor, request: SessionRequest) -> JsonObject:
    """The answer has the figures of what the end of a session led to, where the policy asks."""
    kind = EndSession if request.request == "end_session" else Compact
    fields = command_fields(request, request.owner_id, request.session_id)
    command = kind(**fields, session_id=request.session_id)
    events = run_or_refuse(executor, command)
    figures = _figures(executor, command, events) if isinstance(command, EndSession) else {}
    return {"session_id": request.session_id, **figures}


def _figures(executor: Executor, end: EndSession, events: Sequence[AnyEvent]) -> Figures:
    """What the end of a session led to, now or when it was first asked for."""
    ran = event_id(run_of(end), "0")
    recorded = executor.log.find(ran)
    found = [*events, *([recorded.event] if recorded else ())]
    return next((one.data.figures for one in found if isinstance(one, Ran)), {})


def _embedded(executor: Executor, request: EmbedRequest) -> JsonObject:
    """Vectors that come late; refused where the model is down still."""
    try:
        done = executor.embed_late(request.owner_id)
    except ModelError as error:
        raise RefusedError("embedder_down", str(error)) from error
    left = len(executor.ledger(request.owner_id).unembedded)
    if left and not done:
        raise RefusedError("embedder_down", "there is still no model: `palimpsest doctor` says why")
    return {"embedded": done, "left": left}


def _combined(executor: Executor, request: CombineRequest) -> JsonObject:
    """One join of a batch run."""
    owner_id = owner_of_candidate(executor, request.a)
    text = None
    if request.face == "text" and request.composed is not None:
        text = Composition(content=executor.content(request.composed), sources=request.sources)
    command = Combine(
        **command_fields(request, owner_id, "pair"),
        a=request.a,
        b=request.b,
        decision=request.decision,
        face=request.face,
        composition=text,
        evidence=request.evidence,
        rank=request.rank,
    )
    events = run_or_refuse(executor, command)
    entry = executor.ledger(owner_id).entries[request.a]
    return {"decision_id": events[0].id if events else None, "memories": memories([entry])}


def _composed(executor: Executor, request: ComposeRequest) -> JsonObject:
    """A recomposed text."""
    owner_id = owner_of_decision(executor, request.decision_id)
    command = Compose(
        **command_fields(request, owner_id, request.decision_id),
        decision_id=request.decision_id,
        composition=Composition(content=executor.content(request.text), sources=request.sources),
        verdicts=request.verdicts,
    )
    run_or_refuse(executor, command)
    edge = executor.ledger(owner_id).edges[request.decision_id]
    return {"memories": memories([edge.newer])}


def _settled(executor: Executor, request: SettleRequest) -> JsonObject:
    """The settlement that verdicts ask for."""
    owner_id = owner_of_candidate(executor, request.candidate_id)
    ledger = executor.ledger(owner_id)
    command = Settle(
        **command_fields(request, owner_id, request.candidate_id),
        candidate_id=request.candidate_id,
        verdicts=request.verdicts,
        composition=_composition(executor, ledger, request),
    )
    events = run_or_refuse(executor, command)
    entry = executor.ledger(owner_id).entries[request.candidate_id]
    return {"decision_id": events[0].id if events else None, "memories": memories([entry])}


def _composition(executor: Executor, ledger: Ledger, request: SettleRequest) -> Composition | None:
    """The composed text with its sources: those that it was made of, as far as that was said."""
    joins = (v.neighbour_id for v in request.verdicts if v.answer == "compose")
    other = ledger.entries.get(next(joins, ""))
    if request.composed is None or not request.composed.strip() or other is None:
        return None
    face = other.memory.face
    sources = face.composition.sources if face.composition else (face.speaker.id,)
    return Composition(
        content=executor.content(request.composed),
        sources=request.sources or (*sources, request.candidate_id),
    )
