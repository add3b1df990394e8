"""Parses and executes requests, and commits them with their answers.

The same for every caller in both runtimes, through the lock, the inbox or `memory.commands`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import ValidationError

from palimpsest.contracts.answers import (
    EMBEDDER_DOWN,
    MODEL_UNUSABLE,
    WITHOUT_MODEL,
    A_co,
    AddedVectors,
    Answer,
    Done,
    Failed,
    LateVectors,
    Misused,
    Named,
    PolicyInForce,
    Refused,
    TakenBack,
)
from palimpsest.contracts.commands import Embed
from palimpsest.contracts.errors import (
    InvalidInputError,
    ModelError,
    PalimpsestError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.contracts.events import AnyEvent, Joined, PolicySet
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.limits import MOST
from palimpsest.contracts.model import LONG_INTEGER, has_huge_integer, rule_of
from palimpsest.contracts.requests import (
    REQUEST,
    AccessRequest,
    AddVectorsRequest,
    CertifyRequest,
    CheckRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    EmbedRequest,
    ForgetRequest,
    JudgedRequest,
    LabelAuditRequest,
    MergeRequest,
    OpenAuditRequest,
    PolicyRequest,
    RefuseRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    RunRequest,
    SeparateRequest,
    SessionRequest,
    SetExpiryRequest,
    SetNamesRequest,
    SettleRequest,
    SubmitRequest,
    UndoRequest,
    UnmergeRequest,
    UpdateRequest,
    WithdrawRequest,
    is_dry_run,
)
from palimpsest.contracts.wire import NEWER, VERSION
from palimpsest.streams.embedder import ModelUnusable
from palimpsest.streams.write.answered import earlier_answer, record_answer
from palimpsest.streams.write.commit import Address, Commit, InputOffset, Reply
from palimpsest.streams.write.executor import Executor, trial_of
from palimpsest.streams.write.handlers import audit, bulk, single
from palimpsest.streams.write.handlers.check import check
from palimpsest.streams.write.handlers.forget import forget
from palimpsest.streams.write.handlers.run import carry_out_run
from palimpsest.streams.write.handlers.unmerge import reinstate, unmerge
from palimpsest.streams.write.handlers.update import undo, update
from palimpsest.streams.write.writer import Writer

SMALL = (
    SettleRequest,
    ComposeRequest,
    CombineRequest,
    SeparateRequest,
    ConfirmRequest,
    AddVectorsRequest,
)
"""Requests that are sent by the hundred, each a small step on one owner's ledger."""
MOST_TOGETHER = 64
"""Maximum number of small requests in a transaction: everybody else waits until it is on disk."""

_NAME = re.compile(r"\w{1,40}", re.ASCII)
"""Field names that may be quoted in a message; anything else is left out."""
_AS_TEXT = {"metadata"}
"""Fields that databases hold as text, so that numbers in them may have any size."""
ELSEWHERE = "wrong_partition"
"""The reason with which a partition refuses another partition's requests."""
_NOT_RECORDED = {ELSEWHERE, *WITHOUT_MODEL}
"""Reasons of refusals that are not recorded: another partition's request is refused again anyway,
and one that lacked the model is executed when it is sent again."""

Handler = Callable[[Any, Any], Any]
"""Runs the commands of a request of one kind on an executor, or on the writer if it has no dry run.

Returns what they did, as plain values. Raises RefusedError, with the reason, if nothing could be
done, UsageError if the request is wrong, and ModelError if it needs a vector that the model cannot
give."""


def put_policy_in_force(writer: Writer, request: PolicyRequest) -> PolicyInForce:
    """Put another policy in force.

    Older logs have no answers, so a request that was carried out there is answered from its event.
    """
    found = writer.log.find(event_id(request.request_id, "0"))
    if found is not None and isinstance(found.event, PolicySet):
        rules = found.event.data.policy
        return {
            "policy": rules["name"],
            "hash": found.event.data.hash,
            "exact": rules.get("exact"),
        }
    writer.set_policy(request)
    policy = writer.policy
    return {"policy": policy.name, "hash": policy.hash, "exact": policy.exact}


def embed_late(writer: Writer, request: EmbedRequest) -> LateVectors:
    """Embed texts late, or their windows; refused if the model is still down or unusable."""
    try:
        done, left = writer.embed_late(request.owner_id, long=request.long)
    except ModelError as error:
        raise RefusedError(_reason_without_model(error), str(error)) from error
    if left and not done:
        raise RefusedError(EMBEDDER_DOWN, "there is still no model: `palimpsest doctor` says why")
    return {"embedded": done, "left": left}


def add_vectors(writer: Writer, request: AddVectorsRequest) -> AddedVectors:
    """Record vectors of another model beside those in force; texts that have one are left out."""
    done: list[AnyEvent] = []
    for one in request.vectors:
        done += writer.run(
            Embed(
                command_id=event_id(request.request_id, one.text_id or one.candidate_id),
                owner_id=request.owner_id,
                candidate_id=one.candidate_id,
                text_id=one.text_id,
                vector=one.vector,
            )
        )
    return {"added": len(done), "events": [event.id for event in done[-1:]]}


def name_submission(_writer: Writer, request: SubmitRequest) -> Named:
    """Do nothing: recording the request is enough to refuse other rows under its id."""
    return {"owner_id": request.owner_id}


def refuse(_writer: Writer, request: RefuseRequest) -> TakenBack:
    """Refuse an `undo` or a `redo` that no request can carry out."""
    raise RefusedError(request.reason, request.detail)


HANDLERS: dict[type[Request], Handler] = {
    MergeRequest: single.merge,
    CombineRequest: single.combine,
    SeparateRequest: single.separate,
    ConfirmRequest: single.confirm,
    WithdrawRequest: single.withdraw,
    SetExpiryRequest: single.set_expiry,
    SetNamesRequest: single.set_names,
    SettleRequest: single.settle,
    ComposeRequest: single.compose,
    AccessRequest: single.access,
    SubmitRequest: name_submission,
    RefuseRequest: refuse,
    SessionRequest: single.end_or_compact,
    UnmergeRequest: unmerge,
    ReinstateRequest: reinstate,
    UpdateRequest: update,
    UndoRequest: undo,
    ForgetRequest: forget,
    ReverseRequest: bulk.reverse,
    ReinstateManyRequest: bulk.reinstate_many,
    RetractRequest: bulk.retract,
    RestoreRequest: bulk.restore,
    RunRequest: carry_out_run,
    EmbedRequest: embed_late,
    AddVectorsRequest: add_vectors,
    CheckRequest: check,
    PolicyRequest: put_policy_in_force,
    OpenAuditRequest: audit.open_audit,
    LabelAuditRequest: audit.label_audit,
    CertifyRequest: audit.certify,
}


def execute(executor: Executor, request: Request[A_co]) -> A_co:
    """Run the commands of a request; return what they did, as its handler does."""
    answer: A_co = HANDLERS[type(request)](executor, request)
    return answer


def undo_id(request: Request, answer: Any, events: Iterable[AnyEvent]) -> str | None:
    """The id to pass to `undo` to take a request back; None if no single request can.

    A candidate that was restored and joined to another one with its text is hidden again by one
    request, and parted from the other by a second.
    """
    match request, answer:
        case RestoreRequest(), _ if any(isinstance(event, Joined) for event in events):
            return None
        case (
            ((MergeRequest() | UpdateRequest()), {"decision_id": str(name)})
            | (SetExpiryRequest(), {"event_id": str(name)})
            | (ReinstateManyRequest(), {"reinstated": [_], "events": [str(name)]})
            | (ReinstateManyRequest(), {"reinstated": [str(name)]})
        ):
            return name
        case ReinstateRequest(), {"decision_id": str(decision)}:
            return event_id(event_id(request.request_id, decision), "0")
        case (
            ((SeparateRequest() | WithdrawRequest() | UndoRequest()), _)
            | ((UnmergeRequest() | ReverseRequest()), {"reversed": [_, *_]})
            | (RetractRequest(), {"retracted": [_, *_]})
            | (ForgetRequest(), {"candidates": [_, *_]})
            | (RestoreRequest(), {"restored": [_]})
        ):
            return request.request_id
        case _:
            return None


# -- the path of a request -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PendingRequest(Generic[A_co]):
    """A request, the address of its answer, and the input offset that it completes.

    Without an address only the caller of `serve` gets the answer.
    """

    request: Request[A_co]
    reply_to: Address | None = None
    offset: InputOffset | None = None


def parse_request(body: bytes) -> Request:
    """Parse a request. Raises InvalidInputError if it is malformed.

    The message says so if a newer version may have sent it: a request is understood whole or not at
    all.
    """
    try:
        return REQUEST.validate_json(body)
    except ValidationError as error:
        errors = error.errors(include_input=False)
        named = [".".join(filter(_NAME.fullmatch, map(str, wrong["loc"]))) for wrong in errors]
        if not all(error["type"] in NEWER for error in errors):
            told = zip(named, map(rule_of, errors), strict=True)
            rules = (f"{name}: {rule}" if name else rule for name, rule in told)
            detail = f"not a request: {'; '.join(rules)}"
        else:
            names = ", ".join(named) or "its kind"
            detail = (
                f"not a request that Palimpsest {VERSION} knows ({names}): if a newer version sent"
                " it, upgrade the process that decides"
            )
        raise InvalidInputError("field", detail) from None


def serve(writer: Writer, asked: Iterable[PendingRequest[A_co]]) -> list[Answer[A_co]]:
    """Execute requests in order, and commit them in one transaction with their answers.

    A refusal and wrong usage are answers. If anything else is raised, none of the requests
    happened, except for those parts of a bulk request that were committed on the way.
    """
    answers: list[Answer[A_co]] = []
    with writer.undone_on_failure():
        for pending in asked:
            earlier = earlier_answer(writer, pending.request)
            answers.append(earlier or _carry_out(writer, pending.request))
            _reply(writer, pending, answers[-1])
        writer.commit()
    return answers


def _carry_out(writer: Writer, request: Request[A_co]) -> Answer[A_co]:
    """Execute a new request and record its answer; a new judge is recorded first."""
    by = request.judge if isinstance(request, JudgedRequest) else None
    judge = by and writer.set_judge(by, request.request_id)
    before, start = writer.pending, len(writer.pending.events)
    answer: Answer
    try:
        _require_recordable(request)
        done = HANDLERS[type(request)](_executor_for(writer, request), request)
        events = [event for event, _ in writer.pending.events[_since(writer, before, start) :]]
        name = None if is_dry_run(request) else undo_id(request, done, events)
        answer = Done(done if name is None else {**done, "undo": name})
    except RefusedError as error:
        answer = Refused(error.reason, error.detail)
    except UsageError as error:
        answer = Misused(str(error))
    if not (isinstance(answer, Refused) and answer.reason in _NOT_RECORDED):
        record_answer(writer, request, answer, _since(writer, before, start))
    if judge and writer.pending.events and writer.pending.events[-1][0] is judge:
        writer.pending.events.pop()  # a dry run, or another partition's: nothing is recorded
    return answer


def _since(writer: Writer, before: Commit, start: int) -> int:
    """Where a request's events begin in the pending commit; parts of it may be committed."""
    return start if writer.pending is before else 0


def _require_recordable(request: Request) -> None:
    """Raise UsageError for an integer that no database holds."""
    if LONG_INTEGER.search(request.model_dump_json(exclude=_AS_TEXT).encode()) and has_huge_integer(
        request.model_dump(exclude=_AS_TEXT), MOST
    ):
        raise UsageError(f"a number in the request is larger than {MOST}, and cannot be recorded")


def _executor_for(writer: Writer, request: Request) -> Executor:
    """The writer; for a dry run, a `DryRun` on the committed state."""
    return trial_of(writer, writer.oversight) if is_dry_run(request) else writer


def _reply(writer: Writer, pending: PendingRequest, answer: Answer) -> None:
    """Add an answer to the commit, with the decisions."""
    if pending.reply_to is not None:
        writer.pending.answers.append(Reply(pending.reply_to, answer))
    if pending.offset is not None:
        writer.pending.offsets.append(pending.offset)


def serve_alone(writer: Writer, pending: PendingRequest[A_co]) -> Answer[A_co]:
    """Like `serve`, for one request.

    If it needs a vector while the model is down, and the policy continues without one, it is
    refused; so is another process's request if the model cannot be used, which would fail whenever
    it is delivered. That refusal is not recorded: nothing was decided, and a repeat is executed.
    Otherwise the model's error is raised.
    """
    try:
        return serve(writer, [pending])[0]
    except ModelError as error:
        in_vain = isinstance(error, ModelUnusable) and pending.reply_to is not None
        if writer.policy.embedder_fails == "stop" and not in_vain:
            raise
        return _answer(writer, pending, Refused(_reason_without_model(error), str(error)))


def _reason_without_model(error: ModelError) -> str:
    """Why a request is refused, so that its caller knows whether a repeat may succeed."""
    return MODEL_UNUSABLE if isinstance(error, ModelUnusable) else EMBEDDER_DOWN


def fail(writer: Writer, pending: PendingRequest[A_co], error: Exception) -> Answer[A_co]:
    """Answer a request that hit a bug: it must not stop the requests that come after it."""
    return _answer(writer, pending, Failed(type(error).__name__))


def _answer(
    writer: Writer, pending: PendingRequest[A_co], answer: Refused | Failed
) -> Answer[A_co]:
    """Answer a request that had no effect."""
    _reply(writer, pending, answer)
    writer.commit()
    return answer


def serve_all(writer: Writer, asked: Iterable[PendingRequest[A_co]]) -> list[Answer[A_co]]:
    """Like `serve`, but with many small requests in one transaction, and any other in its own.

    If a transaction fails, each of its requests is served alone, so that one request's error does
    not affect the others. Errors of the store and the disk, transient ones, and those that
    `serve_alone` raises, are raised.
    """
    answers: list[Answer[A_co]] = []
    for part in parts(asked):
        try:
            answers += serve(writer, part)
        except (StoreError, TransientError, OSError):
            raise
        except Exception:  # noqa: BLE001 - the request that caused it raises it again
            answers += [_serve_alone(writer, pending) for pending in part]
    return answers


def _serve_alone(writer: Writer, pending: PendingRequest[A_co]) -> Answer[A_co]:
    """Like `serve_alone`; if another process sent the request, a bug is an answer, too."""
    try:
        return serve_alone(writer, pending)
    except (PalimpsestError, OSError):
        raise
    except Exception as error:
        if pending.reply_to is None:
            raise
        return fail(writer, pending, error)


def parts(asked: Iterable[PendingRequest[A_co]]) -> Iterator[list[PendingRequest[A_co]]]:
    """Requests in order, grouped by transaction: many small ones together, any other alone."""
    part: list[PendingRequest[A_co]] = []
    for pending in asked:
        together = (
            part and isinstance(pending.request, SMALL) and isinstance(part[-1].request, SMALL)
        )
        if part and not (together and len(part) < MOST_TOGETHER):
            yield part
            part = []
        part.append(pending)
    if part:
        yield part
