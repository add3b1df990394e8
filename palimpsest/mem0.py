"""mem0's own class `Memory` on a store of ours: only the import changes (docs/mem0.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.shown import Found
from palimpsest.integrations.mem0.filters import Filters, parse_filters
from palimpsest.integrations.mem0.items import (
    SOURCE,
    UNSAID,
    candidates_of,
    change,
    changes_of,
    expired_too,
    item_of,
    merged,
    nearest,
    owners_meant,
    read_messages,
    refuse_wrong,
    rows_of,
    speaker_of,
)
from palimpsest.integrations.mem0.rows import Row, added_row


class Memory:
    """mem0's synchronous memory. A user is an owner; so is an agent or a run without a user.

    The store is the folder `store`, else that of the settings. mem0's configuration is
    accepted and not used: no model is asked, and messages are remembered verbatim.
    """

    def __init__(self, config: Any = None, *, store: str | Path | None = None) -> None:
        self.config = config
        self.memories = Palimpsest.open(store)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **where: Any) -> Self:
        """A memory; the configuration is not used."""
        return cls(config_dict, **where)

    def add(self, messages: Any, *, metadata: Any = None, infer: bool = True, **more: Any) -> Row:
        """Remember the user's messages; with `infer=False` all but the system's, each by its role.

        Adds all messages or none. ValueError if `user_id`, `agent_id` and `run_id` are all missing.
        """
        body = read_messages(messages, metadata=metadata or {}, infer=infer, **more)
        said = [speaker_of(message, infer=infer) for message in body.wanted()]
        done = self.memories.submit([*candidates_of(body, said)], source=SOURCE)
        results = [added_row(asdict(row), self._found(row.memory_id)) for row in done]
        return {"results": [result | by for result, by in zip(results, said, strict=True)]}

    def get(self, memory_id: str) -> Row | None:
        """The memory of an id, or None."""
        found = self._found(memory_id)
        return None if found is None else item_of(found["owner_id"], found)

    def get_all(self, *, filters: Any = None, top_k: int = 20, **more: Any) -> Row:
        """The memories that pass the filters, the latest first, by owner."""
        refuse_wrong(more, filters, top_k)
        meant, also = owners_meant(self.memories, filters), expired_too(more)
        rows = [row for wanted in meant for row in rows_of(self.memories, wanted, **also)]
        return {"results": rows[:top_k]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Any = None,
        threshold: float = 0.1,
        **more: Any,
    ) -> Row:
        """The memories nearest to a query among those that pass the filters, best first."""
        refuse_wrong(more, filters, top_k, threshold)
        meant, also = owners_meant(self.memories, filters), expired_too(more)
        near = (nearest(self.memories, wanted, query, top_k, **also) for wanted in meant)
        found = [[row for row in rows if row["score"] >= threshold] for rows in near]
        return {"results": merged(found)[:top_k]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Any = None,
        expiration_date: Any = UNSAID,
        data: str | None = None,
    ) -> Row:
        """Change a memory's text or expiry, or add to its metadata. ValueError if it is unknown."""
        said = text if text is not None else data
        change(self.memories, self._known(memory_id), said, metadata, expiration_date)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Row:
        """Forget a memory; nothing is erased. ValueError for an unknown id."""
        self.memories.forget(self._known(memory_id)["memory_id"])
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, **who: str | None) -> Row:
        """Forget all memories of a user, an agent or a run. ValueError if none is named."""
        for wanted in owners_meant(self.memories, who):
            self._forget(wanted)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Row]:
        """Each change of a memory's text; empty for an unknown id."""
        try:
            told = self.memories.history(memory_id)
        except RefusedError:
            return []
        return changes_of(told)

    def reset(self) -> None:
        """Forget everything of everybody."""
        for owner_id in self.memories.reader.owners():
            self._forget(parse_filters({"user_id": owner_id}))

    def close(self) -> None:
        """Close the store."""
        self.memories.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _forget(self, wanted: Filters) -> None:
        if ids := [row["id"] for row in rows_of(self.memories, wanted, show_expired=True)]:
            self.memories.forget(ids)

    def _found(self, memory_id: str | None) -> Found | None:
        try:
            found = None if memory_id is None else self.memories.get(memory_id)
        except RefusedError:
            return None
        return None if found is None or found["state"] == "retracted" else found

    def _known(self, memory_id: str) -> Found:
        found = self._found(memory_id)
        if found is None:
            raise ValueError(f"Memory with id {memory_id} not found")
        return found
