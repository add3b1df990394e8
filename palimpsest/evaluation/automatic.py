"""The joins that an audit covers, and those of them that another policy would make. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from palimpsest.streams.core.ledger import Edge, Ledger


def standing(ledger: Ledger) -> Iterator[Edge]:
    """The standing joins by a rule or the judge, both texts living; no verbatim repeats."""
    for edge in ledger.edges.values():
        automatic = edge.standing and edge.rank in ("rule", "judge") and not edge.exact
        if automatic and edge.older.text_lives and edge.newer.text_lives:
            yield edge


@dataclass(frozen=True, slots=True)
class CertifiedJoins:
    """The joins that an audit's certificate covers: those of some owners up to a position.

    `owners` is a pattern and `since` the time of the earliest decision, if they narrow the audit;
    `labels` are the decisions that have a label.
    """

    audit: str
    position: int
    owners: str | None
    since: datetime | None
    labels: frozenset[str]

    def kept(self, real: Ledger, other: Ledger, sealed: Set[str]) -> Counter[str]:
        """How many of an owner's joins are certified, and how many the other policy would make.

        `sealed` are the ids of the owner's events up to the position, except joins that did not
        stand there. Two joins are the same if they have the same ends and the same text speaks.
        """
        if self.owners is not None and not fnmatchcase(real.owner_id, self.owners):
            return Counter()
        there = {_ends(edge) for edge in standing(other) if self._is_meant(edge)}
        certified = [e for e in standing(real) if e.id in sealed and self._is_meant(e)]
        same = [edge for edge in certified if _ends(edge) in there]
        return Counter(
            {
                "certified": len(certified),
                "still": len(same),
                "would_be_joins": len(there),
                "labels": sum(edge.id in self.labels for edge in certified),
                "labels_kept": sum(edge.id in self.labels for edge in same),
            }
        )

    def _is_meant(self, edge: Edge) -> bool:
        return self.since is None or edge.decided_at >= self.since


def _ends(edge: Edge) -> tuple[str, str, str]:
    return edge.newer.id, edge.older.id, edge.face
