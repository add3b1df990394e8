"""The nearest among a given set of memories (recall cannot filter by id)."""

from __future__ import annotations

from collections.abc import Collection

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.limits import PYTHON
from palimpsest.contracts.shown import Recalled

MORE = 4
"""How many times as many are recalled where too few were among the wanted ones."""


def nearest_of(
    memories: Palimpsest,
    owner_id: str,
    query: str,
    wanted: Collection[str],
    k: int,
    namespace: str | None = None,
) -> list[Recalled]:
    """The `k` nearest to a question, best first, of the memories whose ids are wanted; unfolded."""
    if not wanted or k < 1:
        return []
    asked = k
    while True:
        found = memories.recall(owner_id, query, k=asked, namespace=namespace, fold=False)
        kept = [one for one in found if one["memory_id"] in wanted]
        if len(kept) >= min(k, len(wanted)) or len(found) < asked or asked == PYTHON.found:
            return kept[:k]
        asked = min(MORE * asked, PYTHON.found)
