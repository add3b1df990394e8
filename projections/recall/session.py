"""Finds the memories that only the asking session has stated since it was last compacted.

What an agent has just stored must not be recalled as if it had been known before (the design
`store-time`). A compacted conversation no longer has it, so these memories may appear again.
"""

from __future__ import annotations

from pathlib import Path

from palimpsest.projections.duckdb.queries import query
from palimpsest.streams.core.ledger import Ledger

_OWN = """
SELECT c.memory_id
FROM candidates c JOIN decisions d ON d.decision_id = c.decision_id
WHERE c.owner_id = ? AND c.living
GROUP BY c.memory_id
HAVING bool_and(coalesce(c.session_id = ?, false) AND d.position > ?)
ORDER BY c.memory_id
"""


def own_memories(folder: Path, owner_id: str, session_id: str, compacted: int) -> list[str]:
    """The ids of memories that only this session has stated since it was last compacted.

    A memory that was also stated in another session, or outside any, is not among them.
    `compacted` is the log position of the compaction, 0 for none.
    """
    rows = query(folder, _OWN, [owner_id, session_id, compacted])
    return [row["memory_id"] for row in rows]


def own_of(ledger: Ledger, session_id: str) -> set[str]:
    """Like `own_memories`, from a ledger."""
    since = ledger.compacted.get(session_id, 0)
    return {
        memory.id
        for memory in ledger.memories()
        if memory.living
        and all(
            entry.fields.session_id == session_id and entry.place > since
            for entry in memory.members
            if entry.living
        )
    }
