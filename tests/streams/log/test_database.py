"""The store's file is opened so that what was committed is on the disk."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
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
    with Log.create(path) as made, Database.open(path) as opened, opened.sibling() as sibling:
        for one in (made, opened, sibling):
            assert one.row("PRAGMA synchronous") == (FULL,)
        assert made.row("PRAGMA journal_mode") == ("wal",)
