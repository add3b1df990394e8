"""Deterministic ids: the same input gives the same ids in every store."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from uuid import UUID

import orjson

NAMESPACE = UUID("6f1c9c9e-4d0b-5e0a-9a63-70616c696d70")
"""The namespace of all ids that do not follow from another id; it never changes."""


def candidate_id(owner_id: str, source: str, producer_id: str) -> str:
    """The id of a candidate: uuid5 of (owner, CloudEvents `source`, CloudEvents `id`)."""
    return _uuid5(NAMESPACE.bytes, orjson.dumps([owner_id, source, producer_id]))


def event_id(input_id: str, step: str) -> str:
    """The id of the event that `input_id` (a candidate's or a command's) causes at `step`.

    Raises ValueError if `input_id` is not 32 hex digits, with or without hyphens.
    """
    namespace = bytes.fromhex(input_id.replace("-", ""))
    if len(namespace) != 16:
        raise ValueError("an id has 32 hex digits")
    return _uuid5(namespace, step.encode())


def decision_id_of(candidate: str) -> str:
    """The id of a candidate's first decision. Raises ValueError as `event_id` does."""
    return event_id(candidate, "decided")


def decision_id_or_unchanged(some_id: str) -> str:
    """The id of a candidate's first decision; text that is not an id is returned unchanged."""
    try:
        return decision_id_of(some_id)
    except ValueError:
        return some_id


def forgotten_id(candidate: str) -> str:
    """The id of the event by which a candidate is refused because its text was forgotten.

    Raises ValueError as `event_id` does.
    """
    return event_id(candidate, "forgotten")


def digest(data: bytes) -> str:
    """SHA-256 in hex, such as for bytes that could not be read and for rows without an id."""
    return hashlib.sha256(data).hexdigest()


def token_of(parts: list[list[str]]) -> str:
    """32 hex digits that identify the state of several items, each given as a list of strings."""
    return digest(orjson.dumps(parts))[:32]


def session_of(first_message: datetime) -> str:
    """The id of a session that has none: half a SHA-256, in hex, of its first message's time.

    It depends on the moment, in UTC and to the microsecond, not on how the time was written.
    """
    moment = first_message.astimezone(UTC).isoformat(timespec="microseconds")
    return digest(moment.encode())[:32]


def invalid_id(digest_of_bytes: str) -> str:
    """The id of the `invalid` decision about bytes with this digest."""
    return _uuid5(NAMESPACE.bytes, b"invalid:" + digest_of_bytes.encode())


def policy_id(policy_hash: str) -> str:
    """The id of the event that puts a new store's first policy in force."""
    return _uuid5(NAMESPACE.bytes, b"policy:" + policy_hash.encode())


def run_id(owner_id: str, step: str, due: datetime) -> str:
    """The id of the run of a step over an owner's memories that is due at a moment.

    It depends on the moment, in UTC and to the microsecond, not on how the time was written. The
    same run has the same id, whoever requests it and however often.
    """
    moment = due.astimezone(UTC).isoformat(timespec="microseconds")
    return _uuid5(NAMESPACE.bytes, b"run:" + orjson.dumps([owner_id, step, moment]))


def _uuid5(namespace: bytes, name: bytes) -> str:
    """RFC 9562's uuid5 as text, in a third of the standard library's time."""
    raw = bytearray(hashlib.sha1(namespace + name, usedforsecurity=False).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x50
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
