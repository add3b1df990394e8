"""Replaces mem0's classes `Memory` and `AsyncMemory`: only the import changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from palimpsest.api.store import Palimpsest
from palimpsest.integrations.mem0 import items
from palimpsest.integrations.mem0.filters import Filters
from palimpsest.integrations.mem0.rows import Row, added_row


class Memory:
    """mem0's synchronous memory. A user is an owner; so is an agent or a run without a user.

    The store is the folder `store`, else that of the settings. mem0's configuration is
    accepted but not used: no language model is asked, and messages are remembered verbatim.
    """

    def __init__(self, config: Any = None, *, store: str | Path | None = None) -> None:
        self.config = config
        self.memories = Palimpsest.open(store)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **where: Any) -> Self:
        """A memory; the configuration is not used."""
        return cls(config_dict, **where)

    def add(self, messages: Any, *, metadata: Any = None, infer: bool = True, **more: Any) -> Row:
        """Remember what the user states; with `infer=False`, all but instructions, with roles.

        Adds all messages or none. ValueError if `user_id`, `agent_id` and `run_id` are all missing.
        """
        body = items.read_messages(messages, metadata=metadata or {}, infer=infer, **more)
        said = [items.speaker_of(message, infer=infer) for message in body.wanted()]
        done = self.memories.submit([*items.candidates_of(body, said)], source=items.SOURCE)
        of = self.memories
        results = [added_row(asdict(row), items.found_by(of, row.memory_id)) for row in done]
        return {"results": [result | by for result, by in zip(results, said, strict=True)]}

    def get(self, memory_id: str) -> Row | None:
        """The memory of an id, or None."""
        found = items.found_by(self.memories, memory_id)
        return None if found is None else items.item_of(found["owner_id"], found)

    def get_all(self, *, filters: Any = None, top_k: int = 20, **more: Any) -> Row:
        """The memories that pass the filters, owner by owner, the latest first."""
        items.refuse_wrong(more, filters, top_k)
        meant, also = items.owners_meant(self.memories, filters), items.expired_too(more)
        rows = [row for wanted in meant for row in items.rows_of(self.memories, wanted, **also)]
        return {"results": rows[:top_k]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Any = None,
        threshold: float | None = items.LEAST_SCORE,
        **more: Any,
    ) -> Row:
        """The memories nearest to a query among those that pass the filters, best first."""
        least = items.LEAST_SCORE if threshold is None else threshold
        items.refuse_wrong(more, filters, top_k, least)
        items.require_query(query)
        meant, also = items.owners_meant(self.memories, filters), items.expired_too(more)
        near = (items.nearest(self.memories, wanted, query, top_k or 1, **also) for wanted in meant)
        found = [[row for row in rows if row["score"] >= least] for rows in near]
        return {"results": items.merged(found)[:top_k]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Any = None,
        expiration_date: Any = items.UNSAID,
        data: str | None = None,
    ) -> Row:
        """Change text or expiry, or add to the metadata. ValueError if the id is unknown."""
        said = text if text is not None else data
        items.change(
            self.memories, items.known_by(self.memories, memory_id), said, metadata, expiration_date
        )
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Row:
        """Forget a memory; nothing is erased. ValueError for an unknown id."""
        self.memories.forget(items.known_by(self.memories, memory_id)["memory_id"])
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Row:
        """Forget all memories of a user, an agent or a run. ValueError if none is named."""
        who = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        for wanted in items.owners_meant(self.memories, who):
            items.forget_all(self.memories, wanted)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Row]:
        """Each change of a memory's text; empty for an unknown id."""
        return items.changes_of(self.memories, memory_id)

    def reset(self) -> None:
        """Forget all memories of all owners."""
        for owner_id in self.memories.reader.owners():
            items.forget_all(self.memories, Filters(owner_id, {}, ()))

    def close(self) -> None:
        """Close the store."""
        self.memories.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class AsyncMemory:
    """mem0's asynchronous memory: the calls of `Memory`, all but `close` awaited."""

    def __init__(self, config: Any = None, *, store: str | Path | None = None) -> None:
        self.memory = Memory(config, store=store)
        self.memories = self.memory.memories

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **where: Any) -> Self:
        """A memory; the configuration is not used."""
        return cls(config_dict, **where)

    add, get = items.awaited(Memory.add), items.awaited(Memory.get)
    get_all = items.awaited(Memory.get_all)
    search, update = items.awaited(Memory.search), items.awaited(Memory.update)
    delete, delete_all = items.awaited(Memory.delete), items.awaited(Memory.delete_all)
    history, reset = items.awaited(Memory.history), items.awaited(Memory.reset)

    def close(self) -> None:
        """Close the store."""
        self.memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self.close)
