"""The store's file is opened so that what was committed is on the disk."""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.streams.log.database import Database
from palimpsest.streams.log.log import Log

FULL = 2


class Lax(sqlite3.Connection):
    """As some systems build SQLite: without being told, it syncs at checkpoints alone."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute("PRAGMA synchronous=NORMAL")


def test_what_is_committed_is_synced_whatever_the_default_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Lax))
    path = tmp_path / "log.sqlite"
    with Log.create(path) as made, Database.open(path) as opened:
        for one in (made, opened):
            assert one.row("PRAGMA synchronous") == (FULL,)
        assert made.row("PRAGMA journal_mode") == ("wal",)


def test_a_log_that_is_made_is_one_file(tmp_path: Path) -> None:
    """Beside it are SQLite's own alone, while it is open."""
    path = tmp_path / "log.sqlite"
    with Log.create(path):
        names = {one.name for one in tmp_path.iterdir()}
        assert names <= {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    assert [*tmp_path.iterdir()] == [path]


def test_on_a_read_only_disk_nothing_changes_unless_a_writer_left_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.sqlite"
    Log.create(path).close()
    read_only = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", lambda _path: read_only)
    with Log.open(path) as log:
        assert log.sealed
    path.with_name(f"{path.name}-wal").touch()
    with Log.open(path) as log:
        assert not log.sealed
