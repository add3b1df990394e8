"""A LangGraph `BaseStore` over memories, without duplicates (docs/langgraph.md).

Needs the extra `langgraph`. An item has a namespace, a key and a value; the value's text becomes a
candidate, with the value as its metadata. A key's value is that of its latest living candidate,
whichever memory it joined: `get` reads candidates, `search` reads memories.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.extras import require_extra

with require_extra("palimpsest.langgraph", "langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
    )

from palimpsest.integrations.langgraph.arguments import require_arguments
from palimpsest.integrations.langgraph.filters import passes
from palimpsest.integrations.langgraph.items import SOURCE, Items, Kept
from palimpsest.integrations.langgraph.namespaces import (
    Namespace,
    matches,
    read,
    until_wildcard,
    written,
)
from palimpsest.integrations.langgraph.owners import NamespaceOwners
from palimpsest.integrations.langgraph.searches import search
from palimpsest.integrations.langgraph.values import TEXT_FIELDS, Value, text_of_value
from palimpsest.integrations.langgraph.writes import LEAST_RENEWED, PUTS, renew, write

__all__ = [
    "LEAST_RENEWED",
    "PUTS",
    "SOURCE",
    "TEXT_FIELDS",
    "Kept",
    "Namespace",
    "PalimpsestStore",
    "Value",
    "passes",
    "read",
    "text_of_value",
    "written",
]


class PalimpsestStore(BaseStore):
    """Long-term memory of a LangGraph agent, in an open store of memories.

    `owner_of` maps a namespace, or the prefix of a search, to the owner of its memories. If it
    returns None, or raises LookupError because the namespace is too short, a search or a list of
    namespaces covers all `owners`. Without `owners`, and for a get or a put, that is a UsageError.
    With `owners`, no other owner is accepted. `text_of` maps a value to its text. `ttl` has
    LangGraph's defaults for items that expire: `default_ttl` in minutes, and `refresh_on_read`.
    Expired items are never found, and never deleted.
    """

    supports_ttl = True

    def __init__(
        self,
        memories: Palimpsest,
        *,
        owner_of: Callable[[Namespace], str | None],
        owners: Sequence[str] = (),
        text_of: Callable[[Value], str] = text_of_value,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.ttl_config = ttl
        self._memories = memories
        self._owners = NamespaceOwners(owner_of, tuple(dict.fromkeys(owners)))
        self._text_of = text_of

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: first the reads, then the last put of each key.

        Raises UsageError for a namespace without an owner, and for a value that is not JSON or has
        too long a text, and RefusedError for a text that a person has forgotten; earlier puts stay.
        An argument of a wrong type or out of range is refused before anything is done.
        """
        wanted = [*ops]
        for op in wanted:
            require_arguments(op)
        with self._memories.turn.lock:
            results = [self._read(op) for op in wanted]
            puts = {(op.namespace, op.key): op for op in wanted if isinstance(op, PutOp)}
            for op in puts.values():
                owner_id = self._owners.one(op.namespace)
                write(self._memories, owner_id, op, self._text_of)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, on a thread."""
        return await asyncio.to_thread(self.batch, [*ops])

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(op)
            case SearchOp():
                return cast("Result", self._search(op))
            case ListNamespacesOp():
                return self._list_namespaces(op)
            case PutOp():
                return None
            case _:
                raise UsageError(f"LangGraph's {type(op).__name__} is not supported")

    def _get(self, op: GetOp) -> Item | None:
        items = Items(self._memories, self._owners.one(op.namespace))
        kept = items.current.get((op.namespace, op.key))
        if kept is None:
            return None
        if op.refresh_ttl:
            renew(self._memories, kept)
        return Item(**kept.shown())

    def _search(self, op: SearchOp) -> list[SearchItem]:
        page = search(self._memories, self._owners.meant(op.namespace_prefix), op)
        for kept, _ in page if op.refresh_ttl else ():
            renew(self._memories, kept)
        return [SearchItem(**kept.shown(), score=score) for kept, score in page]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        prefixes = [until_wildcard(one) for one in conditions if one.match_type == "prefix"]
        found = {
            namespace[: op.max_depth]
            for owner_id in self._owners.meant(max(prefixes, key=len, default=()))
            for namespace, _ in Items(self._memories, owner_id).current
            if all(matches(condition, namespace) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]
