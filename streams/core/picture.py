"""Memories as plain values: for answers, for dry runs, and for comparing two ledgers."""

from __future__ import annotations

from typing import TypedDict

from palimpsest.streams.core.ledger import Memory


class MemberPicture(TypedDict):
    """A member of a memory."""

    candidate_id: str
    text: str
    living: bool


class MemoryPicture(TypedDict):
    """A memory, its face and its members by arrival."""

    memory_id: str
    owner_id: str
    namespace: str
    face: str
    needs_composition: bool
    living: bool
    members: list[MemberPicture]


def picture(memory: Memory) -> MemoryPicture:
    """What a person sees of a memory."""
    return {
        "memory_id": memory.id,
        "owner_id": memory.members[0].fields.owner_id,
        "namespace": memory.namespace,
        "face": memory.face.text,
        "needs_composition": memory.face.needs_composition,
        "living": memory.living,
        "members": [
            {"candidate_id": entry.id, "text": entry.text, "living": entry.living}
            for entry in memory.members
        ],
    }
