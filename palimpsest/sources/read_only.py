"""Opens other programs' SQLite files without changing a byte."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from palimpsest.contracts.errors import UsageError

MAGIC = b"SQLite format 3\x00"
_WRITE_VERSION = 18
_WAL = 2


def is_sqlite(path: Path) -> bool:
    """Whether a file begins like a SQLite file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection. UsageError if the file is not SQLite, or is damaged.

    A file with changes beside it, in a write-ahead log or a journal, is copied first: SQLite would
    apply them.
    """
    if not is_sqlite(path):
        raise UsageError(f"{path} is not a SQLite file")
    try:
        with _settled(path) as (file, how), closing(_connect(file, how)) as connection:
            yield connection
    except UnicodeDecodeError:
        raise UsageError(f"{path} cannot be read: a text in it is not UTF-8") from None
    except (sqlite3.Error, orjson.JSONDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _connect(file: Path, how: str) -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?{how}"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    connection.text_factory = bytes.decode  # SQLite's own error would quote the text
    return connection


@contextmanager
def _settled(path: Path) -> Iterator[tuple[Path, str]]:
    beside = [path.with_name(path.name + end) for end in ("-wal", "-journal")]
    unsettled = [file for file in beside if file.is_file() and file.stat().st_size]
    if unsettled:
        with TemporaryDirectory(prefix="palimpsest-import-") as folder:
            for file in (path, *unsettled):
                shutil.copyfile(file, Path(folder, file.name))
            yield Path(folder, path.name), "mode=rw"
    else:
        with path.open("rb") as whole:
            head = whole.read(_WRITE_VERSION + 1)
        # To read a file in WAL mode, SQLite would create a write-ahead log.
        yield path, "immutable=1" if head[_WRITE_VERSION] == _WAL else "mode=ro"
