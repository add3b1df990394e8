"""Counts and decisions as of a position of the log, by folding it up to that position."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from palimpsest.backends.reader import Reader
from palimpsest.contracts.policy import Policy
from palimpsest.projections.duckdb.queries import queries
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.questions import settle_question
from palimpsest.streams.write.owners import fold_owner

_BY_KIND = """
SELECT decision, count(*) AS n FROM decisions WHERE position <= ?
GROUP BY decision ORDER BY decision
"""
_JUDGED = """
SELECT count(*)::BIGINT AS verdicts, coalesce(sum(calls), 0) AS calls,
       CASE WHEN bool_or(calls > 0 AND cost_usd IS NULL) THEN NULL
            ELSE coalesce(sum(cost_usd), 0) END AS usd
FROM verdicts WHERE position <= ?
"""
_REINSTATED = "SELECT decision_id FROM events WHERE event = 'reinstated' AND position <= ?"


@dataclass(slots=True)
class Counts:
    """Totals over many ledgers; `waiting` counts the questions that the judge has not answered.

    `folded` counts standing joins of texts that differ in more than the case at a sentence's start.
    """

    candidates: int = 0
    memories: int = 0
    joins: int = 0
    folded: int = 0
    pending: int = 0
    waiting: int = 0
    unembedded: int = 0

    def add(self, ledger: Ledger, policy: Policy) -> None:
        """Count what an owner's ledger has under a policy."""
        pending = [entry for entry in ledger.entries.values() if entry.living and entry.pending]
        questions = [settle_question(ledger, entry.id, policy) for entry in pending]
        joins = [edge for edge in ledger.edges.values() if edge.standing]
        self.candidates += len(ledger.entries)
        self.memories += sum(memory.living for memory in ledger.memories())
        self.joins += len(joins)
        self.folded += sum(edge.folded for edge in joins)
        self.pending += len(pending)
        self.waiting += sum(one is not None for one in questions) + len(ledger.composing)
        self.unembedded += len(ledger.unembedded)


def counts_as_of(reader: Reader, position: int) -> tuple[Counts, dict[str, int], dict[str, Any]]:
    """Counts, decisions by kind, and the judge's figures; folds one owner after another."""
    by_kind, [judged] = queries(reader.projections, (_BY_KIND, [position]), (_JUDGED, [position]))
    policy, counts = reader.policy_as_of(position), Counts()
    for owner_id in reader.log.owners_since(0, upto=position):
        with folded(reader, owner_id, position) as ledger:
            counts.add(ledger, policy)
    return counts, {row["decision"]: row["n"] for row in by_kind}, judged


def as_they_were(
    reader: Reader, rows: Iterable[dict[str, Any]], position: int
) -> list[dict[str, Any]]:
    """Rows of `decisions` with their memory, standing and review as of the position."""
    found = list(rows)
    [reinstated] = queries(reader.projections, (_REINSTATED, [position]))
    again = {row["decision_id"] for row in reinstated}
    owners = {row["owner_id"] for row in found if row["candidate_id"] is not None}
    for owner_id in sorted(owners):
        with folded(reader, owner_id, position) as ledger:
            for row in found:
                if row["owner_id"] == owner_id:
                    row.update(_then(ledger, row, again))
    return found


def _then(ledger: Ledger, row: dict[str, Any], again: Collection[str]) -> dict[str, Any]:
    decision_id = row["decision_id"]
    edge, entry = ledger.edges.get(decision_id), ledger.entries.get(row["candidate_id"])
    unsaid = "reinstated" if decision_id in again else "unreviewed"
    return {
        "memory_id": entry.memory.id if entry is not None else None,
        "standing": edge.standing if edge is not None else None,
        "review_status": ledger.reviews.get(decision_id, unsaid),
    }


@contextmanager
def folded(reader: Reader, owner_id: str, position: int) -> Iterator[Ledger]:
    """An owner's ledger as of a position, released at the end."""
    ledger = fold_owner(reader.log, owner_id, position)
    try:
        yield ledger
    finally:
        ledger.dissolve()
