"""Copies of sources, format by format, without a store: their rows, and what is preserved."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.sources.contract import SourcePlace
from palimpsest.sources.copies import RowEdit, may_say, refuse_target, write_copy
from palimpsest.sources.file_copies import copy_file
from palimpsest.sources.mapping import FieldMapping
from palimpsest.streams.intake import MAX_KEPT_BYTES
from tests.palimpsest.sources.test_chroma import TABLES

MAPPING = FieldMapping({"text": ("text",), "id": ("id",)})


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.csv", b"id,text\r\n1,a\r\n2,b\r\n", b"id,text\r\n2,new\r\n"),
        ("a.csv", b"id,text\n1,a\n\n2,b", b"id,text\n2,new\n"),
        ("a.csv", b"\xef\xbb\xbftext;id\na;1\nb;2\n", b"\xef\xbb\xbftext;id\nnew;2\n"),
        (
            "a.csv",
            b'\xef\xbb\xbf"the\nid","text"\n1,a\n2,b\n3,c',
            b'\xef\xbb\xbf"the\nid","text"\n2,new\n3,c',
        ),
        ("a.tsv", b"text \tid\na\t1\n\xff\t2\n", b"text \tid\nnew\t2\n"),
        ("a.json", b'[{"text": "a"},\n {"text": "b", "n": 1}]', b'[\n{"text":"new","n":1}\n]\n'),
        ("a.jsonl", b'{"text": "a"}\n\n{"text": "b"}', b'{"text":"new"}\n'),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_keeps_its_form(
    name: str, before: bytes, after: bytes, packed: bool, tmp_path: Path
) -> None:
    """Its delimiter, its line ends and its compression; each time the same bytes."""
    path, to = tmp_path / name, tmp_path / "copy"
    path.write_bytes(gzip.compress(before) if packed else before)
    copy_file(path, to, {1}, {2: {"text": "new"}})
    copied = to.read_bytes()
    assert (gzip.decompress(copied) if packed else copied) == after
    copy_file(path, to, {1}, {2: {"text": "new"}})
    assert to.read_bytes() == copied
    assert b"copy" not in copied, "the header of gzip names the file that was being written"
    copy_file(path, to, {1, 2}, {})
    left = to.read_bytes()
    rest = gzip.decompress(left) if packed else left
    assert b"new" not in rest
    if name == "a.json":
        assert json.loads(rest) == []


@pytest.mark.parametrize("year", [2026, 9999])
def test_times_of_spark_stay_what_they_are(tmp_path: Path, year: int) -> None:
    path, to = tmp_path / "a.parquet", tmp_path / "copy.parquet"
    until = pa.array([f"{year}-12-31 00:00:00.000001"] * 2).cast(pa.timestamp("us"))
    table = pa.table({"text": ["a", "b"], "until": until, "n": [float("nan")] * 2})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    copy_file(path, to, {1}, {})
    read = pq.read_table(to, coerce_int96_timestamp_unit="us")
    assert read["until"].to_pylist() == until.to_pylist()[1:]
    kinds = [column.physical_type for column in pq.ParquetFile(to).schema]
    assert kinds == ["BYTE_ARRAY", "INT96", "DOUBLE"]


def test_nanoseconds_of_int96_stay(tmp_path: Path) -> None:
    path, to = tmp_path / "a.parquet", tmp_path / "copy.parquet"
    times = [1_700_000_000_123_456_789, -876_543_211, 0, 1]
    table = pa.table({"at": pa.array(times, pa.timestamp("ns"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    copy_file(path, to, (), {})
    assert pq.read_table(to).equals(table)


def test_a_row_that_is_too_long_to_be_read_whole_is_not_copied_in_part(tmp_path: Path) -> None:
    path, to = tmp_path / "a.jsonl", tmp_path / "copy.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "b", "image": "' + b"x" * MAX_KEPT_BYTES + b'"}\n')
    with pytest.raises(UsageError, match=r"a\.jsonl has a row of 16,777,216 bytes or more"):
        copy_file(path, to, {1}, {})


def test_a_row_of_a_later_batch_is_the_one_that_was_meant(tmp_path: Path) -> None:
    path, to = tmp_path / "a.parquet", tmp_path / "copy.parquet"
    rows = [{"id": n, "text": f"text {n}"} for n in range(1, 2_101)]
    schema = pa.schema({"id": pa.int16(), "text": pa.large_string()}, {"theirs": "kept"})
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    copy_file(path, to, {1, 1_000, 1_001, 2_100}, {2: {"text": "two"}, 2_001: {"text": "new"}})
    copy = pq.read_table(to)
    assert copy.schema == schema
    assert copy.schema.metadata == {b"theirs": b"kept"}
    changed = {2: "two", 2_001: "new"}
    assert copy.to_pylist() == [
        row | {"text": changed.get(n, row["text"])}
        for n, row in enumerate(rows, 1)
        if n not in {1, 1_000, 1_001, 2_100}
    ]


def test_more_rows_go_from_lancedb_than_one_statement_names(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": f"text {n}"} for n in range(1, 251)]
    lancedb.connect(tmp_path).create_table("notes", rows)
    edits = [RowEdit(n, rows[n - 1], None) for n in range(1, 250, 2)]
    edits.append(RowEdit(250, rows[249], {"text": "new"}))
    write_copy(
        "lancedb", SourcePlace(tmp_path / "notes.lance"), tmp_path / "copy.lance", edits, MAPPING
    )
    left = lancedb.connect(tmp_path).open_table("copy").to_arrow().to_pylist()
    found = {row["id"]: row["text"] for row in left}
    assert found == {str(n): f"text {n}" for n in range(2, 250, 2)} | {"250": "new"}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["copy.lance", "notes.lance"]


def test_a_database_of_lancedb_is_copied_whole(tmp_path: Path) -> None:
    theirs = lancedb.connect(tmp_path / "db")
    for name in ("a", "b"):
        theirs.create_table(name, [{"id": one, "text": one} for one in ("1", "2")])
    place = SourcePlace(tmp_path / "db", "b")
    write_copy("lancedb", place, tmp_path / "copy", [RowEdit(1, {"id": "1"}, None)], MAPPING)
    copy = lancedb.connect(tmp_path / "copy")
    assert {name: copy.open_table(name).count_rows() for name in ("a", "b")} == {"a": 2, "b": 1}


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def rows_of(path: Path, table: str = "notes") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f'SELECT * FROM "{table}"').fetchall()


TWO = "VALUES ('1', 'a'), ('1', 'b'), (NULL, 'c')"


@pytest.mark.parametrize(
    "columns", ["id, text", "id, text, rowid INTEGER", "id, text, rowid, _rowid_"]
)
def test_a_row_of_a_table_is_found_whatever_its_columns_are_called(
    columns: str, tmp_path: Path
) -> None:
    path = database(
        tmp_path / "a.db",
        f"CREATE TABLE notes ({columns})",
        f"INSERT INTO notes (id, text) {TWO}",
        "CREATE TABLE more (id)",
    )
    edits = [RowEdit(2, {"id": "1"}, None), RowEdit(3, {}, {"text": "new", "id": "4"})]
    write_copy("sqlite", SourcePlace(path, "notes"), tmp_path / "copy.db", edits, MAPPING)
    assert [row[:2] for row in rows_of(tmp_path / "copy.db")] == [("1", "a"), ("4", "new")]


def test_a_table_without_row_ids_is_told_apart_by_id_and_owner(tmp_path: Path) -> None:
    name = 'a ""b'
    path = database(
        tmp_path / "a.db",
        'CREATE TABLE "a ""b" (id, "us""er", text, PRIMARY KEY (id, "us""er")) WITHOUT ROWID',
        """INSERT INTO "a ""b" VALUES ('1', 'ada', 'a'), ('1', 'bob', 'b')""",
    )
    mapping = FieldMapping({"id": ("id",), "owner_id": ('us"er', "other"), "text": ("text",)})
    item = {"id": "1", 'us"er': "bob"}
    write_copy("sqlite", SourcePlace(path), tmp_path / "a", [RowEdit(2, item, None)], mapping)
    assert rows_of(tmp_path / "a", name) == [("1", "ada", "a")]
    write_copy(
        "sqlite", SourcePlace(path), tmp_path / "b", [RowEdit(2, item, {"text": "new"})], mapping
    )
    assert rows_of(tmp_path / "b", name)[1] == ("1", "bob", "new")


@pytest.mark.parametrize(
    ("query", "fields", "told"),
    [
        ("SELECT * FROM notes", {}, "no field is known to be the id: give --map THEIRS=id"),
        ("SELECT * FROM notes", {"id": ("id",)}, "row 1 cannot be identified: 2 rows of"),
    ],
)
def test_what_cannot_be_told_apart_is_not_written(
    query: str, fields: dict[str, tuple[str, ...]], told: str, tmp_path: Path
) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE notes (id, text)", f"INSERT INTO notes {TWO}")
    edits = [RowEdit(1, {"id": "1"}, None)]
    with pytest.raises(UsageError, match=told):
        write_copy(
            "sqlite", SourcePlace(path, "notes", query), tmp_path / "a", edits, FieldMapping(fields)
        )
    assert [*tmp_path.iterdir()] == [path]


def mem0s(folder: Path) -> SourcePlace:
    """mem0's folder: a history, and the vectors of a collection in Chroma beside it."""
    (vectors := folder / "vectors").mkdir(parents=True)
    database(vectors / "chroma.sqlite3", *filter(None, TABLES.replace("\n", " ").split(";")))
    (folder / ".lock").touch()
    columns = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted"
    database(folder / "history.db", f"CREATE TABLE history ({columns}, actor_id, role)")
    return SourcePlace(folder)


def test_a_copy_of_mem0_tells_chroma_and_the_history_what_went(tmp_path: Path) -> None:
    place = mem0s(tmp_path / "mem0")
    new = np.array([1, 2], "<f4").tobytes()
    edits = [
        RowEdit(1, {"id": "gone", "data": "Ada sings."}, None),
        RowEdit(2, {"id": "old"}, {"document": "Ada hums.", "vector": new}),
        RowEdit(3, {"id": "other"}, {"text": "Ada paints.", "vector": new}),
    ]
    for text, said in (("document", edits[:2]), ("text", edits[2:])):
        copy = tmp_path / text
        write_copy("chroma", place, copy, said, FieldMapping({"text": (text,)}))
        assert not (copy / ".lock").exists()
    asked = "SELECT seq_id, operation, topic, id, vector, encoding, metadata FROM embeddings_queue"
    with closing(sqlite3.connect(tmp_path / "document" / "vectors" / "chroma.sqlite3")) as chroma:
        topic = "persistent://default/default/c"
        assert chroma.execute(asked).fetchall() == [
            (2, 3, topic, "gone", None, None, None),
            (3, 1, topic, "old", new, "FLOAT32", '{"chroma:document":"Ada hums."}'),
        ]
    with closing(sqlite3.connect(tmp_path / "text" / "vectors" / "chroma.sqlite3")) as chroma:
        assert chroma.execute(asked).fetchone()[-1] == '{"text":"Ada paints."}'
    assert rows_of(tmp_path / "text" / "history.db", "history") == []
    [(_, *deleted)] = rows_of(tmp_path / "document" / "history.db", "history")
    assert deleted[:4] == ["gone", "Ada sings.", None, "DELETE"]
    assert deleted[4] == deleted[5]
    assert datetime.now(UTC) - datetime.fromisoformat(deleted[4]) < timedelta(minutes=5)
    assert deleted[6:] == [1, None, None]
    assert rows_of(place.path / "history.db", "history") == []


def test_a_history_elsewhere_is_only_read(tmp_path: Path) -> None:
    place = mem0s(tmp_path / "mem0")
    (place.path / "history.db").rename(tmp_path / "history.db")
    named = SourcePlace(place.path / "vectors", history=tmp_path / "history.db")
    write_copy("chroma", named, tmp_path / "copy", [RowEdit(1, {"id": "old"}, None)], MAPPING)
    assert rows_of(tmp_path / "history.db", "history") == []


def test_what_an_earlier_copy_left_half_is_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    (tmp_path / "b.jsonl.part").write_text("half")
    (tmp_path / "c.jsonl.part").mkdir()
    for to in (tmp_path / "b.jsonl", tmp_path / "c.jsonl"):
        write_copy("file", SourcePlace(path), to, [], MAPPING)
        assert to.read_bytes() == path.read_bytes()
    assert len([*tmp_path.iterdir()]) == 3


def test_a_history_has_no_memories_to_copy(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.touch()
    with pytest.raises(UsageError, match="has no memories of its own to copy"):
        write_copy("mem0-history", SourcePlace(path), tmp_path / "copy", [], MAPPING)


def test_a_target_can_be_made_and_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("a.jsonl", "link"):
        with pytest.raises(RefusedError, match="nothing is overwritten"):
            refuse_target(SourcePlace(path), tmp_path / name)
    with pytest.raises(UsageError, match="there is no folder"):
        refuse_target(SourcePlace(path), tmp_path / "none" / "b.jsonl")
    (folder := tmp_path / "notes").mkdir()
    (tmp_path / "another name").symlink_to(folder)
    with pytest.raises(UsageError, match="is inside the source"):
        refuse_target(SourcePlace(folder), tmp_path / "another name" / "copy")


@pytest.mark.parametrize(
    ("kind", "fields", "left_out", "embeds", "may"),
    [
        ("file", {"text": ("t",)}, (), False, True),
        ("file", {"text": ("t",), "vector": ("v",)}, (), False, False),
        ("file", {"text": ("t",), "vector": ("v",)}, (), True, True),
        ("file", {"text": ("t",)}, ("w",), True, False),
        ("file", {}, (), True, False),
        ("chroma", {"text": ("t",)}, (), False, False),
        ("chroma", {"text": ("t",)}, (), True, True),
        ("qdrant", {"text": ("t",)}, (), True, False),
    ],
)
def test_a_text_changes_where_all_that_hangs_on_it_can_change(
    kind: Any, fields: dict[str, tuple[str, ...]], left_out: Sequence[str], embeds: bool, may: bool
) -> None:
    assert may_say(kind, FieldMapping(fields, None, tuple(left_out)), embeds=embeds) is may
