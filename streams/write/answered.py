"""A request means one thing, once: the log has what became of it, by its id (docs/design.md).

The first event that a request causes has its id, a digest of what was asked, and the answer; one
that causes none leaves a `refused` or an `unchanged`. The memories of an answer are kept by their
ids alone: the log as of the request's last event has the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

import orjson
from msgspec import structs

from palimpsest.contracts.answers import Answer, Done, JsonObject, Refused, from_json, merged
from palimpsest.contracts.events import AnyEvent, RefusedData, Settled, Unchanged, UnchangedData
from palimpsest.contracts.events import Refused as RefusedEvent
from palimpsest.contracts.identity import decision_id_of, digest, event_id
from palimpsest.contracts.requests import AnyRequest, CheckRequest, SettleRequest, is_dry_run
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import Answered
from palimpsest.streams.write.executor import memories
from palimpsest.streams.write.owners import fold_owner
from palimpsest.streams.write.writer import Writer

PART = 100_000
"""Characters of an answer in one event: a record of Kafka holds a megabyte."""
NOT_ASKED = {"request_id", "actor"}
"""Fields that do not say what a request asks."""
TOLD = ("neighbour_id", "answer")
"""What counts of a model's verdict: what it cost is another each time that it is asked."""
CONFLICT = Refused(
    "id_conflict", "a request of this id asked for something else: name a new one by a new id"
)


def digest_of(request: AnyRequest) -> str:
    """32 hex digits that stand for what a request asks."""
    if request.asked is not None:
        return request.asked
    asked = request.model_dump(mode="json", exclude_defaults=True, exclude=NOT_ASKED)
    asked["request"] = request.request
    for holder in (asked, asked.get("evidence", {})):
        if holder.get("verdicts"):
            holder["verdicts"] = [[one[name] for name in TOLD] for one in holder["verdicts"]]
    return digest(json.dumps(asked, sort_keys=True).encode())[:32]


def _looks(request: AnyRequest) -> bool:
    """Whether a request asks for no more than a look, which is not recorded."""
    return isinstance(request, CheckRequest) or is_dry_run(request)


# -- what the log has ----------------------------------------------------------------------------


def earlier_answer(writer: Writer, request: AnyRequest) -> Answer | None:
    """What became of a request that came before; a refusal if its id asked for something else."""
    if _looks(request):
        return None
    pending = writer.pending.answered.get(request.request_id)
    if pending is not None:
        return pending.answer if pending.digest == digest_of(request) else CONFLICT
    recorded = writer.log.of_request(request.request_id)
    if not recorded:
        return None
    if any(one.event.requestdigest != digest_of(request) for one in recorded):
        return CONFLICT
    return answer_of(writer.log, recorded)


def answer_of(log: Log, recorded: Sequence[Recorded]) -> Answer:
    """What became of a request, by what the log has of it.

    That of a store that followed a cluster may have an answer of each partition.
    """
    return merged([_answer_of(log, one) for one in recorded])


def _answer_of(log: Log, recorded: Recorded) -> Answer:
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
    if "memories" in done:
        done["memories"] = _memories(log, recorded, kept["events"], done["memories"])
    return Done(done)


def _parts(log: Log, first: AnyEvent) -> Iterator[str]:
    """The text of an answer, of which long ones go on in further events."""
    yield first.requestanswer or ""
    for number in count(1):
        part = log.find(_part_id(first, number))
        if part is None:
            return
        yield part.event.requestanswer or ""


def _part_id(first: AnyEvent, number: int) -> str:
    return event_id(first.id, f"answer:{number}")


def _memories(log: Log, first: Recorded, events: int, ids: list[str]) -> list[Any]:
    """The memories of these ids as they were after the first events of an owner from one on."""
    owner_id = first.event.owner_id
    own = log.of_owner(owner_id, after=first.position - 1)
    *_, last = islice(own, events)
    ledger = fold_owner(log, owner_id, last.position)
    pictures = memories([ledger.entries[one] for one in ids])
    ledger.dissolve()
    return pictures


# -- what is recorded ----------------------------------------------------------------------------


def record_answer(writer: Writer, request: AnyRequest, answer: Answer, start: int) -> None:
    """Record what became of a request with the first of its pending events, those from `start`."""
    if _looks(request) or _is_told_by_its_run(answer):
        return
    events = writer.pending.events
    if start == len(events):
        _append(writer, _note(writer, request, answer))
    first, touched = events[start]
    own = sum(event.owner_id == first.owner_id for event, _ in events[start:])
    kept = orjson.dumps({"events": own, **_kept(request, answer, first)}).decode()
    asked = digest_of(request)
    first = structs.replace(
        first,
        requestid=request.request_id,
        requestdigest=asked,
        requestanswer=kept[:PART],
    )
    events[start] = first, touched
    for number, at in enumerate(range(PART, len(kept), PART), start=1):
        part = _unchanged(writer, request, first.owner_id, _part_id(first, number))
        _append(writer, structs.replace(part, requestanswer=kept[at : at + PART]))
    writer.pending.answered[request.request_id] = Answered(asked, answer)


def _is_told_by_its_run(answer: Answer) -> bool:
    """Whether a run had been done before, by another request: schedulers ask again and again."""
    return isinstance(answer, Done) and "done_before" in answer.result


def _kept(request: AnyRequest, answer: Answer, first: AnyEvent) -> JsonObject:
    """An answer without what its first event says, and with its memories by their ids."""
    match answer:
        case Refused(reason, detail) if isinstance(first, RefusedEvent):
            same = (first.data.reason, first.data.detail) == (reason, detail)
            return {} if same else answer.to_json()
        case Done(done) if isinstance(request, SettleRequest) and isinstance(first, Settled):
            assert done["decision_id"] == first.id
            return {}
        case Done(done) if "memories" in done:
            return {"done": done | {"memories": [one["memory_id"] for one in done["memories"]]}}
        case _:
            return answer.to_json()


def _note(writer: Writer, request: AnyRequest, answer: Answer) -> RefusedEvent | Unchanged:
    """The event of a request that caused none."""
    owner_id = _owner_of(writer.log, request)
    if not isinstance(answer, Refused):
        own_id = event_id(request.request_id, f"unchanged:{owner_id}")
        return _unchanged(writer, request, owner_id, own_id)
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


def _unchanged(writer: Writer, request: AnyRequest, owner_id: str, own_id: str) -> Unchanged:
    return Unchanged(
        id=own_id,
        subject=request.request_id,
        time=writer.clock(),
        partitionkey=owner_id,
        data=UnchangedData(request=request.request, actor=request.actor, because=request.because),
    )


def _append(writer: Writer, event: AnyEvent) -> None:
    """Have an event of no command committed; one of no owner is not folded."""
    if not event.owner_id:
        writer.pending.events.append((event, Touched()))
        return
    ledger = writer.ledger(event.owner_id)
    dated = structs.replace(event, time=ledger.at(event.time))
    writer.pending.owners.add(event.owner_id)
    writer.pending.events.append((dated, evolve(ledger, dated)))


def _owner_of(log: Log, request: AnyRequest) -> str:
    """Whose memories a request names, if the log has them; else it is nobody's."""
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
