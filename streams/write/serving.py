"""Requests carried out for good: understood, done at the writer's desk, committed with answers.

The same for whoever asks, in both runtimes: through the lock, the inbox or `memory.commands`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from palimpsest.contracts.errors import (
    InvalidInputError,
    PalimpsestError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.contracts.requests import (
    REQUEST,
    AnyRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    SeparateRequest,
    SettleRequest,
)
from palimpsest.streams.write.commit import Address, InputOffset, Reply
from palimpsest.streams.write.desk import Answer, Desk, WriterDesk
from palimpsest.streams.write.operations import carry_out
from palimpsest.streams.write.writer import Writer

SMALL = (SettleRequest, ComposeRequest, CombineRequest, SeparateRequest, ConfirmRequest)
"""What verifiers and batch runs bring by the hundred: each is one step on one owner's ledger."""
MOST_TOGETHER = 64
"""Small requests of one transaction: each transaction waits for the disk, and others for it."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request, where its answer goes, and the input offset that is finished with it.

    Without an address whoever asked has the answer from `serve` alone.
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


def serve(desk: WriterDesk, asked: Sequence[PendingRequest]) -> list[Answer]:
    """Carry requests out in their order, and commit them in one transaction with their answers.

    A dry run is rehearsed: nothing of it happens. What is refused or cannot be is an answer. Where
    anything else is raised, none of them happened, but for those parts of a bulk request that were
    committed on the way.
    """
    with desk.writer.undone_on_failure():
        answers = [_answer(desk, one.request) for one in asked]
        _commit(desk.writer, asked, answers)
    return answers


def serve_alone(desk: WriterDesk, one: PendingRequest) -> list[Answer]:
    """As `serve`, of one request. A bug is its answer: it must not stop all that come after it."""
    try:
        return serve(desk, [one])
    except (PalimpsestError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - whoever asked raises it
        desk.met_a_bug(one.request, error)
        answer = {"failed": type(error).__name__}
        _commit(desk.writer, [one], [answer])
        return [answer]


def _commit(writer: Writer, asked: Sequence[PendingRequest], answers: Sequence[Answer]) -> None:
    """Commit what was decided, with these answers to requests."""
    for one, answer in zip(asked, answers, strict=True):
        if one.reply_to is not None:
            writer.pending.answers.append(Reply(one.reply_to, answer))
        if one.offset is not None:
            writer.pending.offsets.append(one.offset)
    writer.commit()


def serve_all(
    desk: WriterDesk,
    asked: Iterable[PendingRequest],
    alone: Callable[[PendingRequest], list[Answer]],
) -> list[Answer]:
    """As `serve`, many small requests in one transaction, and any other in its own.

    Where something is raised that is no answer, `alone` serves each request of that transaction:
    what is wrong with one of them is not the others' trouble.
    """
    answers: list[Answer] = []
    for part in _parts(asked):
        try:
            answers += serve(desk, part)
        except (StoreError, TransientError, OSError):
            raise
        except Exception:  # noqa: BLE001 - who it was raises it again
            answers += [answer for one in part for answer in alone(one)]
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


def _answer(desk: WriterDesk, request: AnyRequest) -> Answer:
    try:
        return {"done": carry_out(_desk_for(desk, request), request)}
    except RefusedError as error:
        return {"refused": {"reason": error.reason, "detail": error.detail}}
    except UsageError as error:
        return {"usage": str(error)}


def _desk_for(desk: WriterDesk, request: AnyRequest) -> Desk:
    return desk.rehearsal() if getattr(request, "dry_run", False) else desk
