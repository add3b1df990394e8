"""What waits for the judge: a table beside the events, which it follows from (design section 6).

Who appends events keeps it, in their transaction; who asks the judge reads it, from any process.
What makes a candidate wait stands in the events themselves; whether a join's text has to be
composed anew is known to whoever folds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from contracts.events import (
    AnyEvent,
    Composed,
    Decided,
    Erased,
    Joined,
    Redecided,
    Refused,
    Settled,
)
from contracts.wire import Recorded
from streams.core.evolve import evolve
from streams.core.ledger import Ledger
from streams.embedded.database import Database

Kind = Literal["settle", "compose"]

TOLD_OF = (
    '"decision":"pending"',
    "palimpsest.settled.v1",
    "palimpsest.joined.v1",
    "palimpsest.redecided.v1",
    "palimpsest.refused.v1",
    "palimpsest.erased.v1",
)
"""What the lines of events contain that change what waits; others may contain it in a text."""
COMPOSED = '"composition"'
"""What the line of an event contains with which a composed text came; others may, too."""


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

    def follow(self, events: Iterable[tuple[int, int, AnyEvent]]) -> None:
        """Add and remove what events say; each with its position and its owner's number.

        Only inside the transaction that appends them.
        """
        for position, owner_no, event in events:
            if isinstance(event, Decided | Redecided) and event.data.decision == "pending":
                self.add("settle", event.subject, owner_no, position)
            else:
                for candidate_id in _answered(event):
                    self.remove("settle", candidate_id)

    def follow_texts(self, texts: Mapping[str, bool], owner_no: int, position: int) -> None:
        """Add and remove joins as the fold of an event says (`Touched.texts`)."""
        for decision_id, waits in texts.items():
            if waits:
                self.add("compose", decision_id, owner_no, position)
            else:
                self.remove("compose", decision_id)

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


def _answered(event: AnyEvent) -> Iterator[str]:
    """The candidates that wait no more: settled, joined by a person, or judged and held back.

    Verdicts that were refused are kept, and settle their candidate when they can; those about
    pairs that nobody asked about answer nothing.
    """
    match event:
        case Settled() | Redecided():
            yield event.data.candidate_id
        case Joined() if event.data.rank == "person":
            yield from (event.data.candidate_id, event.data.join.to)
        case Refused() if event.data.verdicts and event.data.reason != "not_asked":
            yield from (one for one in (event.data.candidate_id,) if one is not None)
        case Erased():
            yield from event.data.candidate_ids
        case _:
            return


def composes(event: AnyEvent) -> bool:
    """Whether a composed text came with an event: other owners have none that could be lost."""
    match event:
        case Decided() | Settled() | Joined() | Redecided():
            return event.data.composition is not None
        case Composed():
            return True
        case _:
            return False


def lost_texts(
    owner_id: str, events: Iterable[Recorded]
) -> Iterator[tuple[int, Mapping[str, bool]]]:
    """What the fold of an owner's events says of composed texts, with the events' positions."""
    ledger = Ledger(owner_id)
    for position, event in events:
        texts = evolve(ledger, event).texts
        if texts:
            yield position, texts
    ledger.dissolve()
