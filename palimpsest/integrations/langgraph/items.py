"""An owner's items, read from the candidates of its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from palimpsest.api.store import Palimpsest
from palimpsest.integrations.langgraph.filters import passes
from palimpsest.integrations.langgraph.namespaces import Namespace, read
from palimpsest.integrations.langgraph.values import Value
from palimpsest.streams.core.ledger import Entry

SOURCE = "langgraph"
"""The source of every candidate, and the key of the item in its metadata."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A key's item: the candidate with its value, and the key's first candidate."""

    entry: Entry
    oldest: Entry

    @property
    def expires(self) -> bool:
        """Whether it expires at all."""
        return self.entry.expires_at is not None

    @property
    def key(self) -> str:
        """Its key in the namespace."""
        return cast("str", _marked(self.entry)["key"])

    @property
    def value(self) -> dict[str, Any]:
        """The value that was put."""
        return cast("dict[str, Any]", _marked(self.entry)["value"])

    @property
    def indexed(self) -> bool:
        """Whether a search by meaning finds it."""
        return bool(_marked(self.entry).get("index", True))

    @property
    def namespace(self) -> Namespace:
        """Its namespace."""
        return read(self.entry.fields.namespace)

    def shown(self) -> dict[str, Any]:
        """The fields that LangGraph's items have; the value is the caller's own."""
        return {
            "value": deepcopy(self.value),
            "key": self.key,
            "namespace": self.namespace,
            "created_at": self.oldest.decided_at,
            "updated_at": self.entry.decided_at,
        }


class Items:
    """An owner's items, from the current ledger; without those that have expired by now."""

    def __init__(self, memories: Palimpsest, owner_id: str) -> None:
        ledger, now = memories.reader.ledger(owner_id), memories.reader.clock()
        self.owner_id = owner_id
        self._by_key: dict[tuple[Namespace, str], list[Entry]] = {}
        self._namespaces: dict[Namespace, int] = {}
        for entry in ledger.entries.values():
            if entry.fields.source == SOURCE and SOURCE in entry.fields.metadata:
                namespace = read(entry.fields.namespace)
                place = (namespace, _marked(entry)["key"])
                self._by_key.setdefault(place, []).append(entry)
                self._namespaces.setdefault(namespace, entry.place)
        self.current = {
            place: Kept(latest, ledger.entries.get(_marked(latest).get("first", ""), latest))
            for place, entries in self._by_key.items()
            if (latest := _latest(entries)) is not None
            and (latest.expires_at is None or latest.expires_at > now)
        }

    def of_key(self, namespace: Namespace, key: str) -> list[Entry]:
        """Every candidate that was ever put under a key, in order."""
        return self._by_key.get((namespace, key), [])

    def living(self, namespace: Namespace, key: str) -> list[Entry]:
        """The candidates of a key that were not retracted, in order."""
        return [entry for entry in self.of_key(namespace, key) if entry.living]

    def place(self, kept: Kept) -> tuple[int, int]:
        """A sort key: when the namespace's first item was put, then when this one was."""
        return self._namespaces[kept.namespace], kept.oldest.place

    def alone(self, kept: Kept) -> bool:
        """Whether no other key is in the same memory."""
        return not any(
            other is not kept and other.entry.memory is kept.entry.memory
            for other in self.current.values()
        )

    def by_memory(self, prefix: Namespace, wanted: Value) -> dict[str, Kept]:
        """For each memory with an item that passes, the item to show, by the memory's id."""
        found: dict[str, Kept] = {}
        for kept in sorted(self.current.values(), key=_speaks_last):
            memory = kept.entry.memory
            if memory.former:
                continue
            if kept.namespace[: len(prefix)] == prefix and passes(kept.value, wanted):
                found[memory.id] = kept
        return found


def _speaks_last(kept: Kept) -> tuple[bool, bool, int]:
    return kept.indexed, kept.entry.memory.face.speaker is kept.entry, kept.entry.place


def _latest(entries: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in reversed(entries) if entry.living), None)


def _marked(entry: Entry) -> dict[str, Any]:
    return cast("dict[str, Any]", entry.fields.metadata[SOURCE])
