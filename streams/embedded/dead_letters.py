"""Inputs that could not be read, kept byte for byte until somebody has looked at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contracts.errors import InvalidInputError
from contracts.identity import digest
from streams.embedded.database import Database, Row

LetterState = Literal["open", "retried"]

CHUNK = 500

_HEADS = (
    "SELECT number, id, digest, length(bytes), reason, detail, origin, at, state FROM dead_letters "
)
_COUNT = "SELECT count(*) FROM dead_letters "


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What is known about an input that could not be read; `size` is in bytes.

    `id` is that of the `invalid` event about the bytes, `reason` one of
    `contracts.events.InvalidReason`, `origin` the source or file that it came from.
    """

    id: str
    digest: str
    size: int
    reason: str
    detail: str
    origin: str
    at: datetime
    state: LetterState


class DeadLetters:
    """Dead letters in the order in which they came; the same bytes are kept once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, letter_id: str, data: bytes, error: InvalidInputError, origin: str, at: datetime
    ) -> None:
        """Keep an input under `contracts.identity.invalid_id`, with the event about it.

        Only inside a transaction. Bytes that are there already change nothing.
        """
        self._database.require_transaction()
        self._database.execute(
            "INSERT INTO dead_letters (id, digest, bytes, reason, detail, origin, at, state)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 'open') ON CONFLICT (id) DO NOTHING",
            (letter_id, digest(data), data, error.reason, error.detail, origin, at.isoformat()),
        )

    def letters(self, state: LetterState | None = None) -> Iterator[DeadLetter]:
        """The letters, all or those of one state, the oldest first; without their bytes."""
        last = 0
        while chunk := self._after(last, state):
            yield from (_letter(row) for row in chunk)
            last = chunk[-1][0]

    def _after(self, number: int, state: LetterState | None) -> list[Row]:
        where = "number > ?" if state is None else "state = ? AND number > ?"
        parameters = (number, CHUNK) if state is None else (state, number, CHUNK)
        sql = f"{_HEADS}WHERE {where} ORDER BY number LIMIT ?"
        return [*self._database.rows(sql, parameters)]

    def count(self, state: LetterState | None = None) -> int:
        """How many letters there are, or are in one state."""
        where = "" if state is None else "WHERE state = ?"
        parameters = () if state is None else (state,)
        row = self._database.row(_COUNT + where, parameters)
        return row[0] if row else 0

    def get(self, letter_id: str) -> DeadLetter | None:
        """One letter; None where there is none of this id."""
        row = self._database.row(_HEADS + "WHERE id = ?", (letter_id,))
        return None if row is None else _letter(row)

    def original(self, letter_id: str) -> bytes | None:
        """The bytes of a letter as they came; None where there is none of this id."""
        row = self._database.row("SELECT bytes FROM dead_letters WHERE id = ?", (letter_id,))
        return None if row is None else row[0]

    def mark(self, letter_id: str, state: LetterState) -> None:
        """Record what was done with a letter; only inside a transaction."""
        self._database.require_transaction()
        sql = "UPDATE dead_letters SET state = ? WHERE id = ?"
        self._database.execute(sql, (state, letter_id))


def _letter(row: Row) -> DeadLetter:
    _, letter_id, digest_, size, reason, detail, origin, at, state = row
    return DeadLetter(
        letter_id, digest_, size, reason, detail, origin, datetime.fromisoformat(at), state
    )
