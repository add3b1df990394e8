"""The inbox: candidates and requests from other processes for the writer (docs/design.md)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

from palimpsest.contracts.answers import from_json, result
from palimpsest.contracts.commands import Access
from palimpsest.contracts.errors import StoreError
from palimpsest.streams.intake import RawRow, parse, understand
from palimpsest.streams.log.database import Database
from palimpsest.streams.write.inputs import Input, Outcome, Submission
from palimpsest.streams.write.uses import APART

ItemKind = Literal["candidates", "request", "uses"]
"""`uses` are gathered accesses; they wait until the owner's last recorded uses are a minute old."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item: `body` has the sender's bytes; `origin` is its source, or the uses' owner."""

    id: int
    kind: ItemKind
    origin: str
    body: bytes


class Inbox:
    """Items in order of arrival, each answered once; the sender fetches the answer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, kind: ItemKind, origin: str, body: bytes) -> int:
        """Add an item durably; returns its id."""
        return self.put_each(kind, origin, [body])[0]

    def keep_uses(self, inputs: Iterable[Input]) -> None:
        """Keep notices of gathered uses that came too soon, in the transaction of their window."""
        self._database.require_transaction()
        for item in inputs:
            assert isinstance(item.meaning, Access)
            self._put("uses", item.meaning.owner_id, item.row.raw)

    def put_each(self, kind: ItemKind, origin: str, bodies: Iterable[bytes]) -> list[int]:
        """Add items, all of them durably; returns their ids."""
        with self._database.transaction():
            return [self._put(kind, origin, body) for body in bodies]

    def _put(self, kind: ItemKind, origin: str, body: bytes) -> int:
        cursor = self._database.execute(
            "INSERT INTO inbox (kind, origin, body, put_at) VALUES (?, ?, ?, ?)",
            (kind, origin, body, datetime.now(UTC).timestamp()),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def is_idle(self) -> bool:
        """Whether no item waits to be answered, and no gathered uses to be recorded."""
        row = self._database.row("SELECT 1 FROM inbox WHERE answered_at IS NULL LIMIT 1")
        return row is None

    def waiting(self, limit: int, after: int = 0) -> list[Item]:
        """Up to `limit` unanswered items with an id above `after`, the oldest first.

        Gathered uses are left out: they get no answer.
        """
        rows = self._database.rows(
            "SELECT id, kind, origin, body FROM inbox"
            " WHERE answered_at IS NULL AND kind <> 'uses' AND id > ? ORDER BY id LIMIT ?",
            (after, limit),
        )
        return [Item(*row) for row in rows]

    def uses(self, owner_id: str | None = None) -> list[Item]:
        """The gathered uses that are not recorded yet, of all owners or one, the oldest first."""
        rows = self._database.rows(
            "SELECT id, kind, origin, body FROM inbox"
            " WHERE answered_at IS NULL AND kind = 'uses' AND origin = coalesce(?, origin)"
            " ORDER BY id",
            (owner_id,),
        )
        return [Item(*row) for row in rows]

    def uses_are_overdue(self) -> bool:
        """Whether gathered uses have waited longer than a minute to be recorded."""
        a_minute_ago = ((datetime.now(UTC) - APART).timestamp(),)
        sql = "SELECT 1 FROM inbox WHERE answered_at IS NULL AND kind = 'uses' AND put_at <= ?"
        return self._database.row(f"{sql} LIMIT 1", a_minute_ago) is not None

    def take_uses(self) -> dict[str, list[bytes]]:
        """Remove and return the gathered uses of owners whose last were taken over a minute ago.

        This is for a store whose writer is elsewhere. Uses that are taken count as recorded; a
        caller that cannot forward them puts them back. If the clock went back, uses that were taken
        before count as old.
        """
        now = datetime.now(UTC)
        recently = (now - APART).timestamp(), now.timestamp()
        taken: dict[str, list[bytes]] = {}
        with self._database.transaction():
            self._database.execute(
                "DELETE FROM inbox WHERE kind = 'uses' AND (answered_at <= ? OR answered_at > ?)",
                recently,
            )
            recent = self._database.rows(
                "SELECT origin FROM inbox WHERE kind = 'uses' AND answered_at IS NOT NULL"
            )
            too_soon = {origin for (origin,) in recent}
            for item in self.uses():
                if item.origin not in too_soon:
                    taken.setdefault(item.origin, []).append(item.body)
                    self.answer(item.id, b"")
        return taken

    def answer(self, item_id: int, answer: bytes) -> None:
        """Answer an item, in the transaction of its effect; its body is dropped."""
        self._database.require_transaction()
        self._database.execute(
            "UPDATE inbox SET answer = ?, answered_at = ?, body = x'' WHERE id = ?",
            (answer, datetime.now(UTC).timestamp(), item_id),
        )

    def take_answers(self, item_ids: Sequence[int]) -> dict[int, bytes]:
        """Remove and return the answers to those items that have one."""
        marks = ", ".join("?" * len(item_ids))
        sql = f"SELECT id, answer FROM inbox WHERE answered_at IS NOT NULL AND id IN ({marks})"  # noqa: S608 - only question marks
        found: dict[int, bytes] = dict(self._database.rows(sql, tuple(item_ids)))
        if found:
            with self._database.transaction():
                rows = [(item_id,) for item_id in found]
                self._database.execute_many("DELETE FROM inbox WHERE id = ?", rows)
        return found

    def withdraw(self, item_ids: Sequence[int]) -> None:
        """Remove items that have no answer: their sender is told that they failed."""
        with self._database.transaction():
            rows = [(item_id,) for item_id in item_ids]
            self._database.execute_many(
                "DELETE FROM inbox WHERE id = ? AND answered_at IS NULL", rows
            )

    def forget(self, older_than: datetime) -> int:
        """Drop older answers that were not fetched; returns their number."""
        old = (older_than.timestamp(),)
        if self._database.row("SELECT 1 FROM inbox WHERE answered_at < ? LIMIT 1", old) is None:
            return 0
        with self._database.transaction():
            return self._database.execute("DELETE FROM inbox WHERE answered_at < ?", old).rowcount


def pack(inputs: Sequence[Input], renames: Mapping[str, str]) -> bytes:
    """Inputs as one item's body; `renames` are the field names that they were read with."""
    rows = [
        (base64.b64encode(row.raw).decode(), row.source, row.repeat, row.reading)
        for row in (item.row for item in inputs)
    ]
    submissions = [item.submission and [*item.submission] for item in inputs]
    asked = {"submissions": submissions} if any(submissions) else {}
    return orjson.dumps({"rows": rows, "renames": dict(renames), **asked})


def unpack(body: bytes) -> list[Input]:
    """The inputs of an item's body, parsed again: the sender's parsing is not trusted."""
    packed = orjson.loads(body)
    rows = (RawRow(base64.b64decode(raw), *where) for raw, *where in packed["rows"])
    submissions = packed.get("submissions") or [None] * len(packed["rows"])
    return [
        Input(row, understand(row, packed["renames"]), asked and Submission(*asked))
        for row, asked in zip(rows, submissions, strict=True)
    ]


def gathered_uses(bodies: Iterable[bytes]) -> Iterator[Access]:
    """The notices of one owner's uses."""
    parsed = (parse(body, source="uses") for body in bodies)
    return (notice for notice in parsed if isinstance(notice, Access))


def outcomes_of(answer: Any) -> list[Outcome]:
    """The writer's outcomes for an item's inputs; raises the error if it answered with one.

    Raises StoreError if the answer cannot be read.
    """
    if isinstance(answer, list):
        return [Outcome(**outcome) for outcome in answer]
    result(from_json(answer))
    raise StoreError("the writer's answer cannot be read")
