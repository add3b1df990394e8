"""The items that answer a search, of one owner or of several."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from langgraph.store.base import SearchOp

from palimpsest.api.store import Palimpsest
from palimpsest.integrations.langgraph.items import Items, Kept
from palimpsest.integrations.nearest import nearest_of

Scored = tuple[Kept, float | None]
"""An item, with its score if the search has a query."""


def search(memories: Palimpsest, owners: Sequence[str], op: SearchOp) -> list[Scored]:
    """The matching items of all owners: by score, those without one last; or owner by owner."""
    found = [one for owner_id in owners for one in _of_owner(memories, owner_id, op)]
    if op.query and len(owners) > 1:
        found.sort(key=lambda one: -inf if one[1] is None else one[1], reverse=True)
    return found[op.offset : op.offset + op.limit]


def _of_owner(memories: Palimpsest, owner_id: str, op: SearchOp) -> list[Scored]:
    """One item per memory: of those that pass, the one with the face, else the latest.

    An item that was put with `index=False` stands for its memory only if no other passes. For a
    query, such items come after all others, without a score. Returns enough items for the requested
    page and all pages before it.
    """
    items = Items(memories, owner_id)
    passing = items.by_memory(op.namespace_prefix, op.filter or {})
    most = op.offset + op.limit
    indexed = {name: kept for name, kept in passing.items() if op.query and kept.indexed}
    namespaces = {kept.entry.fields.namespace for kept in indexed.values()}
    near = nearest_of(
        memories,
        owner_id,
        op.query or "",
        indexed,
        most,
        namespaces.pop() if len(namespaces) == 1 else None,
    )
    rest = sorted((passing[name] for name in passing.keys() - indexed.keys()), key=items.place)
    found: list[Scored] = [(indexed[hit["memory_id"]], hit["score"]) for hit in near]
    return (found + [(kept, None) for kept in rest])[:most]
