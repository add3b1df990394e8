"""A memory's version identifies its state, so that callers can tell whether it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palimpsest.contracts.identity import token_of
from palimpsest.streams.core.ledger import Memory


def version_of(memory: Memory) -> str:
    """32 hex digits that identify a memory's state: its face and its living members."""
    return versions_of([memory])


def versions_of(memories: Iterable[Memory]) -> str:
    """32 hex digits that identify several memories with their faces and living members."""
    return token_of(sorted(map(_state, memories)))


def version_of_parts(memory_id: str, face: str, living: Iterable[str]) -> str:
    """Like `version_of`, from the memory's id, its face and the ids of its living members."""
    return token_of([[memory_id, face, *sorted(living)]])


SHORT = 8


def token_of_each(versions: Iterable[str]) -> str:
    """A token that covers each of these versions separately, by their first digits."""
    return ".".join(version[:SHORT] for version in versions)


def uncovered(token: str, memories: Sequence[Memory]) -> list[Memory]:
    """The memories that have changed since a token was made, or that it does not cover.

    The token covers all of them together (`versions_of`), or each separately (`token_of_each`).
    """
    if token == versions_of(memories):
        return []
    known = token.split(".")
    return [memory for memory in memories if version_of(memory)[:SHORT] not in known]


def _state(memory: Memory) -> list[str]:
    living = sorted(entry.id for entry in memory.members if entry.living)
    return [memory.id, memory.text, *living]
