"""A history of mem0's, alone or beside its vectors; mem0 itself is tried in tests/mem0."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.sources.files import FileSource
from palimpsest.sources.mem0 import Mem0Source
from tests.cli.conftest import CommandLine
from tests.migration.conftest import brought

COLUMNS = "memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id"
LIFE = [
    ("tea", None, "Ada drinks tea", "ADD", "2026-03-01", None, 0, "chat"),
    ("car", None, "a blue car", "ADD", "2026-03-02", None, 0, None),
    ("boat", None, "the boat sings", "ADD", "2026-03-03", None, 0, None),
    ("tea", "Ada drinks tea", "Ada drinks mate", "UPDATE", "2026-03-01", "2026-03-04", 0, None),
    ("car", "a blue car", None, "DELETE", "2026-03-02", "2026-03-05", 1, None),
]


def history_of(folder: Path, columns: str = COLUMNS) -> Path:
    """A history as mem0 keeps it: an id and a role, too, which its tables have beside the words."""
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
        "1 memories are in the history alone, and not brought",
        "1 memories are not in the history",
    ]


def test_a_database_that_is_no_history_is_not_taken_for_one(tmp_path: Path) -> None:
    path = history_of(tmp_path, "memory_id, event")
    with pytest.raises(UsageError, match="is no history of mem0's"):
        Mem0Source(FileSource(path), path)
