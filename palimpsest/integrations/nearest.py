"""The nearest among a given set of memories (recall cannot filter by id)."""

from __future__ import annotations

from collections.abc import Collection

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.limits import PYTHON
from palimpsest.contracts.shown import Recalled

MORE = 4
"""Factor by which `k` grows if too few of the recalled memories are in the given set."""


def nearest_of(
    memories: Palimpsest,
    owner_id: str,
    query: str,
    wanted: Collection[str],
    k: int,
    namespace: str | None = None,
    *,
    show_expired: bool = False,
) -> list[Recalled]:
    """The first `k` that `recall` finds among the memories with these ids, none of them folded."""
    if not wanted or k < 1:
        return []
    asked = k
    while True:
        found = memories.recall(
            owner_id, query, k=asked, namespace=namespace, fold=False, show_expired=show_expired
        )
        kept = [memory for memory in found if memory["memory_id"] in wanted]
        if len(kept) >= min(k, len(wanted)) or len(found) < asked or asked == PYTHON.found:
            return kept[:k]
        asked = min(MORE * asked, PYTHON.found)
