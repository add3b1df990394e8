"""The judge's file: the answers that were paid for, and what each day has cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palimpsest.contracts.errors import StoreError, TransientError

FILE = "judge.sqlite"
"""Its name beside a store's log."""
BUSY_SECONDS = 30.0

_SETTINGS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL")
_ANSWERS = """CREATE TABLE IF NOT EXISTS answers (
    older BLOB, newer BLOB, prompt TEXT, model TEXT, answer TEXT NOT NULL, reason TEXT, text TEXT,
    PRIMARY KEY (older, newer, prompt, model)) WITHOUT ROWID"""
_OWED = """CREATE TABLE IF NOT EXISTS owed (
    older BLOB, newer BLOB, prompt TEXT, model TEXT, cost TEXT NOT NULL,
    PRIMARY KEY (older, newer, prompt, model)) WITHOUT ROWID"""
_SPENDING = """CREATE TABLE IF NOT EXISTS spending (
    day TEXT PRIMARY KEY, calls INTEGER, usd REAL) WITHOUT ROWID"""


@contextmanager
def telling(file: Path) -> Iterator[None]:
    """Say what a failure of SQLite means, and what to do about it."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise TransientError(f"another process keeps {file} locked: try again") from error
        raise StoreError(
            f"{file} cannot be used ({error}): it holds nothing but answers of the judge and what"
            " they cost; look at its disk, or delete it"
        ) from error


def connect(file: Path) -> sqlite3.Connection:
    """Open the file, made where there is none; several processes may.

    A killed process loses nothing of it. A power cut may lose the last answers: they are asked for
    again, and waiting for the disk after each would cost more.
    """
    with telling(file):
        connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            for statement in (*_SETTINGS, _ANSWERS, _OWED, _SPENDING):
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
    return connection
