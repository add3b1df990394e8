"""A temporary copy of a source's rows, so that they can be counted, compared and ordered.

A source is read once, in its state at that time. The rows are in SQLite's own temporary file, which
is in no folder, and disappears with the process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Self

import numpy as np

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.sources.contract import Item
from palimpsest.sources.mapping import Array, FieldMapping
from palimpsest.streams.core.text import identity_of
from palimpsest.streams.intake import (
    Meaning,
    Prepared,
    RawRow,
    RowCounter,
    parse,
    prepare,
    understand,
)
from palimpsest.streams.write.inputs import CONFLICT

_BATCH = 1_000
_ROWS = """
CREATE TABLE rows (
    n INTEGER PRIMARY KEY, raw BLOB NOT NULL, repeat INTEGER NOT NULL, owner TEXT, scope TEXT,
    hash TEXT, id TEXT, candidate TEXT, fingerprint TEXT, confidence REAL, moment REAL, text TEXT,
    vector BLOB, reason TEXT, detail TEXT
)
"""
_INSERT = "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RANKED = """
CREATE TABLE ranked AS
SELECT n, place, candidate,
    row_number() OVER best AS rank,
    min(place) OVER (PARTITION BY scope, hash) AS first,
    min(place) OVER (PARTITION BY owner) AS owner_first,
    first_value(n) OVER best AS kept
FROM (
    SELECT n, owner, scope, hash, candidate, confidence, moment,
        row_number() OVER (ORDER BY {moment} n) AS place
    FROM rows WHERE scope IS NOT NULL
)
WINDOW best AS (
    PARTITION BY scope, hash
    ORDER BY coalesce(confidence, ?) DESC NULLS LAST, moment DESC NULLS LAST, n DESC
)
"""
"""Among rows with the same text, the one with the highest confidence, then the newest, is first."""
_REPEATS = """
SELECT old.owner, old.id, kept.id, old.text
FROM ranked JOIN rows old USING (n) JOIN rows kept ON kept.n = ranked.kept
WHERE rank > 1 AND old.candidate <> kept.candidate
ORDER BY place
"""
_ORDERED = """
CREATE TABLE ordered AS
SELECT n FROM (
    SELECT n, owner_first, CASE rank WHEN 1 THEN first ELSE place END AS at, rank FROM ranked
    UNION ALL SELECT n, 9e18, n, 0 FROM rows WHERE scope IS NULL
) ORDER BY owner_first, at, rank
"""
"""Owner by owner, so that a window's new texts of one scope are searched together.

Only the numbers of rows are sorted, because rows contain the vectors.
"""
_IN_ORDER = """
SELECT n, raw, repeat, candidate, vector
FROM ordered CROSS JOIN rows USING (n) ORDER BY ordered.rowid
"""


_CONFLICTS = """
SELECT n FROM (
    SELECT n, fingerprint, first_value(fingerprint) OVER same_id AS known
    FROM ordered JOIN rows USING (n) WHERE candidate IS NOT NULL
    WINDOW same_id AS (PARTITION BY candidate ORDER BY ordered.rowid)
) WHERE fingerprint <> known ORDER BY n
"""
"""If rows share an id, it belongs to the one that comes first."""


class Repeat(NamedTuple):
    """A row that repeats another exactly; `keep_id` is the row that is kept for both."""

    owner_id: str
    old_id: str
    keep_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The number of rows with another row's id, and the first of them."""

    count: int
    rows: list[dict[str, object]]


class Spooled(NamedTuple):
    """A row on its way to the writer, with its meaning and, if it has one, its vector.

    `number` counts the rows of the source, from 1.
    """

    number: int
    row: RawRow
    meaning: Meaning
    vector: Array | None


@dataclass(frozen=True, slots=True)
class SpoolCounts:
    """A source's counts: all rows, unreadable ones, owners, and rows with vectors."""

    rows: int
    invalid: int
    owners: int
    vectors: int


class Spool:
    """The rows of one source, in the form in which a producer with that name would send them."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._rows = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._rows.execute("PRAGMA cache_size = -65536")
        self._rows.execute(_ROWS)
        self._counter = RowCounter()
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()

    def fill(
        self, items: Iterable[Item], mapping: FieldMapping, absent: float | None = None
    ) -> Iterator[int]:
        """Read all rows, in batches; yields the number of rows after each.

        `absent` is the policy's confidence for rows without one.
        """
        rest = iter(items)
        while batch := [self._values(item, mapping) for item in islice(rest, _BATCH)]:
            self._rows.execute("BEGIN")
            self._rows.executemany(_INSERT, batch)
            self._rows.execute("COMMIT")
            yield self._size
        timed = "SELECT count(*) = count(moment) FROM rows WHERE scope IS NOT NULL"
        [all_timed] = self._rows.execute(timed).fetchone()
        self._rows.execute(_RANKED.format(moment="moment," if all_timed else ""), (absent,))
        self._rows.execute(_ORDERED)

    def _values(self, item: Item, mapping: FieldMapping) -> tuple[object, ...]:
        raw, vector = mapping.row(item, self._source)
        row = RawRow(raw, self._source, self._counter.count(raw))
        self._size += 1
        meaning = understand(row)
        if not isinstance(meaning, Prepared):
            wrong = meaning if isinstance(meaning, InvalidInputError) else None
            problem = (wrong.reason, wrong.detail) if wrong else (None, None)
            return (self._size, raw, row.repeat, *(None,) * 10, *problem)
        c = meaning.candidate
        identity = identity_of(meaning.content)
        return (
            *(self._size, raw, row.repeat, c.owner_id, f"{c.owner_id}\0{c.namespace}"),
            *(identity, c.id, meaning.candidate_id, meaning.fingerprint, c.confidence),
            c.occurred_at.timestamp() if c.occurred_at else None,
            *(c.text, vector.tobytes() if vector is not None else None, None, None),
        )

    def counts(self) -> SpoolCounts:
        """The counts of the rows."""
        text = "SELECT count(*), count(reason), count(DISTINCT owner), count(vector) FROM rows"
        return SpoolCounts(*self._rows.execute(text).fetchone())

    def invalid(self, most: int) -> list[dict[str, object]]:
        """The first unreadable rows, by number, and why; never their contents."""
        text = "SELECT n, reason, detail FROM rows WHERE reason IS NOT NULL ORDER BY n LIMIT ?"
        names = ("row", "reason", "detail")
        return [dict(zip(names, found, strict=True)) for found in self._rows.execute(text, [most])]

    def conflicts(self, most: int) -> Conflicts:
        """The rows with another row's id but other contents; lists the first ones."""
        found = [n for (n,) in self._rows.execute(_CONFLICTS)]
        told = {"reason": CONFLICT.reason, "detail": CONFLICT.detail}
        return Conflicts(len(found), [{"row": n, **told} for n in found[:most]])

    def repeats(self) -> Iterator[Repeat]:
        """Each row that will join one with the same text.

        By time if each row has one, else in the source's order.
        """
        return map(Repeat._make, self._rows.execute(_REPEATS))

    def samples(self, most: int) -> list[tuple[str, Array]]:
        """Texts with their vectors, sampled evenly from the whole source."""
        numbered = "SELECT n FROM rows WHERE vector IS NOT NULL GROUP BY text ORDER BY n"
        all_of = [n for (n,) in self._rows.execute(numbered)]
        size = min(most, len(all_of))
        wanted = [all_of[number * len(all_of) // size] for number in range(size)]
        found = f"SELECT text, vector FROM rows WHERE n IN ({','.join('?' * len(wanted))})"  # noqa: S608 - marks alone
        return [
            (text, np.frombuffer(vector, np.float32))
            for text, vector in self._rows.execute(found, wanted)
        ]

    def in_order(self) -> Iterator[Spooled]:
        """All rows, owner by owner; by time if each row has one, else in the source's order.

        Of rows with the same text, the kept one comes first. Unreadable rows come last.
        """
        for n, raw, repeat, candidate_id, vector in self._rows.execute(_IN_ORDER):
            row = RawRow(raw, self._source, repeat)
            if candidate_id is None:
                yield Spooled(n, row, understand(row), None)
                continue
            candidate = parse(raw, source=self._source, repeat=repeat)
            assert isinstance(candidate, Candidate), "it was one when it was stored"
            found = np.frombuffer(vector, np.float32) if vector is not None else None
            yield Spooled(n, row, prepare(candidate), found)
