"""The judge's file: answers that were paid for, and the cost of each day.

It can be deleted at any time. Answers that are needed again are then requested again, and the day's
budget starts from zero.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from palimpsest.contracts.errors import PalimpsestError, StoreError, TransientError
from palimpsest.streams.judge.models import NOTHING, Cost
from palimpsest.streams.judge.pairs import JudgeAnswer
from palimpsest.streams.judge.settings import ServiceSettings

FILE = "judge.sqlite"
"""The file's name, beside a store's log."""
FIRST_FILE = "judge-first.sqlite"
"""The name of the first judge's file, if there are two."""
BUSY_SECONDS = 30.0
LEASE_SECONDS = 10.0
"""How long a lease keeps other processes from requesting the same answer, unless it is renewed;
after a crash they wait no longer than this."""
KEPT_SECONDS = 24 * 60 * 60.0
"""How long an answer about a part of a conversation is kept for the call to be repeated."""
SPENT = "the budget of this day is spent"
"""The reason of an `unavailable` verdict if the budget does not allow the request."""

_SETTINGS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA secure_delete=ON",  # of parts of conversations, whose memories may be forgotten
)
_ANSWERS = """CREATE TABLE IF NOT EXISTS answers (
    older BLOB, newer BLOB, prompt TEXT, model TEXT, answer TEXT NOT NULL, reason TEXT, text TEXT,
    probability REAL, answered_by TEXT,
    PRIMARY KEY (older, newer, prompt, model)) WITHOUT ROWID"""
_ADDED = {"probability": "REAL", "answered_by": "TEXT"}
"""Columns that a file of an earlier version lacks."""
_OWED = """CREATE TABLE IF NOT EXISTS owed (
    older BLOB, newer BLOB, prompt TEXT, model TEXT, cost TEXT NOT NULL,
    PRIMARY KEY (older, newer, prompt, model)) WITHOUT ROWID"""
_ASKED = """CREATE TABLE IF NOT EXISTS asked (
    older BLOB, newer BLOB, prompt TEXT, model TEXT, lease TEXT NOT NULL, expires REAL NOT NULL,
    PRIMARY KEY (older, newer, prompt, model)) WITHOUT ROWID"""
_PARTS = """CREATE TABLE IF NOT EXISTS parts (
    request BLOB PRIMARY KEY, given TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID"""
_REFUSAL = """CREATE TABLE IF NOT EXISTS refusal (
    id INTEGER PRIMARY KEY CHECK (id = 1), at TEXT NOT NULL, why TEXT NOT NULL)"""
_SPENDING = """CREATE TABLE IF NOT EXISTS spending (
    day TEXT PRIMARY KEY, calls INTEGER, usd REAL) WITHOUT ROWID"""


@contextmanager
def file_errors(file: Path) -> Iterator[None]:
    """Raise a failure of SQLite as TransientError (locked) or StoreError (unusable)."""
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
    """Open the file, creating it if needed; several processes may share it.

    A killed process loses nothing. A power failure may lose the last answers, but requesting them
    again costs less than waiting for the disk after each.
    """
    with suppress(OSError):  # as for the log: an existing file must not be opened here
        file.touch(0o600, exist_ok=False)
    with file_errors(file):
        connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            for statement in (*_SETTINGS, _ANSWERS, _OWED, _ASKED, _PARTS, _REFUSAL, _SPENDING):
                connection.execute(statement)
            _add_columns(connection)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all writes of a block at once: a commit of one costs as much as a commit of all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _add_columns(connection: sqlite3.Connection) -> None:
    there = {row[1] for row in connection.execute("PRAGMA table_info(answers)")}
    for name, kind in _ADDED.items():
        if name in there:
            continue
        try:
            connection.execute(f"ALTER TABLE answers ADD COLUMN {name} {kind}")
        except sqlite3.OperationalError as error:  # another process was faster
            if "duplicate column" not in str(error):
                raise


class _JudgeFile:
    """A connection to the file, whose failures are raised as ours."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection = connect(file)

    def _rows(self, sql: str, values: tuple[object, ...] | dict[str, object]) -> list[Any]:
        with file_errors(self._file):
            return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


# -- cached answers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a cached answer; `older` and `newer` are hashes in hex.

    For a composition, `newer` is the hash over all sources except the oldest.
    """

    older: str
    newer: str
    prompt: str
    model: str

    @property
    def row(self) -> tuple[bytes, bytes, str, str]:
        """The key as it is stored."""
        return bytes.fromhex(self.older), bytes.fromhex(self.newer), self.prompt, self.model


class VerdictCache(_JudgeFile):
    """A file of answers.

    It holds composed texts, short reasons and, for a while, memories extracted from parts of a
    conversation, but no other text of a memory. The cost of an answer is *owed* until a verdict
    that is to be recorded claims it: one that a dry run paid for, or that arrived as its process
    stopped, belongs to the first verdict that is recorded later.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        try:
            with file_errors(file):
                self._drop_old_parts()
        except BaseException:
            self.close()
            raise

    def get(self, key: Key) -> JudgeAnswer | None:
        """The cached answer, if there is one; it costs nothing."""
        sql = (
            "SELECT answer, reason, text, probability, answered_by FROM answers"
            " WHERE older = ? AND newer = ? AND prompt = ? AND model = ?"
        )
        rows = self._rows(sql, key.row)
        if not rows:
            return None
        answer, reason, text, probability, model = rows[0]
        return JudgeAnswer(answer, reason, text=text, probability=probability, model=model)

    def put(self, answers: Mapping[Key, JudgeAnswer]) -> None:
        """Store answers immediately, in one transaction; their cost is owed."""
        sql = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        rows = [
            (*key.row, said.answer, said.reason, said.text, said.probability, said.model)
            for key, said in answers.items()
        ]
        owed = [(*key.row, json.dumps(asdict(said.cost))) for key, said in answers.items()]
        with file_errors(self._file), transaction(self._connection):
            self._connection.executemany(sql, rows)
            self._connection.executemany("INSERT OR REPLACE INTO owed VALUES (?, ?, ?, ?, ?)", owed)

    def lease(self, keys: Iterable[Key], lease: str) -> list[Key]:
        """Lease keys, so that others wait for their answers; return those that nobody else has."""
        sql = (
            "INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET lease = excluded.lease, expires = excluded.expires WHERE expires < ? RETURNING 1"
        )
        now = time.time()
        with file_errors(self._file), transaction(self._connection):
            return [
                key
                for key in keys
                if self._connection.execute(
                    sql, (*key.row, lease, now + LEASE_SECONDS, now)
                ).fetchall()
            ]

    def renew(self, lease: str) -> None:
        """Keep a lease for LEASE_SECONDS from now."""
        sql = "UPDATE asked SET expires = ? WHERE lease = ?"
        self._rows(sql, (time.time() + LEASE_SECONDS, lease))

    def release(self, lease: str) -> None:
        """End a lease: its answers are cached, or others may ask."""
        self._rows("DELETE FROM asked WHERE lease = ?", (lease,))

    def claim(self, key: Key) -> Cost | None:
        """Take the owed cost of an answer, which the caller records; None if it is not cached."""
        look = (
            "SELECT cost FROM answers LEFT JOIN owed USING (older, newer, prompt, model)"
            " WHERE older = ? AND newer = ? AND prompt = ? AND model = ?"
        )
        take = (
            "DELETE FROM owed WHERE older = ? AND newer = ? AND prompt = ? AND model = ?"
            " RETURNING cost"
        )
        cached = self._rows(look, key.row)
        if not cached:
            return None
        taken = self._rows(take, key.row) if cached[0][0] else []
        return Cost(**json.loads(taken[0][0])) if taken else NOTHING

    def owe(self, key: Key, cost: Cost) -> None:
        """Let the next claim of a cached answer take this cost, too."""
        with file_errors(self._file), transaction(self._connection):
            owed = self.claim(key)
            if owed is not None:
                row = (*key.row, json.dumps(asdict(owed + cost)))
                self._connection.execute("INSERT INTO owed VALUES (?, ?, ?, ?, ?)", row)

    # -- answers about parts of a conversation, kept until all of its parts have one ---------------

    def part(self, request: bytes) -> Any:
        """The kept answer to a request about a part of a conversation; None if there is none."""
        rows = self._rows("SELECT given FROM parts WHERE request = ?", (request,))
        return json.loads(rows[0][0]) if rows else None

    def keep_part(self, request: bytes, given: object) -> None:
        """Keep an answer: the memories of a part."""
        row = (request, json.dumps(given), time.time())
        with file_errors(self._file), transaction(self._connection):
            self._drop_old_parts()
            self._connection.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", row)

    def _drop_old_parts(self) -> None:
        """Drop answers that were kept too long: their conversations were not repeated."""
        before = time.time() - KEPT_SECONDS
        self._connection.execute("DELETE FROM parts WHERE at <= ?", (before,))

    def drop_parts(self, requests: Iterable[bytes]) -> None:
        """Drop the answers about a conversation whose parts all have one."""
        with file_errors(self._file), transaction(self._connection):
            self._connection.executemany(
                "DELETE FROM parts WHERE request = ?", [(request,) for request in requests]
            )


# -- the day's budget ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls and USD of one day."""

    calls: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that the budget allows: its day, and its expected cost in USD."""

    day: str
    usd: float


class ServiceRefusal(TypedDict):
    """Why no request to the judge can succeed, and since when, in ISO 8601, if that is known."""

    at: str | None
    why: str


def refusal_of(folder: Path, name: str = FILE) -> ServiceRefusal | None:
    """The refusal of the service that a store asked last; None if it accepts requests."""
    file = (folder / name).absolute()
    if not file.is_file():
        return None
    # A reader of a WAL without its files would create them, and leave them there.
    in_use = os.access(folder, os.W_OK) and file.with_name(f"{file.name}-wal").exists()
    mode = "mode=ro" if in_use else "mode=ro&immutable=1"
    try:
        with file_errors(file), closing(sqlite3.connect(f"{file.as_uri()}?{mode}", uri=True)) as db:
            [there] = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'refusal'")
            row = db.execute("SELECT at, why FROM refusal").fetchone() if there[0] else None
    except PalimpsestError as error:  # the judge cannot be asked without its file, either
        return {"at": None, "why": str(error)}
    return None if row is None else {"at": row[0], "why": row[1]}


class Budget(_JudgeFile):
    """The calls and money for a day in UTC, counted in a file, so a restart continues the count.

    Every call is counted with its expected cost before it is made, so that concurrent calls do not
    overspend together. Afterwards the actual cost replaces the expected one.
    """

    def __init__(
        self, file: Path, settings: ServiceSettings, clock: Callable[[], datetime]
    ) -> None:
        super().__init__(file)
        self._calls, self._usd = settings.daily_calls, settings.daily_usd
        self._clock = clock

    @property
    def in_money(self) -> bool:
        """Whether there is a limit in money, so that every call's price must be known."""
        return self._usd is not None

    def spent(self) -> Spent:
        """The calls and cost of this day, including the expected cost of calls in progress."""
        rows = self._rows("SELECT calls, usd FROM spending WHERE day = ?", (self._today(),))
        return Spent(*rows[0]) if rows else Spent()

    def reserve(self, usd: float) -> Reservation | None:
        """Count a call with this expected cost; None if the day's budget does not allow it."""
        day = self._today()
        self._rows("INSERT OR IGNORE INTO spending VALUES (?, 0, 0)", (day,))
        rows = self._rows(
            "UPDATE spending SET calls = calls + 1, usd = usd + :usd WHERE day = :day"
            " AND (:most_calls IS NULL OR calls < :most_calls)"
            " AND (:most_usd IS NULL OR usd + :usd <= :most_usd) RETURNING day",
            {"usd": usd, "day": day, "most_calls": self._calls, "most_usd": self._usd},
        )
        return Reservation(day, usd) if rows else None

    def settle(self, reservation: Reservation, usd: float) -> None:
        """Replace the expected cost by the actual one."""
        self._change(reservation, calls=0, usd=usd)

    def give_back(self, reservation: Reservation) -> None:
        """Undo the count of a call that got no answer: it cost nothing."""
        self._change(reservation, calls=-1, usd=0.0)

    def note_refusal(self, why: str) -> None:
        """Note that the service refuses every request, and why; the first time stays recorded."""
        at = self._clock().astimezone(UTC).isoformat()
        sql = (
            "INSERT INTO refusal VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET why = excluded.why"
        )
        self._rows(sql, (at, why))

    def note_acceptance(self) -> None:
        """Note that the service accepts requests."""
        if self._rows("SELECT 1 FROM refusal", ()):
            self._rows("DELETE FROM refusal", ())

    def _change(self, reservation: Reservation, calls: int, usd: float) -> None:
        sql = "UPDATE spending SET calls = calls + ?, usd = max(0, usd + ?) WHERE day = ?"
        self._rows(sql, (calls, usd - reservation.usd, reservation.day))

    def _today(self) -> str:
        return self._clock().astimezone(UTC).date().isoformat()
