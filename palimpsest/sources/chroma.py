"""A Chroma collection in a folder, read from its SQLite file; Chroma itself would change it.

The latest writes may still be only in Chroma's queue, which it applies when it next reads. Vectors
are also in the queue, until Chroma moves them to its index, which is not read here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.contract import CountedRows, Fields, Item, Kind, SourcePlace, one_of
from palimpsest.sources.read_only import open_read_only

FILE = "chroma.sqlite3"
DOCUMENT = "chroma:document"
VECTOR = "vector"
"""The name of a row's vector; float32 as bytes."""
ADD, UPDATE, UPSERT, DELETE = range(4)
"""The operations in the queue."""
_ROWS = """
SELECT e.embedding_id, m.key, m.string_value, m.int_value, m.float_value, m.bool_value
FROM embeddings e LEFT JOIN embedding_metadata m USING (id)
WHERE e.segment_id = ? ORDER BY e.id
"""
_QUEUED = """
SELECT id, operation, metadata FROM embeddings_queue WHERE topic = ? AND seq_id > ? ORDER BY seq_id
"""
_VECTORS = """
SELECT id, vector FROM embeddings_queue
WHERE topic = ? AND vector IS NOT NULL AND encoding = 'FLOAT32' ORDER BY seq_id
"""


def is_chroma(path: Path) -> bool:
    """Whether a folder is a Chroma database."""
    return (path / FILE).is_file()


class ChromaSource(CountedRows):
    """The entries of a collection: metadata, id and document."""

    kind: Kind = "chroma"

    def __init__(self, place: SourcePlace) -> None:
        """UsageError unless the place names a collection that exists, or there is only one."""
        self._file = place.path / FILE
        with open_read_only(self._file) as connection:
            found = connection.execute("SELECT name, id FROM collections ORDER BY name").fetchall()
            ids = dict(found)
            self.name = one_of([*ids], place.table, "collection")
            self.collection = str(ids[self.name])
            self._total = sum(1 for _ in self._entries(connection))

    def rows(self) -> Iterator[Item]:
        """Each entry, with its vector if that is in the queue."""
        self._done = 0
        with open_read_only(self._file) as connection:
            vectors = dict(connection.execute(_VECTORS, [topic_of(connection, self.collection)]))
            for entry, row in self._entries(connection):
                self._done += 1
                document = row.pop(DOCUMENT, None)
                fields = {"document": document} if document is not None else {}
                vector = {VECTOR: vectors[entry]} if entry in vectors else {}
                yield row | fields | vector | {"id": entry}

    def _entries(self, connection: sqlite3.Connection) -> Iterator[tuple[str, Fields]]:
        """Every entry in its state after the queue is applied."""
        segment = segment_of(connection, self.collection)
        queued = _Queued(connection, topic_of(connection, self.collection), segment)
        for entry, row in _stored(connection, segment):
            changed = queued.over(entry, row)
            if changed is not None:
                yield entry, changed
        yield from queued.new()


def segment_of(connection: sqlite3.Connection, collection: str) -> str:
    """The id of the segment with a collection's metadata; UsageError if it has none."""
    text = "SELECT id FROM segments WHERE collection = ? AND scope = 'METADATA'"
    found = connection.execute(text, [collection]).fetchone()
    if found is None:
        raise UsageError(f"the collection {collection} has no metadata")
    return str(found[0])


def topic_of(connection: sqlite3.Connection, collection: str) -> str:
    """The name of a collection in the queue."""
    text = "SELECT topic FROM embeddings_queue WHERE topic LIKE ? LIMIT 1"
    found = connection.execute(text, [f"%/{collection}"]).fetchone()
    return str(found[0]) if found else f"persistent://default/default/{collection}"


def last_queued(connection: sqlite3.Connection) -> int:
    """The highest known number of a queued operation."""
    text = "SELECT seq_id FROM max_seq_id UNION ALL SELECT max(seq_id) FROM embeddings_queue"
    return max(_whole(number) for (number,) in connection.execute(text))


def _whole(number: int | bytes | None) -> int:
    """A number of the queue; older versions of Chroma keep it as bytes."""
    return int.from_bytes(number, "big") if isinstance(number, bytes) else number or 0


def _stored(connection: sqlite3.Connection, segment: str) -> Iterator[tuple[str, Fields]]:
    entry: str | None = None
    row: Fields = {}
    for found, key, *values in connection.execute(_ROWS, [segment]):
        if found != entry:
            if entry is not None:
                yield entry, row
            entry, row = found, {}
        if key is not None:
            row[key] = _value(*values)
    if entry is not None:
        yield entry, row


def _value(text: str | None, whole: int | None, number: float | None, yes: int | None) -> Any:
    return (
        bool(yes)
        if yes is not None
        else next((value for value in (text, whole, number) if value is not None), None)
    )


class _Queued:
    """The queued operations that are not yet in the metadata."""

    def __init__(self, connection: sqlite3.Connection, topic: str, segment: str) -> None:
        text = "SELECT seq_id FROM max_seq_id WHERE segment_id = ?"
        [done] = connection.execute(text, [segment]).fetchone() or [0]
        self._of: dict[str, list[tuple[int, Fields]]] = {}
        for entry, operation, metadata in connection.execute(_QUEUED, [topic, _whole(done)]):
            fields = (operation, orjson.loads(metadata) if metadata else {})
            self._of.setdefault(entry, []).append(fields)

    def over(self, entry: str, row: Fields | None) -> Fields | None:
        """An entry after its queued operations; None if it is deleted or does not exist."""
        for operation, fields in self._of.pop(entry, ()):
            if operation == DELETE:
                row = None
            elif operation == ADD:
                row = fields if row is None else row
            elif operation == UPSERT or row is not None:
                row = {
                    key: value for key, value in ((row or {}) | fields).items() if value is not None
                }
        return row

    def new(self) -> Iterator[tuple[str, Fields]]:
        """Entries that are only in the queue."""
        for entry in [*self._of]:
            row = self.over(entry, None)
            if row is not None:
                yield entry, row
