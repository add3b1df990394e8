"""What waits for the judge: a table beside the events, which it follows from (docs/design.md).

Who appends events keeps it, in their transaction, by what their fold touched; who asks the judge
reads it, from any process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from palimpsest.contracts.events import AnyEvent, Composed, Decided, Joined, Redecided, Settled
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.log.database import Database

Kind = Literal["settle", "compose"]

TOLD_OF = ('"asked":["', '"composition"')
"""What the line of an event contains that may have the judge asked; others contain it in a text."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One thing that waits: a pending candidate, or a join whose text has to be composed anew."""

    kind: Kind
    subject: str
    owner_id: str
    position: int


class Verifications:
    """The table, as whoever has the store's file open sees it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def follow(self, touched: Touched, owner_no: int, position: int) -> None:
        """Add and remove what the fold of an event says; only inside its transaction."""
        changed: tuple[tuple[Kind, Mapping[str, bool]], ...] = (
            ("settle", touched.questions),
            ("compose", touched.texts),
        )
        for kind, subjects in changed:
            for subject, waits in subjects.items():
                if waits:
                    self.add(kind, subject, owner_no, position)
                else:
                    self.remove(kind, subject)

    def add(self, kind: Kind, subject: str, owner_no: int, position: int) -> None:
        """Have something wait; it keeps its place if it does already."""
        self._database.require_transaction()
        self._database.execute(
            "INSERT OR IGNORE INTO verifications (kind, subject, owner_no, position)"
            " VALUES (?, ?, ?, ?)",
            (kind, subject, owner_no, position),
        )

    def remove(self, kind: Kind, subject: str) -> None:
        """Have it wait no more, if it did."""
        self._database.require_transaction()
        self._database.execute(
            "DELETE FROM verifications WHERE kind = ? AND subject = ?", (kind, subject)
        )

    def waiting(self, limit: int, after: Waiting | None = None) -> list[Waiting]:
        """Up to `limit` that stand after another, or the first ones; the oldest first."""
        last = (0, "", "") if after is None else (after.position, after.kind, after.subject)
        rows = self._database.rows(
            "SELECT kind, subject, owner_id, position FROM verifications JOIN owners"
            " USING (owner_no) WHERE (position, kind, subject) > (?, ?, ?)"
            " ORDER BY position, kind, subject LIMIT ?",
            (*last, limit),
        )
        return [Waiting(*row) for row in rows]

    def count(self) -> int:
        """How many wait; none is known of in a log of version 1 on a read-only disk."""
        if self._database.row("SELECT 1 FROM sqlite_master WHERE name = 'verifications'") is None:
            return 0
        row = self._database.row("SELECT count(*) FROM verifications")
        return row[0] if row else 0


def may_ask(event: AnyEvent) -> bool:
    """Whether the judge may be asked because of an event: an owner without any has no questions."""
    match event:
        case Decided() | Redecided():
            return bool(event.data.evidence.asked) or event.data.composition is not None
        case Settled() | Joined():
            return event.data.composition is not None
        case Composed():
            return True
        case _:
            return False


def touched_by(owner_id: str, events: Iterable[Recorded]) -> Iterator[tuple[int, Touched]]:
    """What the fold of an owner's events touched, with the events' positions."""
    ledger = Ledger(owner_id)
    for position, event in events:
        yield position, evolve(ledger, event)
    ledger.dissolve()
