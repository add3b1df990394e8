"""The queue for the judge and the embedder: a table derived from the events.

A process that appends events updates it in the same transaction, from the changes of their fold;
verifiers read it from any process.
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

Kind = Literal["settle", "compose", "embed"]

MARKS = ('"asked":["', '"composition"')
"""Found in the lines of all events that may have questions, and in texts of other lines."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry of the queue.

    It is a pending candidate, a join whose text must be recomposed, or a candidate whose text has
    no vector yet.
    """

    kind: Kind
    subject: str
    owner_id: str
    position: int


class Verifications:
    """The table, for any process that has the store's file open."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def follow(self, touched: Touched, owner_no: int, position: int) -> None:
        """Add and remove entries according to an event's changes, in the event's transaction."""
        changed: tuple[tuple[Kind, Mapping[str, bool]], ...] = (
            ("settle", touched.questions),
            ("compose", touched.texts),
            ("embed", touched.unembedded),
        )
        for kind, subjects in changed:
            for subject, waits in subjects.items():
                if waits:
                    self.add(kind, subject, owner_no, position)
                else:
                    self.remove(kind, subject)

    def add(self, kind: Kind, subject: str, owner_no: int, position: int) -> None:
        """Add an entry; an existing one keeps its place."""
        self._database.require_transaction()
        self._database.execute(
            "INSERT OR IGNORE INTO verifications (kind, subject, owner_no, position)"
            " VALUES (?, ?, ?, ?)",
            (kind, subject, owner_no, position),
        )

    def remove(self, kind: Kind, subject: str) -> None:
        """Remove an entry, if present."""
        self._database.require_transaction()
        self._database.execute(
            "DELETE FROM verifications WHERE kind = ? AND subject = ?", (kind, subject)
        )

    def waiting(self, limit: int, after: Waiting | None = None) -> list[Waiting]:
        """Up to `limit` entries for the judge after another one, the oldest first."""
        last = (0, "", "") if after is None else (after.position, after.kind, after.subject)
        rows = self._database.rows(
            "SELECT kind, subject, owner_id, position FROM verifications JOIN owners"
            " USING (owner_no) WHERE (position, kind, subject) > (?, ?, ?) AND kind != 'embed'"
            " ORDER BY position, kind, subject LIMIT ?",
            (*last, limit),
        )
        return [Waiting(*row) for row in rows]

    def count(self) -> int:
        """The number of entries for the judge; 0 in a log of version 1 on a read-only disk."""
        return self._count("kind != 'embed'")

    def unembedded(self, owner_id: str | None = None) -> int:
        """The number of texts, of all or one owner, that wait for their vector."""
        if owner_id is None:
            return self._count("kind = 'embed'")
        return self.owners_unembedded().get(owner_id, 0) if self.unembedded() else 0

    def _count(self, which: str) -> int:
        if self._database.row("SELECT 1 FROM sqlite_master WHERE name = 'verifications'") is None:
            return 0
        return self._database.number(f"SELECT count(*) FROM verifications WHERE {which}")  # noqa: S608

    def owners_unembedded(self) -> dict[str, int]:
        """The number of each owner's texts that wait for their vector."""
        return dict(
            self._database.rows(
                "SELECT owner_id, count(*) FROM verifications JOIN owners USING (owner_no)"
                " WHERE kind = 'embed' GROUP BY owner_id ORDER BY owner_id"
            )
        )


def may_ask(event: AnyEvent) -> bool:
    """Whether an event may add entries.

    An owner without any such event has no questions, and no text without a vector.
    """
    match event:
        case Decided() | Redecided():
            evidence = event.data.evidence
            waits = evidence.asked or "embedder" in (evidence.down or ())
            return bool(waits) or event.data.composition is not None
        case Settled() | Joined():
            return event.data.composition is not None
        case Composed():
            return True
        case _:
            return False


def touched_by(owner_id: str, events: Iterable[Recorded]) -> Iterator[tuple[int, Touched]]:
    """The changes of each event in the fold of an owner's events, with their positions."""
    ledger = Ledger(owner_id)
    for position, event in events:
        yield position, evolve(ledger, event)
    ledger.dissolve()
