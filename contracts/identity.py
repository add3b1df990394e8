"""Deterministic ids: the same input gives the same ids in every store."""

from __future__ import annotations

import hashlib
import json
from uuid import UUID, uuid5

NAMESPACE = UUID("6f1c9c9e-4d0b-5e0a-9a63-70616c696d70")
"""The root of every uuid5 of this system; it never changes."""


def candidate_id(owner_id: str, source: str, producer_id: str) -> str:
    """The id of a candidate: uuid5 of (owner, CloudEvents `source`, CloudEvents `id`)."""
    return str(uuid5(NAMESPACE, json.dumps([owner_id, source, producer_id], ensure_ascii=False)))


def event_id(input_id: str, step: str) -> str:
    """The id of the event that `input_id` (a candidate's or a command's) causes at `step`."""
    return str(uuid5(UUID(input_id), step))


def decision_id_of(candidate: str) -> str:
    """The id of a candidate's first decision."""
    return event_id(candidate, "decided")


def digest(data: bytes) -> str:
    """SHA-256 in hex, for bytes that could not be read and for rows without an id."""
    return hashlib.sha256(data).hexdigest()


def invalid_id(digest_of_bytes: str) -> str:
    """The id of the `invalid` decision about bytes with this digest."""
    return str(uuid5(NAMESPACE, "invalid:" + digest_of_bytes))
