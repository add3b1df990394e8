"""A memory's version: what stands for it as it is, so that others can tell whether it moved on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palimpsest.contracts.identity import token_of
from palimpsest.streams.core.ledger import Memory


def version_of(memory: Memory) -> str:
    """32 hex digits that stand for one memory: another face or member is another version."""
    return versions_of([memory])


def versions_of(memories: Iterable[Memory]) -> str:
    """32 hex digits that stand for some memories with their faces and living members."""
    return token_of(sorted(map(_state, memories)))


def version_of_parts(memory_id: str, face: str, living: Iterable[str]) -> str:
    """As `version_of`, from the memory's id, its face and the ids of its living members."""
    return token_of([[memory_id, face, *sorted(living)]])


SHORT = 8


def token_of_each(versions: Iterable[str]) -> str:
    """A token that covers any of the memories of some versions: the first digits of each."""
    return ".".join(version[:SHORT] for version in versions)


def uncovered(token: str, memories: Sequence[Memory]) -> list[Memory]:
    """The memories of which a token does not say that they are as they were when it was made.

    It covers all of them together (`versions_of`), or each of them (`token_of_each`).
    """
    if token == versions_of(memories):
        return []
    known = token.split(".")
    return [memory for memory in memories if version_of(memory)[:SHORT] not in known]


def _state(memory: Memory) -> list[str]:
    living = sorted(entry.id for entry in memory.members if entry.living)
    return [memory.id, memory.face.text, *living]
