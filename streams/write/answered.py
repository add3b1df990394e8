"""Makes requests idempotent: the log has each answer under the request's id (docs/design.md).

The first event of a request has its id, a digest of its contents, and the answer; a request without
events gets a `refused` or an `unchanged` event. An answer keeps only the ids of its memories: the
log as of the request's last event has the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count, islice
from typing import TYPE_CHECKING, NamedTuple

import orjson
from msgspec import structs

from palimpsest.contracts.answers import Answer, Done, JsonObject, Refused, from_json, merged
from palimpsest.contracts.commands import Operation
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, RefusedData, Settled, Unchanged, UnchangedData
from palimpsest.contracts.events import Refused as RefusedEvent
from palimpsest.contracts.identity import decision_id_of, digest, event_id
from palimpsest.contracts.requests import CheckRequest, Request, SettleRequest, is_dry_run
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.picture import pictures
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.intake import Prepared
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import DigestedAnswer
from palimpsest.streams.write.inputs import OTHER_REQUEST, Input, Outcome, Submission
from palimpsest.streams.write.owners import fold_owner

if TYPE_CHECKING:
    from palimpsest.streams.write.writer import Writer

PART = 100_000
"""Characters of an answer per event: a Kafka record holds a megabyte."""
NOT_ASKED = {"request_id", "actor", "judge"}
"""Fields that do not change what a request asks."""
NAMING = ("similar_facts", "frame")
"""The fields of an outcome that name other memories, with their texts at that time."""
TOLD = ("neighbour_id", "answer")
"""The fields of a verdict that count; others, such as its cost, differ each time it is asked."""
CONFLICT = Refused(
    "id_conflict", "this id was used for a different request: give this one a new id"
)


def digest_of(request: Request) -> str:
    """A digest, 32 hex digits, of what a request asks."""
    if request.asked is not None:
        return request.asked
    asked = request.model_dump(mode="json", exclude_defaults=True, exclude=NOT_ASKED)
    asked["request"] = request.request
    for holder in (asked, asked.get("evidence", {})):
        if holder.get("verdicts"):
            holder["verdicts"] = [
                [verdict[name] for name in TOLD] for verdict in holder["verdicts"]
            ]
    return digest(json.dumps(asked, sort_keys=True).encode())[:32]


def _only_reads(request: Request) -> bool:
    """Whether a request only reads, and so is not recorded."""
    return isinstance(request, CheckRequest) or is_dry_run(request)


# -- what the log has ----------------------------------------------------------------------------


def earlier_answer(writer: Writer, request: Request) -> Answer | None:
    """The recorded answer to a request; a refusal if its id was used for another one."""
    if _only_reads(request):
        return None
    return _earlier(writer, request.request_id, digest_of(request))


def _earlier(writer: Writer, request_id: str, asked: str) -> Answer | None:
    pending = writer.pending.answered.get(request_id)
    if pending is not None:
        return pending.answer if pending.digest == asked else CONFLICT
    recorded = writer.log.of_request(request_id)
    if not recorded:
        return None
    if any(event.event.requestdigest != asked for event in recorded):
        return CONFLICT
    return answer_of(writer.log, recorded)


def earlier_outcomes(writer: Writer, submission: Submission) -> list[Outcome] | None:
    """The recorded outcomes of a submission; a conflict if its id was used for another one.

    One with a different number of rows is another one: a model may extract more or fewer rows when
    the same text is submitted again.
    """
    match _earlier(writer, submission.request_id, submission.asked):
        case None:
            return None
        case Done({"outcomes": list(outcomes)}) if len(outcomes) == submission.rows:
            return [Outcome(**outcome) for outcome in outcomes]
        case _:
            return [OTHER_REQUEST] * submission.rows


def answer_of(log: Log, recorded: Sequence[Recorded], *, with_texts: bool = True) -> Answer:
    """The answer to a request, from its recorded events.

    A store that followed a cluster may have an answer from each partition. Without texts, an answer
    names its memories only by their ids, and no owner's history is read for it.
    """
    return merged([_answer_of(log, event, with_texts=with_texts) for event in recorded])


def _answer_of(log: Log, recorded: Recorded, *, with_texts: bool) -> Answer:
    first = recorded.event
    kept = orjson.loads("".join(_parts(log, first)))
    match first:
        case RefusedEvent() if kept.keys() == {"events"}:
            return Refused(first.data.reason, first.data.detail)
        case Settled() if kept.keys() == {"events"}:
            kept["done"] = {"decision_id": first.id, "memories": [first.subject]}
    if "done" not in kept:
        return from_json(kept)
    done: JsonObject = kept["done"]
    if not with_texts:
        return Done(done)
    if "memories" in done:
        with _as_of(log, recorded, kept["events"]) as ledger:
            done["memories"] = pictures([ledger.entries[memory] for memory in done["memories"]])
    named = [
        fact
        for outcome in done.get("outcomes", ())
        for field in NAMING
        for fact in outcome.get(field, ())
    ]
    if named:
        with _as_of(log, recorded, kept["events"]) as ledger:
            for fact in named:
                fact["assertion"] = ledger.entries[fact["id"]].memory.text
    return Done(done)


def _parts(log: Log, first: AnyEvent) -> Iterator[str]:
    """The text of an answer; a long one continues in further events."""
    yield first.requestanswer or ""
    for number in count(1):
        part = log.find(_part_id(first, number))
        if part is None:
            return
        yield part.event.requestanswer or ""


def _part_id(first: AnyEvent, number: int) -> str:
    return event_id(first.id, f"answer:{number}")


@contextmanager
def _as_of(log: Log, first: Recorded, events: int) -> Iterator[Ledger]:
    """An owner's ledger after `events` of the owner's events, starting with `first`."""
    owner_id = first.event.owner_id
    own = log.of_owner(owner_id, after=first.position - 1)
    *_, last = islice(own, events)
    ledger = fold_owner(log, owner_id, last.position)
    yield ledger
    ledger.dissolve()


# -- what is recorded ----------------------------------------------------------------------------


def record_answer(writer: Writer, request: Request, answer: Answer, start: int) -> None:
    """Record a request's answer in the first of its pending events, those from `start` on."""
    # Schedulers repeat their requests: another one may have done the run.
    if _only_reads(request) or (isinstance(answer, Done) and "done_before" in answer.result):
        return
    events = writer.pending.events
    if start == len(events):
        _append(writer, _note(writer, request, answer))
    data = UnchangedData(request=request.request, actor=request.actor, because=request.because)
    kept = _kept(request, answer, events[start][0])
    _record(writer, _Asked(request.request_id, digest_of(request), data), answer, kept, start)


def record_outcomes(
    writer: Writer,
    submission: Submission,
    inputs: Sequence[Input],
    outcomes: Sequence[Outcome],
    start: int,
) -> None:
    """Record a submission's outcomes in the first of its owner's pending events.

    The texts of the memories that they name are left out, because the log has them.
    """
    request_id, asked, _ = submission
    data = UnchangedData(request="submit")
    events = writer.pending.events
    at = next((at for at in range(start, len(events)) if events[at][0].owner_id), len(events))
    if at == len(events):
        read = (item.meaning for item in inputs if isinstance(item.meaning, Prepared))
        owner_id = next((prepared.candidate.owner_id for prepared in read), "")
        note_id = event_id(request_id, f"unchanged:{owner_id}")
        _append(writer, _unchanged(writer, request_id, data, owner_id, note_id))
    told = [
        {name: value for name, value in asdict(outcome).items() if value is not None}
        for outcome in outcomes
    ]
    kept = {"done": {"outcomes": [_without_texts(outcome) for outcome in told]}}
    answer = Done({"outcomes": told})
    _record(writer, _Asked(request_id, asked, data), answer, kept, at)


def _without_texts(outcome: JsonObject) -> JsonObject:
    named = {
        field: [{**fact, "assertion": ""} for fact in outcome[field]]
        for field in NAMING
        if field in outcome
    }
    return outcome | named


class _Asked(NamedTuple):
    """A request as its events name it; `data` is for the parts of a long answer."""

    request_id: str
    digest: str
    data: UnchangedData


def _record(writer: Writer, asked: _Asked, answer: Answer, kept: JsonObject, at: int) -> None:
    """Put the recorded form of an answer into a pending event, the first of a request."""
    events = writer.pending.events
    first, touched = events[at]
    own = sum(event.owner_id == first.owner_id for event, _ in events[at:])
    text = orjson.dumps({"events": own, **kept}).decode()
    first = structs.replace(
        first,
        requestid=asked.request_id,
        requestdigest=asked.digest,
        requestanswer=text[:PART],
    )
    events[at] = first, touched
    for number, begin in enumerate(range(PART, len(text), PART), start=1):
        part_id = _part_id(first, number)
        part = _unchanged(writer, asked.request_id, asked.data, first.owner_id, part_id)
        _append(writer, structs.replace(part, requestanswer=text[begin : begin + PART]))
    writer.pending.answered[asked.request_id] = DigestedAnswer(asked.digest, answer)


def _kept(request: Request, answer: Answer, first: AnyEvent) -> JsonObject:
    """An answer without the data of its first event, and with only the ids of its memories."""
    match answer:
        case Refused(reason, detail) if isinstance(first, RefusedEvent):
            same = (first.data.reason, first.data.detail) == (reason, detail)
            return {} if same else answer.to_json()
        case Done(done) if isinstance(request, SettleRequest) and isinstance(first, Settled):
            assert done["decision_id"] == first.id
            return {}
        case Done(done) if "memories" in done:
            return {
                "done": done | {"memories": [memory["memory_id"] for memory in done["memories"]]}
            }
        case _:
            return answer.to_json()


def _note(writer: Writer, request: Request, answer: Answer) -> RefusedEvent | Unchanged:
    """An event for a request that caused none."""
    owner_id = _owner_of(writer.log, request)
    if not isinstance(answer, Refused):
        own_id = event_id(request.request_id, f"unchanged:{owner_id}")
        data = UnchangedData(request=request.request, actor=request.actor, because=request.because)
        return _unchanged(writer, request.request_id, data, owner_id, own_id)
    return RefusedEvent(
        id=event_id(request.request_id, f"refused:{owner_id}"),
        subject=request.request_id,
        time=writer.clock(),
        partitionkey=owner_id,
        data=RefusedData(
            command=request.request,
            reason=answer.reason,
            detail=answer.detail,
            actor=request.actor,
            because=request.because,
        ),
    )


def _unchanged(
    writer: Writer, request_id: str, data: UnchangedData, owner_id: str, own_id: str
) -> Unchanged:
    return Unchanged(
        id=own_id, subject=request_id, time=writer.clock(), partitionkey=owner_id, data=data
    )


def _append(writer: Writer, event: AnyEvent) -> None:
    """Add an event without a command to the commit; one without an owner is not folded."""
    if not event.owner_id:
        writer.pending.events.append((event, Touched()))
        return
    ledger = writer.ledger(event.owner_id)
    dated = structs.replace(event, time=ledger.at(event.time))
    writer.pending.owners.add(event.owner_id)
    writer.pending.events.append((dated, evolve(ledger, dated)))


def _owner_of(log: Log, request: Request) -> str:
    """The owner of the candidate or decision that a request names; empty if the log has none."""
    names = [getattr(request, name, None) for name in ("a", "candidate_id", "memory_id")]
    names += getattr(request, "memory_ids", ())
    candidate_id = next(filter(None, names), None)
    decision_id = getattr(request, "decision_id", None)
    if candidate_id is not None:
        try:
            decision_id = decision_id_of(candidate_id)
        except ValueError:
            return ""
    if decision_id is not None:
        return log.owner_of(decision_id) or ""
    owner_id = getattr(request, "owner_id", None)
    return owner_id if owner_id is not None and log.count_of(owner_id, 1) else ""


def carried_out(log: Log, command: Operation, events: list[AnyEvent]) -> list[AnyEvent]:
    """The events of a command; if it was carried out before, preceded by its original first event.

    So a repeated request gets the same answer. Raises RefusedError if the command was refused; the
    refusal's event is committed all the same.
    """
    first = event_id(command.command_id, "0")
    before = None if any(event.id == first for event in events) else log.find(first)
    events = events if before is None else [before.event, *events]
    for event in events:
        if isinstance(event, RefusedEvent):
            raise RefusedError(event.data.reason, event.data.detail)
    return events
