"""Converts records of the topics to inputs of the writer, and the writer's output to records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

import orjson

from palimpsest.contracts.answers import Answer, Done, JsonObject, SoFar
from palimpsest.contracts.errors import InvalidInputError, InvalidReason
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.identity import digest
from palimpsest.streams.cluster.topics import LARGEST, partition_of
from palimpsest.streams.cluster.unpacking import CUT, UNPACKED_BYTES
from palimpsest.streams.intake import (
    Meaning,
    Prepared,
    RawRow,
    binary_mode,
    meaning_of,
    parse_binary,
    understand,
)
from palimpsest.streams.log.dead_letters import Headers, NewDeadLetter
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.inputs import Input, Outcome

OURS = "palimpsest-"
"""The prefix of our headers."""
DONE = f"{OURS}input"
"""The header on the last event of a batch: an input topic, its id, and the completed offset. The
id is needed because a topic that is deleted and recreated starts over."""
LETTER = f"{OURS}id"
"""Our first header on a dead letter, after those of its record."""
ROOM = LARGEST - 16 * 1024
"""Maximum bytes of a letter's value, key and headers; the rest is for overhead."""
POLICY_KEY = b"policy"
"""The key of all policies: compaction keeps the last one."""
PER_HEADER = 12
"""Maximum overhead of a header, besides its name and value."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of an input topic, from any client; a tombstone has no bytes."""

    topic: str
    partition: int
    offset: int
    value: bytes
    key: bytes | None = None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to be sent; without a partition, it goes to the partition of the sending writer."""

    topic: str
    value: bytes
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None


def read(record: Record, source: str, partitions: int) -> Input:
    """The meaning of a record. It is invalid if its owner belongs to another partition.

    The id of a row without one is derived from its offset, too, so a record that is read again has
    the same id.
    """
    row = RawRow(record.value, source, reading=str(record.offset))
    return Input(row, _in_its_place(_meaning(record, row), record, partitions))


def _meaning(record: Record, row: RawRow) -> Meaning:
    for name, size in record.headers:
        if name == CUT:
            return InvalidInputError("field", _was_cut(len(record.value), size or b""))
    try:
        headers = binary_mode(record.headers)
    except InvalidInputError as error:
        return InvalidInputError(error.reason, error.detail)  # a copy, as in `meaning_of`
    if headers is None:
        return understand(row)
    return meaning_of(lambda: parse_binary(headers, record.value))


def _was_cut(kept: int, size: bytes) -> str:
    return (
        f"its batch unpacks to more than {UNPACKED_BYTES // 1024**2} MiB: of its"
        f" {size.decode(errors='replace')} bytes {kept} were kept. Send smaller batches"
    )


def _in_its_place(meaning: Meaning, record: Record, partitions: int) -> Meaning:
    if isinstance(meaning, InvalidInputError):
        return meaning
    owner_id = meaning.candidate.owner_id if isinstance(meaning, Prepared) else meaning.owner_id
    expected = partition_of(owner_id, partitions)
    if expected == record.partition:
        return meaning
    return InvalidInputError(
        "wrong_partition",
        f"its owner belongs to partition {expected}, but it came in {record.partition}:"
        " the key must be the owner, partitioned by murmur2 (docs/producers.md)",
    )


def decision_record(topic: str, event: AnyEvent, line: bytes, headers: Headers = ()) -> Outgoing:
    """An event as a record: the same bytes as in the embedded log, under its owner's key."""
    key = event.owner_id.encode() or None
    return Outgoing(topic, line, key, headers)


def policy_record(topic: str, line: bytes) -> Outgoing:
    """The event that sets a policy, for processes that read no log."""
    return Outgoing(topic, line, POLICY_KEY, partition=0)


def done_with(inputs: Iterable[InputOffset]) -> Headers:
    """Headers with the completed offsets of inputs; true as soon as their record can be read."""
    return tuple((DONE, f"{item.topic}:{item.topic_id}:{item.offset}".encode()) for item in inputs)


def inputs_done(headers: Headers) -> list[InputOffset]:
    """The completed offsets of inputs, as noted in a decision's headers."""
    parsed = [value.decode().split(":") for name, value in headers if name == DONE and value]
    return [InputOffset(topic, topic_id, int(offset)) for topic, topic_id, offset in parsed]


def dead_letter(record: Record, outcome: Outcome, at: datetime) -> NewDeadLetter:
    """The dead letter of an invalid record."""
    assert outcome.decision_id is not None
    return NewDeadLetter(
        outcome.decision_id,
        record.value,
        InvalidInputError(cast("InvalidReason", outcome.reason), outcome.detail or ""),
        f"{record.topic}/{record.partition}/{record.offset}",
        at,
        digest(record.value),
        len(record.value),
        record.headers,
        record.key,
    )


def dead_letter_record(topic: str, letter: NewDeadLetter) -> Outgoing:
    """An unreadable input: its bytes and headers, what was wrong, and its place.

    If it is too large, only its beginning is sent: it may have been within the brokers' limit only
    when compressed.
    """
    sent = _with_room(letter)
    parsed = {
        "id": letter.id,
        "reason": letter.error.reason,
        "detail": letter.error.detail,
        "origin": letter.origin,
        "at": letter.at.isoformat(),
        "digest": letter.digest,
        "bytes": str(letter.size),
    }
    ours = tuple((f"{OURS}{name}", value.encode()) for name, value in parsed.items())
    return Outgoing(topic, sent.data, sent.key, (*sent.headers, *ours))


def _with_room(letter: NewDeadLetter) -> NewDeadLetter:
    """As much of a letter as fits: key and headers get at most half, the bytes the rest."""
    key = letter.key if len(letter.key or b"") < ROOM // 4 else None
    left = ROOM // 2 - len(key or b"")
    kept: list[tuple[str, bytes | None]] = []
    for name, value in letter.headers:
        left -= len(name.encode()) + len(value or b"") + PER_HEADER
        if left < 0:
            break
        kept.append((name, value))
    used = sum(len(name.encode()) + len(value or b"") + PER_HEADER for name, value in kept)
    room = ROOM - len(key or b"") - used
    return replace(letter, data=letter.data[:room], key=key, headers=tuple(kept))


def rejected_for(record: Outgoing) -> str | None:
    """The reason in a dead letter that `dead_letter_record` made; None for any other record."""
    reason = dict(record.headers).get(f"{OURS}reason")  # the last one is ours
    return None if reason is None else reason.decode()


def dead_letter_of(headers: Headers, value: bytes) -> NewDeadLetter:
    """Reverse `dead_letter_record`; earlier versions sent all bytes and no digest."""
    begin = max(number for number, (name, _) in enumerate(headers) if name == LETTER)
    parsed = {name.removeprefix(OURS): (v or b"").decode() for name, v in headers[begin:]}
    return NewDeadLetter(
        parsed["id"],
        value,
        InvalidInputError(cast("InvalidReason", parsed["reason"]), parsed["detail"]),
        parsed["origin"],
        datetime.fromisoformat(parsed["at"]),
        parsed.get("digest") or digest(value),
        int(parsed.get("bytes", len(value))),
        headers[:begin],
    )


MOST_BYTES = LARGEST - 64 * 1024
"""Maximum size of an answer; the rest of a record is for its key and overhead."""
SO_FAR = "/so-far"
"""Suffix of the request's id in the key of a record that reports progress."""


def answer_record(topic: str, request_id: str, answer: Answer | SoFar) -> Outgoing:
    """The answer to a request, or its progress.

    If it is too large for a record, its longest lists are cut: only their last entries are kept,
    and `left_out` has the number of missing ones of each list.
    """
    body = orjson.dumps(answer.to_json())
    while (
        len(body) > MOST_BYTES and isinstance(answer, Done) and (shorter := _shorter(answer.result))
    ):
        answer = Done(shorter)
        body = orjson.dumps(answer.to_json())
    key = f"{request_id}{SO_FAR}" if isinstance(answer, SoFar) else request_id
    return Outgoing(topic, body, key.encode())


def _shorter(done: JsonObject) -> JsonObject | None:
    """Cut the first half of the largest list; None if there is no list to cut."""
    lists = [name for name, value in done.items() if isinstance(value, list) and value]
    if not lists:
        return None
    longest = max(lists, key=lambda name: len(orjson.dumps(done[name])))
    cut = (len(done[longest]) + 1) // 2
    left_out = dict(done.get("left_out", {}))
    left_out[longest] = left_out.get(longest, 0) + cut
    return {**done, longest: done[longest][cut:], "left_out": left_out}
