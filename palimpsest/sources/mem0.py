"""A mem0 store: vectors in a Qdrant or Chroma folder, and a history beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.sources.contract import Item, Kind, Source
from palimpsest.sources.read_only import is_sqlite, open_read_only

HISTORY = "history.db"
_COLUMNS = frozenset({"memory_id", "old_memory", "new_memory", "event", "created_at", "is_deleted"})
_LAST = """
SELECT memory_id, event, new_memory, created_at, updated_at, is_deleted, actor_id, role
FROM history ORDER BY julianday(coalesce(updated_at, created_at)), rowid
"""
DELETED = """
INSERT INTO history
    (id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted)
VALUES (?, ?, ?, NULL, 'DELETE', ?, ?, 1)
"""


def is_history(path: Path) -> bool:
    """Whether a file is a mem0 history."""
    if not is_sqlite(path):
        return False
    with open_read_only(path) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(history)")}
    return columns >= _COLUMNS


def _last_states(path: Path) -> dict[str, dict[str, Any]]:
    """The last state of each memory in the history, with the time of its first entry."""
    if not is_history(path):
        raise UsageError(f"{path} is not a mem0 history")
    last: dict[str, dict[str, Any]] = {}
    with open_read_only(path) as connection:
        for memory, event, text, created, updated, deleted, actor, role in connection.execute(
            _LAST
        ):
            before = last.get(memory, {})
            last[memory] = {
                "text": text,
                "living": event != "DELETE" and not deleted,
                "created_at": before.get("created_at") or created,
                "updated_at": updated or created,
                "actor_id": actor or before.get("actor_id"),
                "role": role or before.get("role"),
            }
    return last


class Mem0Source:
    """The memories of mem0's vectors, with data from its history."""

    def __init__(self, vectors: Source, history: Path) -> None:
        """UsageError if the history is not one of mem0's."""
        self._vectors = vectors
        self._states = _last_states(history)
        self.kind: Kind = vectors.kind
        self.name = vectors.name
        self.remarks: Sequence[str] = ()

    @property
    def share(self) -> float | None:
        """The share of the vectors that was read."""
        return self._vectors.share

    def rows(self) -> Iterator[Item]:
        """Each memory; times, actor and role come from the history if the vectors lack them."""
        left, unknown = dict(self._states), 0
        for row in self._vectors.rows():
            if isinstance(row, dict):
                state = left.pop(row["id"], None)
                unknown += state is None
                taken = {
                    name: value for name, value in (state or {}).items() if name in _TAKEN and value
                }
                yield taken | row
        gone = sum(row["living"] for row in left.values())
        counts = ((gone, "only in the history, not imported"), (unknown, "not in the history"))
        self.remarks = [f"{counted(count, 'memory')}, {what}" for count, what in counts if count]


_TAKEN = ("created_at", "updated_at", "actor_id", "role")


class HistorySource:
    """The memories of a history without vectors; it does not name their owners."""

    kind: Kind = "mem0-history"
    remarks: Sequence[str] = ("a history does not say whose memories they are: --owner does",)
    share: float | None = None

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name

    def rows(self) -> Iterator[Item]:
        """The last text of each memory that was not deleted."""
        for memory, state in _last_states(self._path).items():
            if state["living"]:
                taken = {name: state[name] for name in _TAKEN if state[name]}
                yield {"id": memory, "memory": state["text"], **taken}
