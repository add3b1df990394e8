"""Inputs that could not be read, kept byte for byte."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import orjson

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.streams.log.database import Database, Row

DeadLetterState = Literal["open", "retried"]
Headers = tuple[tuple[str, bytes | None], ...]
"""The headers of a record, in order; names may repeat."""

CHUNK = 500

_COUNT = "SELECT count(*) FROM dead_letters "
_HEADS = (
    "SELECT number, id, digest, size, reason, detail, origin, at, state, times FROM dead_letters "
)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The metadata of an input that could not be read; `size` is the original size in bytes.

    `id` is that of the `invalid` event about the bytes, `reason` one of
    `contracts.errors.InvalidReason`, and `origin` the source or file that it came from, or its
    place in a topic. `times` is the number of records with these bytes in a followed topic.
    """

    id: str
    digest: str
    size: int
    reason: str
    detail: str
    origin: str
    at: datetime
    state: DeadLetterState
    times: int


@dataclass(frozen=True, slots=True)
class NewDeadLetter:
    """A dead letter to be stored in a store or a topic.

    `data` has all of the `size` bytes, or the first ones; `digest` covers all of them. `headers`
    and `key` are those of the record, if there was one.
    """

    id: str
    data: bytes
    error: InvalidInputError
    origin: str
    at: datetime
    digest: str
    size: int
    headers: Headers = ()
    key: bytes | None = None


class DeadLetters:
    """Dead letters in order of arrival; the same bytes are stored once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, letter: NewDeadLetter) -> None:
        """Store an input under `contracts.identity.invalid_id`, together with the event about it.

        Needs the transaction of that event. Bytes that are already stored change nothing.
        """
        self._insert(letter, "DO NOTHING")

    def follow(self, letter: NewDeadLetter) -> None:
        """Like `add`, for a topic with a letter per record: equal letters are counted."""
        self._insert(letter, "DO UPDATE SET times = times + 1")

    def _insert(self, letter: NewDeadLetter, on_conflict: str) -> None:
        self._database.require_transaction()
        values = (
            letter.error.reason,
            letter.error.detail,
            letter.origin,
            letter.at.isoformat(),
            letter.size,
        )
        self._database.execute(
            "INSERT INTO dead_letters"  # noqa: S608 - no values
            " (id, digest, bytes, reason, detail, origin, at, size, headers, state)"
            f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open') ON CONFLICT (id) {on_conflict}",
            (letter.id, letter.digest, letter.data, *values, _packed(letter.headers)),
        )

    def all(
        self, state: DeadLetterState | None = None, after: str | None = None
    ) -> Iterator[DeadLetter]:
        """The dead letters, all or those of one state, the oldest first, without their bytes.

        With `after`, only those later than the letter with this id, which must exist.
        """
        last = self._number(after) if after else 0
        while chunk := self._after(last, state):
            yield from (_letter(row) for row in chunk)
            last = chunk[-1][0]

    def _number(self, letter_id: str) -> int:
        [[number]] = self._database.rows(
            "SELECT number FROM dead_letters WHERE id = ?", (letter_id,)
        )
        return int(number)

    def _after(self, number: int, state: DeadLetterState | None) -> list[Row]:
        where = "number > ?" if state is None else "state = ? AND number > ?"
        parameters = (number, CHUNK) if state is None else (state, number, CHUNK)
        sql = f"{_HEADS}WHERE {where} ORDER BY number LIMIT ?"
        return [*self._database.rows(sql, parameters)]

    def count(self, state: DeadLetterState | None = None) -> int:
        """The number of letters, of all or one state."""
        where = "" if state is None else "WHERE state = ?"
        parameters = () if state is None else (state,)
        return self._database.number(_COUNT + where, parameters)

    def get(self, letter_id: str) -> DeadLetter | None:
        """One letter; None for an unknown id."""
        row = self._database.row(_HEADS + "WHERE id = ?", (letter_id,))
        return None if row is None else _letter(row)

    def original(self, letter_id: str) -> bytes | None:
        """The bytes of a letter, as far as they were kept; None for an unknown id."""
        row = self._database.row("SELECT bytes FROM dead_letters WHERE id = ?", (letter_id,))
        return None if row is None else row[0]

    def headers(self, letter_id: str) -> Headers:
        """The headers of the first record with a letter's bytes; empty for a row of a file."""
        row = self._database.row("SELECT headers FROM dead_letters WHERE id = ?", (letter_id,))
        return () if row is None else _unpacked(row[0])

    def mark(self, letter_id: str, state: DeadLetterState) -> None:
        """Set a letter's state; needs a transaction."""
        self._database.require_transaction()
        sql = "UPDATE dead_letters SET state = ? WHERE id = ?"
        self._database.execute(sql, (state, letter_id))


def _letter(row: Row) -> DeadLetter:
    _, letter_id, digest_, size, reason, detail, origin, at, state, times = row
    came = datetime.fromisoformat(at)
    return DeadLetter(letter_id, digest_, size, reason, detail, origin, came, state, times)


def _packed(headers: Headers) -> str:
    encoded = [[name, None if v is None else base64.b64encode(v).decode()] for name, v in headers]
    return orjson.dumps(encoded).decode()


def _unpacked(headers: str) -> Headers:
    encoded = orjson.loads(headers)
    return tuple((name, None if v is None else base64.b64decode(v)) for name, v in encoded)
