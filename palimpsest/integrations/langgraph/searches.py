"""The items that answer a search, of one owner or of several."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.base import SearchOp

from palimpsest.api.store import Palimpsest
from palimpsest.integrations.langgraph.items import Items, Kept
from palimpsest.integrations.nearest import nearest_of

Scored = tuple[Kept, float | None]
"""An item, with its score if the search has a query."""


def search(memories: Palimpsest, owners: Sequence[str], op: SearchOp) -> list[Scored]:
    """The matching items of all owners: by score, else in the order of the owners."""
    found = [one for owner_id in owners for one in _of_owner(memories, owner_id, op)]
    if op.query and len(owners) > 1:
        found.sort(key=lambda one: one[1] or 0.0, reverse=True)
    return found[op.offset : op.offset + op.limit]


def _of_owner(memories: Palimpsest, owner_id: str, op: SearchOp) -> list[Scored]:
    """One item per memory: of those that pass, the one with the face, else the latest.

    Returns enough items for the requested page and all pages before it.
    """
    items = Items(memories, owner_id)
    passing = items.by_memory(op.namespace_prefix, op.filter or {})
    if not op.query:
        found = sorted(passing.values(), key=items.place)
        return [(kept, None) for kept in found[: op.offset + op.limit]]
    namespaces = {kept.entry.fields.namespace for kept in passing.values()}
    near = nearest_of(
        memories,
        owner_id,
        op.query,
        passing,
        op.offset + op.limit,
        namespaces.pop() if len(namespaces) == 1 else None,
    )
    return [(passing[hit["memory_id"]], hit["score"]) for hit in near]
