"""A SQLite file that several processes read and write concurrently (docs/design.md, Two runtimes).

Write-ahead logging lets readers continue while one process writes; `synchronous=FULL` makes commits
durable. Memory-mapped reading stays off: a truncated file would kill the process instead of raising
an error.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, Self
from uuid import uuid4

from palimpsest.contracts.errors import DiskFullError, PalimpsestError, StoreError, TransientError

APPLICATION_ID = 0x50414C4D
"""Identifies our files in SQLite's header: PALM."""
SCHEMA_VERSION = 7
LETTERS_SINCE = 4
VERIFICATIONS_SINCE = 6
REQUESTS_SINCE = 7
BUSY_SECONDS = 30.0
PAGE_BYTES = 4096
"""Each event changes some page of the index of ids, so small pages mean less to write."""
LARGE_PAGE_BYTES = 16_384
"""The page size of a log that is hardly written to any longer. A small page wastes space, because
it does not hold two texts with vectors."""
CACHE_KIB = 16 * 1024
"""Four times as much did not make inserting into an index of 600,000 ids faster."""
CHECKPOINT_PAGES = 8192
"""Checkpoints copy 32 MB at once, so a page that many batches changed is written once."""

_LETTERS_SINCE_4 = (
    "ALTER TABLE dead_letters ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE dead_letters ADD COLUMN headers TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE dead_letters ADD COLUMN times INTEGER NOT NULL DEFAULT 1",
    "UPDATE dead_letters SET size = length(bytes)",
)
_SETTINGS = (
    "synchronous=FULL",
    f"cache_size=-{CACHE_KIB}",
    f"wal_autocheckpoint={CHECKPOINT_PAGES}",
    "cell_size_check=ON",
)

Row = tuple[Any, ...]
Inode = tuple[int, int]

_NO_ROOM_BESIDE = {sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP}
"""SQLite could not extend the file of shared memory that it keeps beside the log."""

_held: dict[Inode, list[int]] = defaultdict(list)
"""Open descriptors of files that this process has connections to. They are kept for the next read
of a file, and closed with its last connection.

Closing any descriptor of a file drops all locks of the process on it (fcntl(2), POSIX), including
SQLite's. Another process that closes the file would then believe that it is the last one, and
delete the write-ahead log that this process still writes to.
"""
_connections: Counter[Inode] = Counter()
_holding = Lock()


class NoStoreError(StoreError):
    """There is no file, or an empty one: a creation that failed can leave it."""


class DamagedError(StoreError):
    """SQLite found the file's structure broken."""


class Database:
    """A connection to the store's file; it belongs to the thread that opened it.

    A `shared` connection is used by several threads, which take turns.

    Disk errors are raised as StoreError, and a lock that others hold for 30 s as TransientError.
    Violating a table's constraints still raises sqlite3.IntegrityError, because that is a bug.

    `sealed`: the file is on a read-only disk, so it is read without writing files beside it.
    """

    MADE = "rwc"
    """SQLite's open mode for a file that may have to be created."""

    def __init__(
        self, path: Path, *, create: bool = False, read_only: bool = False, shared: bool = False
    ) -> None:
        self.path = path
        self._place = path.absolute()  # also if the process changes its directory
        self.sealed = path.exists() and _sealed(path)
        create = create and not self.sealed
        self._read_only = read_only or self.sealed
        mode = self.MADE if create else "ro" if self._read_only else "rw"
        immutable = "&immutable=1" if self.sealed else ""
        if create:
            # SQLite reports errors, and gives its other files this mode. An existing file is not
            # opened: closing it would drop the locks of other connections, see `_held`.
            with suppress(OSError):
                path.touch(0o600, exist_ok=False)
        with _database_errors(path):
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}{immutable}",
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=not shared,
                uri=True,
            )
        self._file = _hold(path)  # before its first statement, which takes the first lock
        try:
            for setting in _SETTINGS:
                self.execute(f"PRAGMA {setting}")
            if create and self._is_empty():
                self._make()
            self._check()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path, *, shared: bool = False) -> Self:
        """Open the file at `path`, creating it if necessary; its folder must exist.

        Any number of processes may do so concurrently; an interrupted creation is completed.
        """
        if cls.MADE == Database.MADE and not path.exists():
            _make_whole(path)
        return cls(path, create=True, shared=shared)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False, shared: bool = False) -> Self:
        """Open the existing file at `path`; raises StoreError if it is absent or not ours."""
        if not path.is_file():
            raise NoStoreError(f"there is no store at {path}")
        return cls(path, read_only=read_only, shared=shared)

    def close(self) -> None:
        """Close the file; the last process to close it leaves a single file."""
        self._connection.close()
        if self._file is not None:
            _release(self._file)
            self._file = None

    @contextmanager
    def raw(self) -> Iterator[BinaryIO]:
        """The raw file, without SQLite; committed pages may still be in its write-ahead log."""
        descriptor = _descriptor(self.path)
        try:
            with open(descriptor, "rb", closefd=False) as file:
                file.seek(0)
                yield file
        finally:
            _close_last(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all of the block's writes at its end, durably, or none of them if it raises.

        Other writers wait, so keep it short. Raises StoreError if the file is not in its place.
        """
        self.require_in_place()
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            # If even this fails, the next process that opens the file rolls back.
            with suppress(sqlite3.Error):
                self._connection.rollback()
            raise

    def require_in_place(self) -> None:
        """Raise StoreError unless `in_place`: a write would be lost, and an answer outdated."""
        if not self.in_place:
            raise StoreError(
                f"{self.path} is no longer the file that was opened: it was moved, deleted or"
                " replaced, so nothing was read or written. Open the store again; if this is a"
                " server, restart it"
            )

    @property
    def in_place(self) -> bool:
        """Whether the file is where it was opened: not moved, deleted or replaced."""
        if self._file is None:
            return True
        try:
            found = self._place.stat()
            return _inode(found) == self._file.inode or _is_file(self._place, self._file.descriptor)
        except OSError:
            return False

    @property
    def in_transaction(self) -> bool:
        """Whether a `transaction` is open."""
        return self._connection.in_transaction

    def require_transaction(self) -> None:
        """Raise RuntimeError outside a transaction: a write would not be part of its batch."""
        if not self.in_transaction:
            raise RuntimeError("this belongs inside a transaction")

    def execute(self, sql: str, parameters: Row = ()) -> sqlite3.Cursor:
        """Run one statement."""
        with _database_errors(self.path):
            return self._connection.execute(sql, parameters)

    def execute_many(self, sql: str, parameters: Iterable[Row]) -> None:
        """Run one statement for each row of parameters."""
        with _database_errors(self.path):
            self._connection.executemany(sql, parameters)

    def rows(self, sql: str, parameters: Row = ()) -> Iterator[Row]:
        """Yield the rows of a query, one at a time, so that rows before damage are read."""
        with _database_errors(self.path):
            yield from self._connection.execute(sql, parameters)

    def row(self, sql: str, parameters: Row = ()) -> Row | None:
        """Return the first row of a query, if there is one."""
        with _database_errors(self.path):
            row: Row | None = self._connection.execute(sql, parameters).fetchone()
            return row

    def number(self, sql: str, parameters: Row = ()) -> int:
        """Return the first value of a query, such as a count; 0 if it has none."""
        row = self.row(sql, parameters)
        return (row and row[0]) or 0

    def _is_empty(self) -> bool:
        return self.number("SELECT count(*) FROM sqlite_master") == 0

    def _make(self) -> None:
        self.execute(f"PRAGMA page_size={PAGE_BYTES}")
        self.execute("PRAGMA journal_mode=WAL")
        with self.transaction():
            if self._is_empty():
                for statement in _statements():
                    self.execute(statement)
                self.execute(f"PRAGMA application_id={APPLICATION_ID}")
                self.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _check(self) -> None:
        if self._is_empty():
            raise NoStoreError(f"there is no store at {self.path}: the file is empty")
        if self.number("PRAGMA application_id") != APPLICATION_ID:
            raise StoreError(f"{self.path} is a database of another program")
        version = self.number("PRAGMA user_version")
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer palimpsest (format {version},"
                f" this one knows {SCHEMA_VERSION}): install a newer version"
            )
        if version < SCHEMA_VERSION and not self._read_only:
            self._bring_up()

    def _bring_up(self) -> None:
        """Upgrade an older file; other processes that open it wait."""
        with self.transaction():
            version = self.number("PRAGMA user_version")
            if version < VERIFICATIONS_SINCE:
                self._make_table("verifications")
                self._upgrade()
            if version < REQUESTS_SINCE:
                self._make_table("requests")
                self._find_requests()
            for statement in _LETTERS_SINCE_4 if version < LETTERS_SINCE else ():
                self.execute(statement)
            self.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _make_table(self, name: str) -> None:
        """Create a table with its indexes, replacing an existing one."""
        self.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _statements():
            if name in statement:
                self.execute(statement)

    def _find_requests(self) -> None:
        """Fill the table of requests; called inside the transaction."""

    def _upgrade(self) -> None:
        """Fill the recreated tables from the log; called inside the transaction."""


def _inode(found: os.stat_result) -> Inode:
    return found.st_dev, found.st_ino


def _is_file(path: Path, descriptor: int) -> bool:
    """Whether a path is an open file, on a disk that numbers files anew at each look.

    No other file has its size, time of writing and time of change: a copy keeps the first two.
    While somebody writes, both are looked at again.
    """
    while True:
        before, found, after = os.fstat(descriptor), path.stat(), os.fstat(descriptor)
        if _state(before) == _state(after):
            return after.st_nlink > 0 and _state(found) == _state(after)


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class _OpenFile(NamedTuple):
    """The file of a connection, with a descriptor of it that is closed with the last connection."""

    inode: Inode
    descriptor: int


def _hold(path: Path) -> _OpenFile | None:
    """Note a new connection to a file; None if there is no file yet."""
    try:
        descriptor = _descriptor(path)
    except OSError:
        return None
    file = _OpenFile(_inode(os.fstat(descriptor)), descriptor)
    with _holding:
        _connections[file.inode] += 1
    return file


def _release(file: _OpenFile) -> None:
    inode = file.inode
    with _holding:
        _held[inode].append(file.descriptor)
        _connections[inode] -= 1
        if not _connections[inode]:
            del _connections[inode]
            for descriptor in _held.pop(inode, ()):
                os.close(descriptor)


def _descriptor(path: Path) -> int:
    """A descriptor of a file that nobody else is reading: one that is held, or a new one."""
    with _holding:
        held = _held.get(_inode(path.stat()))
        return held.pop() if held else os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _close_last(descriptor: int) -> None:
    """Close a descriptor, or hold it as long as this process has a connection to its file."""
    inode = _inode(os.fstat(descriptor))
    with _holding:
        if _connections[inode]:
            _held[inode].append(descriptor)
        else:
            os.close(descriptor)


def _make_whole(path: Path) -> None:
    """Create the file under another name, then link it, so that nobody opens a half-written one.

    If the disk has no links, or anything else fails, the file is created in place later.
    """
    beside = path.with_name(f"{path.name}.{uuid4().hex}.new")
    with suppress(OSError, PalimpsestError):
        try:
            Database(beside, create=True).close()
            os.link(beside, path)
        finally:
            for suffix in ("", "-wal", "-shm"):  # a full disk keeps SQLite from removing its own
                beside.with_name(beside.name + suffix).unlink(missing_ok=True)


def _sealed(path: Path) -> bool:
    """Whether no process can change the file: the disk is read-only and has no writer's journal.

    SQLite reads a database in WAL mode only with other files beside it, unless it is told that the
    file cannot change.
    """
    try:
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    except OSError:
        return False
    return bool(read_only) and not path.with_name(f"{path.name}-wal").exists()


def _statements() -> Iterator[str]:
    script = files("palimpsest.streams.log").joinpath("schema.sql").read_text(encoding="utf-8")
    lines = (line for line in script.splitlines() if not line.startswith("--"))
    return (part for part in "\n".join(lines).split(";") if part.strip())


@contextmanager
def _database_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as ours, with their meaning and advice."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as error:
        raise _meaning(error, path) from error


def _meaning(error: sqlite3.DatabaseError, path: Path) -> PalimpsestError:
    match error.sqlite_errorcode & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return TransientError(
                f"another process kept {path} locked for {BUSY_SECONDS:.0f} s: try again"
            )
        case sqlite3.SQLITE_FULL:
            return DiskFullError(
                f"the disk of {path} is full: the last batch was not written, all before it is"
                " intact; free some space and try again"
            )
        case sqlite3.SQLITE_IOERR if error.sqlite_errorcode in _NO_ROOM_BESIDE:
            return DiskFullError(
                f"the disk of {path} is full, and even reading it writes files beside it: free some"
                " space and try again; everything in it is intact"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return StoreError(
                f"{path} cannot be opened for writing ({error}): is the disk read-only, or the"
                " folder another user's? Even reading it writes files beside it"
            )
        case sqlite3.SQLITE_CORRUPT:
            return DamagedError(f"{path} is damaged ({error}): restore it from a copy")
        case sqlite3.SQLITE_NOTADB:
            return StoreError(f"{path} is not a Palimpsest log: it does not begin like one")
        case _:
            return StoreError(f"{path} cannot be used ({error}): look at its disk")


def repack(path: Path) -> None:
    """Rewrite a log in large pages, which makes it a quarter to a third smaller.

    It must not be open in any process.
    """
    with _database_errors(path), closing(sqlite3.connect(path, isolation_level=None)) as log:
        log.execute("PRAGMA journal_mode=DELETE")
        log.execute(f"PRAGMA page_size={LARGE_PAGE_BYTES}")
        log.execute("VACUUM")
        log.execute("PRAGMA journal_mode=WAL")
