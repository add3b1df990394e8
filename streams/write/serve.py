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
    KINDS,
    EndSession,
    Operation,
    Restore,
    Retract,
    Unmerge,
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
from palimpsest.contracts.events import AnyEvent, Composition, Figures, Joined, PolicySet, Ran
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
    OneCommand,
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
    command_head,
    is_dry_run,
    target_of,
)
from palimpsest.streams.core.expand import (
    reinstate_one,
    restore_commands,
    retract_commands,
    reverse_commands,
    reversed_joins,
)
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.write.answered import earlier_answer, record_answer
from palimpsest.streams.write.commit import Address, InputOffset, Reply
from palimpsest.streams.write.executor import (
    DryRun,
    Executor,
    memories,
    not_done,
    owner_of_candidate,
    owner_of_decision,
    run_one,
)
from palimpsest.streams.write.handlers.check import check
from palimpsest.streams.write.handlers.forget import forgotten, remembered
from palimpsest.streams.write.handlers.run import ran
from palimpsest.streams.write.handlers.session_end import run_of
from palimpsest.streams.write.handlers.unmerge import reinstated, unmerged
from palimpsest.streams.write.handlers.update import undone, updated
from palimpsest.streams.write.writer import Writer

SMALL = (SettleRequest, ComposeRequest, CombineRequest, SeparateRequest, ConfirmRequest)
"""What verifiers and batch runs bring by the hundred: each is one step on one owner's ledger."""
MOST_TOGETHER = 64
"""Small requests of one transaction: each transaction waits for the disk, and others for it."""
BULK = 200
"""Steps of a bulk request between two commits: candidates looked at, and commands. In a memory of
thousands of members each command takes some hundredths of a second."""

ELSEWHERE = "wrong_partition"
"""Why a cluster's partition refuses what is another's: it always will, so it notes nothing."""

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
    """A request, the address of its answer, and the input offset that is finished with it.

    Without an address only the caller of `serve` gets the answer.
    """

    request: AnyRequest
    reply_to: Address | None = None
    offset: InputOffset | None = None


def understood(body: bytes) -> AnyRequest:
    """The request that some bytes are; InvalidInputError if they are none."""
    try:
        return REQUEST.validate_json(body)
    except ValidationError as error:
        raise InvalidInputError("field", f"no request: {error.error_count()} errors") from None


def serve(
    writer: Writer, asked: Iterable[PendingRequest], executor: Executor | None = None
) -> list[Answer]:
    """Execute requests in order, and commit them in one transaction with their answers.

    A refusal and wrong usage are answers. If anything else is raised, none of the requests
    happened, except for those parts of a bulk request that were committed on the way.
    """
    answers: list[Answer] = []
    with writer.undone_on_failure():
        for one in asked:
            earlier = earlier_answer(writer, one.request)
            answers.append(earlier or _carried_out(writer, one.request, executor))
            _reply(writer, one, answers[-1])
        writer.commit()
    return answers


def _carried_out(writer: Writer, request: AnyRequest, executor: Executor | None) -> Answer:
    """What becomes of a request that is new; it is recorded."""
    before, start = writer.pending, len(writer.pending.events)
    answer: Answer
    try:
        answer = Done(execute(executor or _executor_for(writer, request), request))
    except RefusedError as error:
        answer = Refused(error.reason, error.detail)
    except UsageError as error:
        answer = Misused(str(error))
    if not (isinstance(answer, Refused) and answer.reason == ELSEWHERE):
        record_answer(writer, request, answer, start if writer.pending is before else 0)
    return answer


def _executor_for(writer: Writer, request: AnyRequest) -> Executor:
    """The writer; for a dry run, ledgers of what is committed."""
    return DryRun(writer.log, writer.policy, writer.clock) if is_dry_run(request) else writer


def _reply(writer: Writer, one: PendingRequest, answer: Answer) -> None:
    """Have an answer committed with what was decided."""
    if one.reply_to is not None:
        writer.pending.answers.append(Reply(one.reply_to, answer))
    if one.offset is not None:
        writer.pending.offsets.append(one.offset)


def fail(writer: Writer, one: PendingRequest, error: Exception) -> Failed:
    """Answer a request that hit a bug: it must not stop the requests that come after it."""
    failed = Failed(type(error).__name__)
    _reply(writer, one, failed)
    writer.commit()
    return failed


def serve_all(writer: Writer, asked: Iterable[PendingRequest]) -> list[Answer]:
    """As `serve`, many small requests in one transaction, and any other in its own.

    If something is raised that is no answer, each request of that transaction is served alone: an
    error in one of them must not affect the others.
    """
    answers: list[Answer] = []
    for part in _parts(asked):
        try:
            answers += serve(writer, part)
        except (StoreError, TransientError, OSError):
            raise
        except Exception:  # noqa: BLE001 - the request that caused it raises it again
            answers += [_serve_alone(writer, one) for one in part]
    return answers


def _serve_alone(writer: Writer, one: PendingRequest) -> Answer:
    """As `serve`, for one request; if another process asked, a bug is an answer, too."""
    try:
        return serve(writer, [one])[0]
    except (PalimpsestError, OSError):
        raise
    except Exception as error:
        if one.reply_to is None:
            raise
        return fail(writer, one, error)


def _parts(asked: Iterable[PendingRequest]) -> Iterator[list[PendingRequest]]:
    """Requests in order, in parts of one transaction: many small ones, or another alone."""
    part: list[PendingRequest] = []
    for one in asked:
        together = part and isinstance(one.request, SMALL) and isinstance(part[-1].request, SMALL)
        if part and not (together and len(part) < MOST_TOGETHER):
            yield part
            part = []
        part.append(one)
    if part:
        yield part


# -- what each of them does ----------------------------------------------------------------------


def execute(executor: Executor, request: AnyRequest) -> JsonObject:
    """Run the commands of a request; return what they did, as plain values.

    Raises RefusedError, with the reason, if nothing could be done.
    """
    if isinstance(request, OneCommand):
        command = _command_of(executor, request)
        return _answer_to(executor, request, command, executor.run(command))
    match request:
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
        case RunRequest():
            return ran(executor, request)
        case EmbedRequest():
            return _embedded(executor, request)
        case CheckRequest():
            return check(executor, request)
        case PolicyRequest():
            return _policy_set(executor, request)
        case _:
            assert_never(request)


def _policy_set(executor: Executor, request: PolicyRequest) -> JsonObject:
    """The policy that is in force from now on; of an older log's request, the one that was."""
    found = executor.log.find(event_id(request.request_id, "0"))
    if found is not None and isinstance(found.event, PolicySet):
        rules = found.event.data.policy
        return {
            "policy": rules["name"],
            "hash": found.event.data.hash,
            "exact": rules.get("exact"),
        }
    executor.set_policy(request)
    policy = executor.policy
    return {"policy": policy.name, "hash": policy.hash, "exact": policy.exact}


# -- one command ---------------------------------------------------------------------------------


def _command_of(executor: Executor, request: OneCommand) -> Operation:
    """A request as the command that it is, for its owner, and with the vector of its text."""
    owner_id = _owner_of(executor, request)
    fields = {**dict(request), **command_head(request, owner_id, target_of(request))}
    return KINDS[request.request](**fields, composition=_composition(executor, request, owner_id))


def _owner_of(executor: Executor, request: OneCommand) -> str:
    match request:
        case SessionRequest():
            return request.owner_id
        case ConfirmRequest() | ComposeRequest():
            return owner_of_decision(executor, request.decision_id)
        case SettleRequest() | AccessRequest():
            return owner_of_candidate(executor, request.candidate_id)
        case MergeRequest() | CombineRequest() | SeparateRequest() | WithdrawRequest():
            return owner_of_candidate(executor, request.a)


def _composition(executor: Executor, request: OneCommand, owner_id: str) -> Composition | None:
    """The text that a request composes, with its sources, if it composes one."""
    match request:
        case ComposeRequest():
            text, sources = request.text, request.sources
        case CombineRequest(face="text", composed=str(text)):
            sources = request.sources
        case SettleRequest(composed=str(text)) if text.strip():
            ledger = executor.ledger(owner_id)
            joins = (v.neighbour_id for v in request.verdicts if v.answer == "compose")
            other = ledger.entries.get(next(joins, ""))
            if other is None:
                return None
            sources = request.sources or (*other.memory.face.sources, request.candidate_id)
        case _:
            return None
    return Composition(content=executor.content(text), sources=sources)


def _answer_to(
    executor: Executor, request: OneCommand, command: Operation, events: Sequence[AnyEvent]
) -> JsonObject:
    """What a request's command did."""
    ledger = executor.ledger(command.owner_id)
    entries = ledger.entries
    match request:
        case MergeRequest() | SeparateRequest() | WithdrawRequest():
            pair = memories([entries[request.a], entries[request.b]])
            joined = next((event.id for event in events if isinstance(event, Joined)), None)
            return {"decision_id": joined, "memories": pair} if joined else {"memories": pair}
        case CombineRequest():
            found = memories([entries[request.a]])
            return {"decision_id": events[0].id if events else None, "memories": found}
        case SettleRequest():
            found = memories([entries[request.candidate_id]])
            return {"decision_id": events[0].id if events else None, "memories": found}
        case ConfirmRequest():
            edge = ledger.edges.get(request.decision_id)
            found = memories([edge.newer, edge.older]) if edge else []
            return {"decision_id": request.decision_id, "memories": found}
        case ComposeRequest():
            return {"memories": memories([ledger.edges[request.decision_id].newer])}
        case AccessRequest():
            return {"candidate_id": request.candidate_id}
        case SessionRequest():
            figures = _figures(executor, command, events) if isinstance(command, EndSession) else {}
            return {"session_id": request.session_id, **figures}


def _figures(executor: Executor, end: EndSession, events: Sequence[AnyEvent]) -> Figures:
    """What the end of a session led to, now or when it was first requested."""
    ran = event_id(run_of(end), "0")
    recorded = executor.log.find(ran)
    found = [*events, *([recorded.event] if recorded else ())]
    return next((one.data.figures for one in found if isinstance(one, Ran)), {})


# -- many commands -------------------------------------------------------------------------------


def _in_bulk(executor: Executor, request: BulkRequest) -> JsonObject:
    """One step per owner and join or candidate, committed in parts; nothing is done twice.

    A dry run describes each: a count does not show that a selection matches the wrong ones.
    And it counts the questions that would be open again, each of which the judge is paid for.
    """
    done: list[str] = []
    refused: list[dict[str, str]] = []
    recorded: list[str] = []
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
        meant = tuple(map(_target, commands))
        for command in commands:
            target = _target(command)
            if request.dry_run:
                described.append(_describe_target(ledger, target))
            events, why = _run_step(executor, ledger, command, meant)
            refused += why
            if events is not None:
                done.append(target)
                recorded += events
            steps = _committed(executor, steps + 1)
        asks += len(_asking(ledger) - before) if request.dry_run else 0
    answer: JsonObject = {DONE[request.request]: done, "refused": refused, "owners": owners}
    if isinstance(request, ReverseRequest | RetractRequest) and not request.dry_run:
        answer["cause"] = request.request_id
    if isinstance(request, ReinstateManyRequest) and not request.dry_run:
        answer["events"] = recorded
    what = "joins" if isinstance(request.selection, JoinSelection) else "candidates"
    return answer | ({what: described, "asks": asks} if request.dry_run else {})


def _asking(ledger: Ledger) -> set[tuple[str, str]]:
    """The pairs that the judge is to be asked about."""
    entries = ledger.entries.values()
    return {(entry.id, neighbour_id) for entry in entries for neighbour_id in entry.open}


def _target(command: Step) -> str:
    return command.candidate_id if isinstance(command, Retract | Restore) else command.decision_id


def _run_step(
    executor: Executor, ledger: Ledger, step: Step, meant: tuple[str, ...]
) -> tuple[list[str] | None, list[dict[str, str]]]:
    """The events of a step, or None, and what could not be: it, or what comes back with its join.

    Of joins that are `meant` together, one may have come back with an earlier one.
    """
    if not isinstance(step, ReinstateRequest):
        events, why = run_one(executor, step, _target(step))
        return None if why else [event.id for event in events], why
    if ledger.edges[step.decision_id].standing:
        own = event_id(event_id(step.request_id, step.decision_id), "0")
        return [own] if own in ledger.events else [], []
    try:
        answer = reinstated(executor, step, meant)
    except RefusedError as error:
        return None, [not_done(step.decision_id, error)]
    return answer["events"], answer["refused"]


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
    executor.commit()
    return 0


def _owners(executor: Executor, selection: Selection) -> Iterator[str]:
    if selection.candidate_id is not None:
        return iter([owner_of_candidate(executor, selection.candidate_id)])
    if selection.owner_id is not None:
        return iter([selection.owner_id])
    return executor.log.owners()


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


def _embedded(executor: Executor, request: EmbedRequest) -> JsonObject:
    """Late vectors, or windows; refused if the model is still down."""
    try:
        done, left = executor.embed_late(request.owner_id, long=request.long)
    except ModelError as error:
        raise RefusedError("embedder_down", str(error)) from error
    if left and not done:
        raise RefusedError("embedder_down", "there is still no model: `palimpsest doctor` says why")
    return {"embedded": done, "left": left}
