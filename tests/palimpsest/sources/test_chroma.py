"""Queued operations are applied as Chroma applies them; the files are written by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.chroma import (
    ADD,
    DELETE,
    DOCUMENT,
    FILE,
    UPDATE,
    UPSERT,
    ChromaSource,
    last_queued,
    topic_of,
)
from palimpsest.sources.contract import SourcePlace

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
    """The entries of a collection with one entry, after these queued operations."""
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
    return list(ChromaSource(SourcePlace(folder)).rows())


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


def made(folder: Path, *statements: str) -> ChromaSource:
    """The collection `notes` of a folder, after these statements."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        connection.executescript(TABLES + "".join(f"{statement};" for statement in statements))
    return ChromaSource(SourcePlace(folder, "notes"))


ANOTHER = (
    "INSERT INTO collections VALUES ('d', 'books')",
    "INSERT INTO segments VALUES ('v', 'c', 'VECTOR'), ('t', 'd', 'METADATA')",
    "INSERT INTO embeddings VALUES (2, 't', 'other'), (3, 'v', 'none')",
    "INSERT INTO embedding_metadata VALUES (2, 'page', NULL, 9, NULL, NULL)",
    "INSERT INTO embeddings_queue VALUES (5, 0, 'x/x/d', 'more', NULL, NULL, NULL)",
)


def test_a_collection_has_its_own_entries_alone(tmp_path: Path) -> None:
    source = made(tmp_path, *ANOTHER)
    assert [*source.rows()] == [OLD]
    with pytest.raises(UsageError, match="name the collection with --table: there are books, no"):
        ChromaSource(SourcePlace(tmp_path))
    books = ChromaSource(SourcePlace(tmp_path, "books"))
    assert [*books.rows()] == [{"id": "other", "page": 9}, {"id": "more"}]


def test_every_value_of_an_entry_is_what_it_was(tmp_path: Path) -> None:
    """Also false and empty values; and an entry may have no metadata at all."""
    source = made(
        tmp_path,
        "INSERT INTO embeddings VALUES (2, 's', 'bare'), (3, 's', 'full')",
        "INSERT INTO embedding_metadata VALUES (3, 'text', '', NULL, NULL, NULL),"
        " (3, 'int', NULL, 0, NULL, NULL), (3, 'float', NULL, NULL, 0.0, NULL),"
        " (3, 'no', NULL, NULL, NULL, 0), (3, 'yes', NULL, NULL, NULL, 1)",
    )
    _, bare, full = source.rows()
    assert bare == {"id": "bare"}
    assert full == {"id": "full", "text": "", "int": 0, "float": 0.0, "no": False, "yes": True}
    assert [type(full[name]) for name in ("int", "float", "no")] == [int, float, bool]


def test_a_vector_comes_along_while_it_is_in_the_queue(tmp_path: Path) -> None:
    source = made(
        tmp_path,
        "INSERT INTO embeddings VALUES (2, 's', 'two')",
        "INSERT INTO embeddings_queue VALUES (1, 0, 'x/x/c', 'old', x'01', 'FLOAT32', NULL),"
        " (2, 1, 'x/x/c', 'old', x'02', 'FLOAT32', NULL),"
        " (3, 1, 'x/x/c', 'two', x'03', 'INT32', NULL),"
        " (4, 1, 'x/x/d', 'two', x'04', 'FLOAT32', NULL)",
    )
    assert [*source.rows()] == [OLD | {"vector": b"\x02"}, {"id": "two"}]


def test_an_entry_without_metadata_is_there_and_is_not_added_again(tmp_path: Path) -> None:
    source = made(
        tmp_path,
        "INSERT INTO embeddings VALUES (2, 's', 'bare')",
        "INSERT INTO embeddings_queue VALUES"
        """ (2, 0, 'x/x/c', 'bare', NULL, NULL, '{"page": 7}')""",
    )
    assert [*source.rows()] == [OLD, {"id": "bare"}]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            "INSERT INTO embeddings_queue VALUES (5, 0, 'x/x/c', 'a', NULL, NULL, '{')",
            "be read: un",
        ),
        ("DELETE FROM segments", "the collection c has no metadata"),
    ],
)
def test_a_damaged_collection_is_reported(damage: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        made(tmp_path, damage)


@pytest.mark.parametrize("done", ["9", "x'0000000000000009'"])
def test_the_last_number_is_found_whichever_way_it_is_kept(done: str, tmp_path: Path) -> None:
    """Older versions of Chroma keep the number as bytes."""
    made(
        tmp_path,
        f"INSERT INTO max_seq_id VALUES ('v', {done})",
        "INSERT INTO embeddings_queue VALUES (5, 3, 'x/x/c', 'old', NULL, NULL, NULL)",
    )
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert last_queued(connection) == 9


@pytest.mark.parametrize("done", ["1", "x'0000000000000001'"])
def test_what_was_worked_in_is_not_worked_in_again(done: str, tmp_path: Path) -> None:
    """Older versions of Chroma keep the number as bytes."""
    source = made(
        tmp_path,
        f"UPDATE max_seq_id SET seq_id = {done}",
        "INSERT INTO embeddings_queue VALUES (1, 3, 'x/x/c', 'old', NULL, NULL, NULL)",
        "INSERT INTO embeddings_queue VALUES (2, 1, 'x/x/c', 'old', NULL, NULL, '{\"page\": 7}')",
    )
    assert [*source.rows()] == [OLD | {"page": 7}]


def test_the_share_counts_what_is_there_once_the_queue_is_worked_in(tmp_path: Path) -> None:
    source = made(
        tmp_path, "INSERT INTO embeddings_queue VALUES (2, 0, 'x/x/c', 'new', NULL, NULL, NULL)"
    )
    for _ in range(2):
        assert [source.share for _ in source.rows()] == [0.5, 1.0]


def test_an_empty_collection_has_no_share(tmp_path: Path) -> None:
    source = made(tmp_path, "DELETE FROM embeddings", "DELETE FROM max_seq_id")
    assert ([*source.rows()], source.share) == ([], None)


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ((), 1),
        (("INSERT INTO embeddings_queue VALUES (7, 0, 'x/x/c', 'a', NULL, NULL, NULL)",), 7),
        (("UPDATE max_seq_id SET seq_id = 9",), 9),
        (("DELETE FROM max_seq_id",), 0),
    ],
)
def test_the_last_number_is_known_also_when_the_queue_is_empty(
    said: tuple[str, ...], last: int, tmp_path: Path
) -> None:
    made(tmp_path, *said)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert last_queued(connection) == last
        assert topic_of(connection, "z") == "persistent://default/default/z"
