"""A thousand memories from any kind of store are imported in full; the source is unchanged."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.contract import SourcePlace, one_of
from palimpsest.sources.detect import inside, open_source
from palimpsest.sources.lance import BATCH
from palimpsest.sources.read_only import is_sqlite, open_read_only
from tests.long import long_but
from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.sources.conftest import COUNT, OWNERS, REPEATED, brought, digests
from tests.stub_engine import vector_of

Rows = list[dict[str, Any]]
SELECT = "SELECT memory_id, content, user_id, run_id, created_at, confidence, colour FROM notes"


def jsonl(folder: Path, rows: Rows) -> Path:
    path = folder / "export.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def array(folder: Path, rows: Rows) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(rows, indent=1))
    return path


def table(folder: Path, rows: Rows) -> Path:
    path = folder / "export.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def parquet(folder: Path, rows: Rows) -> Path:
    path = folder / "export.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def sqlite(folder: Path, rows: Rows) -> Path:
    """A file as an application leaves it: with a write-ahead log, and not open anywhere."""
    path = folder / "app.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute(
            "CREATE TABLE notes (memory_id PRIMARY KEY, content, user_id, run_id, created_at,"
            " confidence REAL, colour, embedding BLOB)"
        )
        connection.executemany(
            "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(*row.values(), vector_of(row["content"]).astype("<f4").tobytes()) for row in rows],
        )
        connection.commit()
    return path


def lance(folder: Path, rows: Rows) -> Path:
    vectored = [row | {"vector": vector_of(row["content"]).astype("float32")} for row in rows]
    lancedb.connect(folder / "lance").create_table("notes", vectored)
    return folder / "lance" / "notes.lance"


FORMS = [jsonl, array, table, parquet, sqlite, lance]


@pytest.mark.parametrize("form", long_but(jsonl, parquet, sqlite, of=FORMS))
def test_a_thousand_come_in_whole(
    form: Callable[[Path, Rows], Path], palimpsest: CommandLine, rows: Rows, tmp_path: Path
) -> None:
    path = form(tmp_path, rows)
    before = digests(path)
    foreseen = palimpsest.json("import", str(path), "--dry-run")
    assert not palimpsest.store.exists()
    summary = palimpsest.json("import", str(path), "--yes")
    assert summary["decisions"] == {"stored": COUNT - REPEATED, "hash_exact": REPEATED}
    assert digests(path) == before
    assert foreseen["rows"] == summary["rows"] == COUNT
    assert foreseen["owners"] == OWNERS

    found = {row["producer_id"]: row for row in brought(palimpsest)}
    assert len(found) == COUNT
    for row in rows:
        candidate = found[row["memory_id"]]
        assert (candidate["text"], candidate["owner_id"]) == (row["content"], row["user_id"])
        assert candidate["session_id"] == row["run_id"]
        assert candidate["confidence"] == row["confidence"]
        assert candidate["occurred_at"] == row["created_at"].removesuffix("+00:00")
        assert json.loads(candidate["metadata"]) == {"colour": "red"}


@pytest.mark.parametrize("form", FORMS)
def test_twice_doubles_nothing(
    form: Callable[[Path, Rows], Path], palimpsest: CommandLine, rows: Rows, tmp_path: Path
) -> None:
    path = form(tmp_path, rows[:20])
    first = palimpsest.json("import", str(path), "--yes")
    again = palimpsest.json("import", str(path), "--yes")
    assert (first["known"], again["known"], again["decisions"]) == (0, 20, {})


def test_a_query_gives_the_rows(palimpsest: CommandLine, rows: Rows, tmp_path: Path) -> None:
    path = sqlite(tmp_path, rows[:50])
    before = digests(path)
    query = f"{SELECT} WHERE user_id = 'owner-3';"
    summary = palimpsest.json("import", str(path), "--query", query, "--yes")
    assert summary["rows"] == sum(row["user_id"] == "owner-3" for row in rows[:50]) > 3
    assert digests(path) == before
    assert {one["owner_id"] for one in brought(palimpsest)} == {"owner-3"}


def test_changes_that_are_not_in_the_file_yet_count(
    palimpsest: CommandLine, rows: Rows, tmp_path: Path
) -> None:
    path = sqlite(tmp_path, rows[:10])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("UPDATE notes SET content = 'Ada moved to Lyon.' WHERE memory_id = 'm3'")
        writer.commit()
        before = digests(tmp_path)
        assert any(name.endswith("-wal") for name in before)
        palimpsest.json("import", str(path), "--yes")
        assert {
            name: digest for name, digest in digests(tmp_path).items() if name in before
        } == before
    assert "Ada moved to Lyon." in {one["text"] for one in brought(palimpsest)}


def test_nothing_is_made_beside_a_database(
    palimpsest: CommandLine, rows: Rows, tmp_path: Path
) -> None:
    """Not even briefly, as SQLite would do to read a file with a write-ahead log."""
    (folder := tmp_path / "theirs").mkdir()
    path = sqlite(folder, rows[:10])
    before = folder.stat().st_mtime_ns
    palimpsest.json("import", str(path), "--yes")
    assert folder.stat().st_mtime_ns == before


def test_a_database_of_several_tables_asks_which(
    palimpsest: CommandLine, rows: Rows, tmp_path: Path
) -> None:
    path = sqlite(tmp_path, rows[:10])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE others (content)")
    ran = palimpsest("import", str(path), "--dry-run")
    assert ran.status == 2
    assert "name the table with --table: there are notes, others" in ran.err
    assert palimpsest.json("import", str(path), "--table", "notes", "--dry-run")["rows"] == 10


def test_a_folder_of_lancedb_has_its_only_table(
    palimpsest: CommandLine, rows: Rows, tmp_path: Path
) -> None:
    path = lance(tmp_path, rows[:10])
    assert palimpsest.json("import", str(path.parent), "--dry-run")["source"] == "notes"


@pytest.mark.parametrize(
    ("make", "words", "told"),
    [
        (lambda path: None, (), "there is no "),
        (lambda path: path.mkdir(), (), "a folder of an unknown kind"),
        (lambda path: path.write_text("{}"), ("--table", "x"), "is not a database"),
        (lambda path: path.mkdir(), ("--query", "SELECT 1"), "--query is for a SQLite file"),
    ],
)
def test_what_is_no_source_is_reported(
    make: Callable[[Path], Any],
    words: tuple[str, ...],
    told: str,
    palimpsest: CommandLine,
    tmp_path: Path,
) -> None:
    path = tmp_path / "source"
    make(path)
    ran = palimpsest("import", str(path), "--yes", *words)
    assert ran.status == 2
    assert told in ran.err
    assert not palimpsest.store.exists()


def test_a_query_that_would_write_is_refused(
    palimpsest: CommandLine, rows: Rows, tmp_path: Path
) -> None:
    path = sqlite(tmp_path, rows[:10])
    before = digests(path)
    ran = palimpsest("import", str(path), "--yes", "--query", "DELETE FROM notes RETURNING *")
    assert ran.status == 2
    assert digests(path) == before


def test_rows_that_cannot_be_read_are_dead_letters(palimpsest: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    good = {"id": "1", "user_id": "ada", "content": "Ada sings."}
    path.write_text(
        "\n".join([json.dumps(good), "no JSON", json.dumps(good | {"id": 2, "content": ""})])
    )
    foreseen = palimpsest.json("import", str(path), "--dry-run")
    assert [(row["row"], row["reason"]) for row in foreseen["invalid_rows"]] == [
        (2, "not_json"),
        (3, "field"),
    ]
    summary = palimpsest.json("import", str(path), "--yes", status=1)
    assert (summary["invalid"], summary["decisions"]) == (2, {"stored": 1})
    assert len(palimpsest.json("dead-letters", "list")) == 2


# -- one by one ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "wanted", "told"),
    [
        (["a", "b"], None, "name the table with --table: there are a, b"),
        (["a"], "x", "there is no table x: there are a"),
        ([], None, "the source has no table"),
        ([], "x", "the source has no table"),
    ],
)
def test_what_is_open_is_asked_for(names: list[str], wanted: str | None, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        one_of(names, wanted, "table")
    assert str(refused.value) == told


def test_the_only_one_needs_no_name_and_one_of_many_can_be_named() -> None:
    assert (one_of(["a"], None, "table"), one_of(["a", "b"], "b", "table")) == ("a", "b")


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_a_view_is_a_table_and_what_is_null_is_left_out(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db",
        'CREATE TABLE "no ""tes" (id INTEGER PRIMARY KEY AUTOINCREMENT, text, page)',
        """INSERT INTO "no ""tes" (text, page) VALUES ('a', 0), ('', NULL)""",
        'CREATE VIEW shown AS SELECT text FROM "no ""tes"',
    )
    with pytest.raises(UsageError, match='there are no "tes, shown'):
        open_source(SourcePlace(path))
    source = open_source(SourcePlace(path, 'no "tes'))
    assert source.name == 'a.db:no "tes'
    assert source.share == 0
    for _ in range(2):
        assert [*source.rows()] == [{"id": 1, "text": "a", "page": 0}, {"id": 2, "text": ""}]
        assert source.share == 1
    assert [*open_source(SourcePlace(path, "shown")).rows()] == [{"text": "a"}, {"text": ""}]


@pytest.mark.parametrize("column", ["text", "CAST(x'74e9' AS TEXT)"])
def test_a_text_that_is_not_utf_8_is_reported_and_not_quoted(column: str, tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db",
        "CREATE TABLE notes (text)",
        "INSERT INTO notes VALUES (CAST(x'6361666520e9' AS TEXT))",
    )
    source = open_source(SourcePlace(path, query=f"SELECT {column} FROM notes"))
    with pytest.raises(UsageError, match=r"a\.db .*: a text in it is not UTF-8") as refused:
        [*source.rows()]
    assert refused.value.__cause__ is None


def test_a_query_may_end_as_one_does_and_says_where_it_fails(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE notes (text)", "CREATE TABLE more (text)")
    for end in (" ; \n", ";\r\n", " -- all of them"):
        source = open_source(SourcePlace(path, query=f"SELECT * FROM notes{end}"))
        assert ([*source.rows()], source.name, source.share) == ([], "a.db", None)
    with pytest.raises(UsageError, match="the query fails: no such table: none"):
        open_source(SourcePlace(path, query="SELECT * FROM none"))


@pytest.mark.parametrize("query", ["", " ", ";\n"])
def test_a_query_without_words_is_none(tmp_path: Path, rows: Rows, query: str) -> None:
    source = open_source(SourcePlace(sqlite(tmp_path, rows), query=query))
    assert source.name.endswith(":notes")
    assert len([*source.rows()]) == len(rows)


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_what_is_written_beside_a_database_is_not_worked_in_there(end: str, tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE notes (text)")
    beside = tmp_path / f"a.db{end}"
    for content in (b"", b"left by somebody"):
        beside.write_bytes(content)
        before = digests(tmp_path)
        with open_read_only(path) as connection:
            assert connection.execute("SELECT count(*) FROM notes").fetchone() == (0,)
        assert digests(tmp_path) == before


def test_a_database_is_read_alone(tmp_path: Path) -> None:
    path = database(tmp_path / "a b?#.db", "CREATE TABLE notes (text)")
    with (
        pytest.raises(UsageError, match=r"cannot be read: .*readonly"),
        open_read_only(path) as connection,
    ):
        connection.execute("DROP TABLE notes")
    (damaged := tmp_path / "b.db").write_bytes(path.read_bytes()[:100] + b"x" * 5_000)
    with (
        pytest.raises(UsageError, match=r"b\.db cannot be read"),
        open_read_only(damaged) as connection,
    ):
        connection.execute("SELECT * FROM notes")
    (other := tmp_path / "c.db").write_bytes(b"SQLite format 2")
    assert [is_sqlite(one) for one in (path, other, tmp_path)] == [True, False, False]
    with pytest.raises(UsageError, match="is not a SQLite file"), open_read_only(other):
        pass


def chroma(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "chroma.sqlite3").touch()
    return folder


def test_mem0s_folder_has_its_vectors_inside(tmp_path: Path) -> None:
    place = SourcePlace(tmp_path, "notes")
    assert inside(place) == place
    vectors = chroma(tmp_path / "vectors")
    assert inside(place) == place, "it has no history"
    (history := tmp_path / "history.db").touch()
    assert inside(place) == SourcePlace(vectors, "notes", history=history)
    elsewhere = SourcePlace(tmp_path, history=tmp_path / "another.db")
    assert inside(elsewhere) == SourcePlace(vectors, history=elsewhere.history)
    (tmp_path / "empty").mkdir()
    assert inside(place).path == vectors
    chroma(tmp_path / "more")
    assert inside(place) == place, "nobody knows which"


def test_vectors_beside_a_history_are_the_folders_own(tmp_path: Path) -> None:
    place = SourcePlace(chroma(tmp_path / "mem0"))
    (place.path / "history.db").touch()
    chroma(place.path / "other")
    assert inside(place) == place


def test_a_file_that_can_be_read_once_is_refused(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "pipe")
    with pytest.raises(UsageError, match="is not a file that can be read twice"):
        open_source(SourcePlace(path))


def test_a_file_is_read_from_its_start_each_time(rows: Rows, tmp_path: Path) -> None:
    source = open_source(SourcePlace(jsonl(tmp_path, rows[:3])))
    for _ in range(2):
        assert [*source.rows()] == rows[:3]
        assert source.share == 1.0


def test_lancedb_has_vectors_as_arrays_and_leaves_out_what_is_null(tmp_path: Path) -> None:
    lists = pa.list_(pa.float32(), 2)
    schema = pa.schema({"id": pa.int64(), "full": lists, "some": lists, "text": pa.string()})
    data = [
        {"id": 1, "full": [1, 2], "some": [5, 6], "text": "a"},
        {"id": 2, "full": [3, 4], "some": None, "text": None},
    ]
    lancedb.connect(tmp_path).create_table("b", pa.Table.from_pylist(data, schema))
    lancedb.connect(tmp_path).create_table("a", [{"id": 1}])
    with pytest.raises(UsageError, match="there are a, b"):
        open_source(SourcePlace(tmp_path))
    source = open_source(SourcePlace(tmp_path, "b"))
    assert source.share == 0
    for _ in range(2):
        found = [
            {name: [*one] if name in ("full", "some") else one for name, one in row.items()}
            for row in source.rows()
            if isinstance(row, dict)
        ]
        assert found == [
            {"id": 1, "full": [1, 2], "some": [5, 6], "text": "a"},
            {"id": 2, "full": [3, 4]},
        ]
        assert source.share == 1
    [first, _] = source.rows()
    assert isinstance(first, dict)
    assert isinstance(first["full"], np.ndarray), "an array needs a fraction of a list's memory"


def test_lancedb_gives_all_rows_however_many_batches_they_are(tmp_path: Path) -> None:
    wanted = [*range(2 * BATCH + 1)]
    lancedb.connect(tmp_path).create_table("notes", pa.table({"id": wanted}))
    source = open_source(SourcePlace(tmp_path))
    assert [row["id"] for row in source.rows() if isinstance(row, dict)] == wanted
    assert source.share == 1


def test_a_table_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lancedb.connect(tmp_path).create_table("notes", [{"text": "Ada has a boat"}])
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(UsageError, match=r"pip install 'palimpsest-memory\[lancedb\]'"):
        open_source(SourcePlace(tmp_path / "notes.lance"))
