"""A memory's version: what stands for it as it is, so that others can tell whether it moved on."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest.contracts.identity import token_of
from palimpsest.streams.core.ledger import Memory


def version_of(memory: Memory) -> str:
    """32 hex digits that stand for one memory: another face or member is another version."""
    return versions_of([memory])


def versions_of(memories: Iterable[Memory]) -> str:
    """32 hex digits that stand for some memories with their faces and living members."""
    states = sorted(
        [
            memory.id,
            memory.face.text,
            *sorted(entry.id for entry in memory.members if entry.living),
        ]
        for memory in memories
    )
    return token_of(states)
