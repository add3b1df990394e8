"""Memories as plain values: for answers, for dry runs, and for comparing two ledgers."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest.contracts.answers import MemoryPicture
from palimpsest.streams.core.ledger import Entry, Memory
from palimpsest.streams.core.version import version_of


def picture(memory: Memory) -> MemoryPicture:
    """A memory as a person sees it."""
    found: MemoryPicture = {
        "memory_id": memory.id,
        "owner_id": memory.members[0].fields.owner_id,
        "namespace": memory.namespace,
        "face": memory.text,
        "version": version_of(memory),
        "needs_composition": memory.face.needs_composition,
        "living": memory.living,
        "members": [
            {"candidate_id": entry.id, "text": entry.text, "living": entry.living}
            for entry in memory.members
        ],
    }
    if (ends := memory.expires_at) is not None:
        found["expires_at"] = ends.isoformat()
    return found


def pictures(entries: Iterable[Entry]) -> list[MemoryPicture]:
    """The memories of some candidates, each once."""
    memories = {entry.memory.id: entry.memory for entry in entries}
    return [picture(memory) for memory in memories.values()]
