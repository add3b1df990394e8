"""A mem0 history, alone or beside its vectors; for mem0 itself see tests/palimpsest/mem0."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.contract import SourcePlace
from palimpsest.sources.detect import open_source
from palimpsest.sources.files import FileSource
from palimpsest.sources.mem0 import HistorySource, Mem0Source
from tests.palimpsest.cli.conftest import CommandLine
from tests.palimpsest.sources.conftest import brought

COLUMNS = "memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id"
NOBODY = None, None
LIFE = [
    ("tea", None, "Ada drinks tea", "ADD", "2026-03-01", None, 0, "chat"),
    ("car", None, "a blue car", "ADD", "2026-03-02", None, 0, None),
    ("boat", None, "the boat sings", "ADD", "2026-03-03", None, 0, None),
    ("tea", "Ada drinks tea", "Ada drinks mate", "UPDATE", "2026-03-01", "2026-03-04", 0, None),
    ("car", "a blue car", None, "DELETE", "2026-03-02", "2026-03-05", 1, None),
]


def history_of(folder: Path, columns: str = COLUMNS) -> Path:
    """A history in mem0's form, with an id and a role, which its tables also have."""
    path = folder / "history.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE history (id TEXT PRIMARY KEY, {columns}, role)")
        if columns == COLUMNS:
            marks = ", ".join("?" * len(LIFE[0]))
            connection.executemany(f"INSERT INTO history ({COLUMNS}) VALUES ({marks})", LIFE)
        connection.commit()
    return path


def test_a_history_alone_brings_the_last_words_of_what_was_not_deleted(
    palimpsest: CommandLine, tmp_path: Path
) -> None:
    path = history_of(tmp_path)
    assert palimpsest.json("import", str(path), "--owner", "ada", "--yes")["rows"] == 2
    found = [
        (one["producer_id"], one["text"], one["occurred_at"][:10]) for one in brought(palimpsest)
    ]
    assert found == [
        ("boat", "the boat sings", "2026-03-03"),
        ("tea", "Ada drinks mate", "2026-03-01"),
    ]


def test_what_vectors_lack_is_from_the_history(tmp_path: Path) -> None:
    rows = [{"id": "tea", "memory": "Ada drinks mate"}, {"id": "new", "role": "user"}]
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(rows))
    source = Mem0Source(FileSource(file), history_of(tmp_path))
    assert [*source.rows()] == [
        {
            "id": "tea",
            "memory": "Ada drinks mate",
            "created_at": "2026-03-01",
            "updated_at": "2026-03-04",
            "actor_id": "chat",
        },
        {"id": "new", "role": "user"},
    ]
    assert source.remarks == [
        "1 memory, only in the history, not imported",
        "1 memory, not in the history",
    ]


def test_a_database_that_is_no_history_is_not_taken_for_one(tmp_path: Path) -> None:
    path = history_of(tmp_path, "memory_id, event")
    with pytest.raises(UsageError, match="is not a mem0 history"):
        Mem0Source(FileSource(path), path)


def test_a_table_or_a_query_of_a_history_is_read_as_that(tmp_path: Path) -> None:
    path = history_of(tmp_path)
    assert open_source(SourcePlace(path)).kind == "mem0-history"
    whole = open_source(SourcePlace(path, "history"))
    assert (whole.kind, len([*whole.rows()])) == ("sqlite", len(LIFE))
    some = open_source(SourcePlace(path, query="SELECT * FROM history WHERE is_deleted"))
    assert (some.kind, len([*some.rows()])) == ("sqlite", 1)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        pytest.param(
            [("a", "one", "ADD", "2026-01-01", None, 0, None, "user")],
            {"a": ("one", "2026-01-01", "2026-01-01", None, "user")},
            id="never updated",
        ),
        pytest.param(
            [
                ("a", "two", "UPDATE", None, "2026-02-01", 0, "bob", None),
                ("a", "one", "ADD", "2026-01-01", None, 0, "ada", "user"),
            ],
            {"a": ("two", "2026-01-01", "2026-02-01", "bob", "user")},
            id="by time",
        ),
        pytest.param(
            [
                ("a", "one", "ADD", "2026-01-01", None, 0, "ada", None),
                ("a", "two", "UPDATE", "2026-03-01", "2026-01-01", 0, None, None),
            ],
            {"a": ("two", "2026-01-01", "2026-01-01", "ada", None)},
            id="of one moment the later row",
        ),
        pytest.param(
            [
                ("a", "two", "UPDATE", None, "2026-03-08T03:00:00-07:00", 0, None, None),
                ("a", "one", "ADD", "2026-03-08T09:59:59.75+00:00", None, 0, None, None),
                ("b", "two", "UPDATE", None, "2026-01-01T00:00:00.5", 0, None, None),
                ("b", "one", "ADD", "2026-01-01T00:00:00.25Z", None, 0, None, None),
                ("c", "two", "UPDATE", None, "2026-01-01T00:00:00.500001", 0, None, None),
                ("c", "one", "ADD", "2026-01-01 00:00:00", None, 0, None, None),
            ],
            {
                "a": ("two", "2026-03-08T09:59:59.75+00:00", "2026-03-08T03:00:00-07:00", *NOBODY),
                "b": ("two", "2026-01-01T00:00:00.25Z", "2026-01-01T00:00:00.5", *NOBODY),
                "c": ("two", "2026-01-01 00:00:00", "2026-01-01T00:00:00.500001", *NOBODY),
            },
            id="by time, however it is written",
        ),
        pytest.param([("a", None, "DELETE", "2026-01-01", None, 0, None, None)], {}, id="event"),
        pytest.param([("a", "one", "ADD", "2026-01-01", None, 1, None, None)], {}, id="mark"),
        pytest.param(
            [
                ("a", "one", "ADD", "2026-01-01", None, 0, None, None),
                ("a", None, "DELETE", "2026-01-02", None, 1, None, None),
                ("a", "two", "ADD", "2026-01-03", None, 0, None, None),
            ],
            {"a": ("two", "2026-01-01", "2026-01-03", None, None)},
            id="again",
        ),
    ],
)
def test_the_last_word_of_a_history_counts(
    rows: list[tuple[object, ...]], found: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    path = history_of(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM history")
        names = "memory_id, new_memory, event, created_at, updated_at, is_deleted, actor_id, role"
        connection.executemany(
            f"INSERT INTO history ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows
        )
    ours = ("memory", "created_at", "updated_at", "actor_id", "role")
    said = {row["id"]: tuple(row.get(name) for name in ours) for row in _objects(path)}
    assert said == found


def _objects(path: Path) -> list[dict[str, object]]:
    return [row for row in HistorySource(path).rows() if isinstance(row, dict)]


def test_a_source_of_mem0_says_nothing_where_nothing_is_missing(tmp_path: Path) -> None:
    """Deleted memories are missing on purpose."""
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps([{"id": "tea", "updated_at": "2027"}, {"id": "boat"}]))
    source = Mem0Source(FileSource(file), history_of(tmp_path))
    tea, _ = source.rows()
    assert isinstance(tea, dict)
    assert tea["updated_at"] == "2027", "the vectors say it themselves"
    assert source.remarks == []
    assert (source.name, source.kind, source.share) == ("vectors.json", "file", 1.0)
