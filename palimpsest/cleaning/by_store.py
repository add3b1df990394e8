"""The joins of a store that keeps the rows, so that each can be undone there.

Every row is a candidate. Its id is derived from its text and the number of earlier rows with that
text, so cleaning the same file again changes nothing, and joins un-merged in between stay removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import orjson

from palimpsest.cleaning.texts import RowJoin, Texts
from palimpsest.contracts.candidate import DEFAULT_NAMESPACE
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.identity import candidate_id, digest
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.embedder import Progress

OWNER = "rows"
"""The owner of the rows; each scope is a namespace."""
SOURCE = "clean"
AT_ONCE = 4_096


class RowStore(Protocol):
    """A store that decides on candidates, and knows what is joined."""

    def submit(self, candidates: Sequence[dict[str, Any]], *, source: str) -> object:
        """Decide on candidates, in order; known ones change nothing."""

    def ledger(self, owner_id: str) -> Ledger:
        """An owner's current state."""


def join_by_store(texts: Texts, store: RowStore, progress: Progress) -> Iterator[list[RowJoin]]:
    """Submit all rows, then yield the standing joins in the order of their decisions.

    UsageError if the store has candidates that are not rows of this table.
    """
    rows: dict[str, int] = {}
    waiting: list[dict[str, Any]] = []
    for row, candidate in _candidates(texts):
        rows[candidate_id(OWNER, SOURCE, candidate["id"])] = row
        waiting.append(candidate)
        if len(waiting) == AT_ONCE:
            store.submit(waiting, source=SOURCE)
            waiting = []
            progress(f"deciding on {counted(len(texts.of), 'row')}", row / len(texts.of))
    store.submit(waiting, source=SOURCE)
    ledger = store.ledger(OWNER)
    if strangers := len(ledger.entries.keys() - rows.keys()):
        raise UsageError(
            f"the store has {counted(strangers, 'candidate')} that are not rows of this file: name"
            " another store"
        )
    edges = {edge.id: edge for entry in ledger.entries.values() for edge in entry.edges}
    for edge in sorted(edges.values(), key=lambda edge: edge.place):
        if edge.standing:
            row, partner = rows[edge.newer.id], rows[edge.older.id]
            score = 1.0 if edge.similarity is None else edge.similarity
            yield [RowJoin(row, partner, edge.decision, score, decision_id=edge.id)]


def _candidates(texts: Texts) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each readable row as a candidate."""
    scope_of = {number: scope for scope, numbers in texts.scopes.items() for number in numbers}
    seen: Counter[int] = Counter()
    for row, number in enumerate(texts.of):
        if number < 0:
            continue
        scope, text = scope_of[number], texts.texts[number]
        # Only rows of one namespace are compared.
        namespace = digest(repr(scope).encode())[:32] if scope != () else DEFAULT_NAMESPACE
        name = digest(orjson.dumps([namespace, text]))[:32]
        about = {"owner_id": OWNER, "namespace": namespace, "id": f"{name}-{seen[number]}"}
        yield row, {**about, "text": text}
        seen[number] += 1
