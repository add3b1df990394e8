"""What waits in Chroma's queue is worked in as Chroma would; a file as it writes it, by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from palimpsest.sources.chroma import ADD, DELETE, DOCUMENT, FILE, UPDATE, UPSERT, ChromaSource
from palimpsest.sources.contract import Place

TABLES = """
CREATE TABLE collections (id TEXT, name TEXT);
CREATE TABLE segments (id TEXT, collection TEXT, scope TEXT);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT);
CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER,
                                 float_value REAL, bool_value INTEGER);
CREATE TABLE max_seq_id (segment_id TEXT, seq_id INTEGER);
CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, operation INTEGER, topic TEXT, id TEXT,
                               vector BLOB, encoding TEXT, metadata TEXT);
INSERT INTO collections VALUES ('c', 'notes');
INSERT INTO segments VALUES ('s', 'c', 'METADATA');
INSERT INTO embeddings VALUES (1, 's', 'old');
INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'Ada sings.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'page', NULL, 3, NULL, NULL);
INSERT INTO max_seq_id VALUES ('s', 1);
"""
OLD = {"id": "old", "document": "Ada sings.", "page": 3}


def rows(folder: Path, *queued: tuple[str, int, dict[str, Any] | None]) -> list[Any]:
    """The entries of a collection that has one, with this in its queue."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        connection.executescript(TABLES)
        connection.executemany(
            "INSERT INTO embeddings_queue (id, operation, metadata, topic) VALUES (?, ?, ?, ?)",
            [
                ("done", ADD, '{"page": 1}', "persistent://default/default/c"),
                *((one, what, json.dumps(said), "x/x/c") for one, what, said in queued),
            ],
        )
        connection.execute("UPDATE embeddings_queue SET topic = 'x/x/c'")
    return list(ChromaSource(Place(folder)).rows())


@pytest.mark.parametrize(
    ("queued", "found"),
    [
        ([], [OLD]),
        ([("old", ADD, {DOCUMENT: "Ada hums."})], [OLD]),
        ([("old", UPDATE, {DOCUMENT: "Ada hums."})], [OLD | {"document": "Ada hums."}]),
        ([("old", UPSERT, {"page": 4})], [OLD | {"page": 4}]),
        ([("old", UPDATE, {"page": None})], [{"id": "old", "document": "Ada sings."}]),
        ([("old", DELETE, None)], []),
        ([("old", DELETE, None), ("old", ADD, {"page": 5})], [{"id": "old", "page": 5}]),
        ([("new", ADD, {"page": 6}), ("new", ADD, {"page": 7})], [OLD, {"id": "new", "page": 6}]),
        ([("new", UPSERT, {"page": 6})], [OLD, {"id": "new", "page": 6}]),
        ([("new", UPDATE, {"page": 6})], [OLD]),
    ],
)
def test_what_waits_in_the_queue_is_worked_in(
    queued: list[tuple[str, int, dict[str, Any] | None]], found: list[Any], tmp_path: Path
) -> None:
    assert rows(tmp_path, *queued) == found
