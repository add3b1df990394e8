"""The rows of a source set down beside it, so that they can be counted, compared and ordered.

A source is read once, as it is at that time. SQLite's own temporary file takes the rows: it is in
no folder, and gone when the process is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
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

PREVIEW = 80
"""Characters of a text that a listing shows."""
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
"""Of rows that say the same the one of the highest confidence, and then the newest, comes first."""
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
"""Owner by owner: a window's newcomers of one scope are searched for at once.

Numbers are sorted, not rows: those have their vectors.
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
"""An id is that of the row that comes in first."""


class Repeat(NamedTuple):
    """A row that says exactly what another one says, which is kept for both."""

    owner_id: str
    old_id: str
    keep_id: str
    assertion_preview: str


@dataclass(frozen=True, slots=True)
class Conflicts:
    """How many rows have the id of another one, and the first of them."""

    count: int
    rows: list[dict[str, object]]


class Spooled(NamedTuple):
    """A row on its way to the writer, and what it means; `vector` where it came with one.

    `number` counts the rows of the source, from 1.
    """

    number: int
    row: RawRow
    meaning: Meaning
    vector: Array | None


@dataclass(frozen=True, slots=True)
class Counts:
    """What a source has: all rows, those that cannot be read, owners, and rows with vectors."""

    rows: int
    invalid: int
    owners: int
    vectors: int


class Spool:
    """Rows of one source as a producer of that name would say them."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._rows = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._rows.execute("PRAGMA cache_size = -65536")
        self._rows.execute(_ROWS)
        self._counter = RowCounter()
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._rows.close()

    def fill(
        self, items: Iterable[Item], mapping: FieldMapping, absent: float | None = None
    ) -> Iterator[int]:
        """Take all rows up, in batches; yields how many there are after each.

        `absent` is the confidence of rows that name none, by the policy.
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
        return (
            *(self._size, raw, row.repeat, c.owner_id, f"{c.owner_id}\0{c.namespace}"),
            *(
                identity_of(meaning.content),
                c.id,
                meaning.candidate_id,
                meaning.fingerprint,
                c.confidence,
            ),
            c.occurred_at.timestamp() if c.occurred_at else None,
            *(c.text, vector.tobytes() if vector is not None else None, None, None),
        )

    def counts(self) -> Counts:
        """How many there are of what."""
        text = "SELECT count(*), count(reason), count(DISTINCT owner), count(vector) FROM rows"
        return Counts(*self._rows.execute(text).fetchone())

    def invalid(self, most: int) -> list[dict[str, object]]:
        """The first rows that cannot be read, by number, and why; never what they say."""
        text = "SELECT n, reason, detail FROM rows WHERE reason IS NOT NULL ORDER BY n LIMIT ?"
        names = ("row", "reason", "detail")
        return [dict(zip(names, found, strict=True)) for found in self._rows.execute(text, [most])]

    def conflicts(self, most: int) -> Conflicts:
        """The rows that come with the id of another one and say something else; the first ones."""
        found = [n for (n,) in self._rows.execute(_CONFLICTS)]
        told = {"reason": CONFLICT.reason, "detail": CONFLICT.detail}
        return Conflicts(len(found), [{"row": n, **told} for n in found[:most]])

    def repeats(self) -> Iterator[Repeat]:
        """Each row that will join one that says the same, in the order of the source."""
        for owner, old, kept, text in self._rows.execute(_REPEATS):
            yield Repeat(owner, old, kept, text[:PREVIEW])

    def samples(self, most: int) -> list[tuple[str, Array]]:
        """Texts with their vectors, evenly over the whole source."""
        numbered = "SELECT n FROM rows WHERE vector IS NOT NULL GROUP BY text ORDER BY n"
        all_of = [n for (n,) in self._rows.execute(numbered)]
        wanted = all_of[:: max(1, len(all_of) // most)][:most]
        found = f"SELECT text, vector FROM rows WHERE n IN ({','.join('?' * len(wanted))})"  # noqa: S608 - marks alone
        return [
            (text, np.frombuffer(vector, np.float32))
            for text, vector in self._rows.execute(found, wanted)
        ]

    def in_order(self) -> Iterator[Spooled]:
        """All rows, owner by owner, by time where each row has one, else as they are.

        Of equal ones the kept one is first. Those that cannot be read come last.
        """
        for n, raw, repeat, candidate_id, vector in self._rows.execute(_IN_ORDER):
            row = RawRow(raw, self._source, repeat)
            if candidate_id is None:
                yield Spooled(n, row, understand(row), None)
                continue
            candidate = parse(raw, source=self._source, repeat=repeat)
            assert isinstance(candidate, Candidate), "it was one when it was set down"
            found = np.frombuffer(vector, np.float32) if vector is not None else None
            yield Spooled(n, row, prepare(candidate), found)
