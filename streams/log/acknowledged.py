"""Records what a store has acknowledged, in a small file beside its log.

If a log's write-ahead log was cut or deleted, or the log was replaced by an older copy, SQLite
opens it as if nothing were missing. This file records the last position that callers were told is
durable, so that such a loss is noticed (docs/reliability.md).
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from dataclasses import dataclass
from uuid import UUID

import orjson

from palimpsest.contracts.errors import StoreError
from palimpsest.streams.log.database import Database

ACKNOWLEDGED_FILE = "log.acknowledged"
SYNC_SECONDS = 1.0
"""Shortest time between two syncs of the file: a power failure may lose its last moments."""
RECORD_BYTES = 128
"""Every record has this length, and overwrites the previous one in a single write."""

_MARK = (
    "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'inbox'), position, id FROM (SELECT 1)"
    " LEFT JOIN (SELECT position, id FROM events ORDER BY position DESC LIMIT 1)"
)
"""One query, because it is asked after every commit."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mark:
    """The last event and the last inbox number of a log; 0 and "" in an empty one."""

    position: int
    event: str
    inbox: int

    @classmethod
    def of(cls, log: Database) -> Mark:
        """The mark of a log in its committed state."""
        row = log.row(_MARK)
        assert row is not None, "one row, even of an empty log"
        inbox, position, event = row
        return cls(position or 0, str(UUID(bytes=event)) if position else "", inbox or 0)

    def missing_from(self, log: Database) -> str | None:
        """What a log lacks of this mark; None if it has everything."""
        if self.position:
            row = log.row("SELECT id FROM events WHERE position = ?", (self.position,))
            if row is None:
                return f"it ends at position {Mark.of(log).position} of {self.position}"
            if str(UUID(bytes=row[0])) != self.event:
                return f"it has another event at position {self.position}"
        held = Mark.of(log).inbox
        if held < self.inbox:
            return f"its inbox ends at number {held} of {self.inbox}"
        return None


class Acknowledged:
    """The file beside one log, for one process; several processes may write to it."""

    def __init__(self, log: Database) -> None:
        self._log = log
        self._path = log.path.with_name(ACKNOWLEDGED_FILE)
        self._file: int | None = None
        self._synced = 0.0

    def require(self, *, accept_loss: bool = False) -> None:
        """Check that the log has everything acknowledged, and record from now on.

        Raises StoreError if something is missing, unless `accept_loss`. A log without a readable
        file is accepted with a warning: its version did not write the file, or it was copied alone.
        A log that follows a cluster is not checked, because it reads again what it lost.
        """
        if self._log.row("SELECT 1 FROM followed LIMIT 1") is not None:
            return
        mark = self._read()  # before the log, because commits in between only add to the log
        missing = mark and mark.missing_from(self._log)
        if missing and not accept_loss:
            raise StoreError(
                f"{self._log.path} lacks events that were acknowledged: {missing}. Its write-ahead"
                " log was lost, or it was replaced by an older copy. Restore the newest copy, or"
                " go on without what is missing: palimpsest rebuild --accept-loss"
            )
        if mark is None and Mark.of(self._log) != Mark(0, "", 0):
            _log.warning(
                "no file beside %s says what was acknowledged: the log is accepted as it is",
                self._log.path,
            )
        if not self._log.sealed:
            self.record()

    def record(self) -> None:
        """Record the log's position; called after each commit, before it is acknowledged.

        Raises StoreError if it cannot be written.
        """
        try:
            self._write()
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be written ({error.strerror}): the last batch is in the log,"
                " and its caller was not told; run the same command again"
            ) from error

    def _write(self) -> None:
        if self._file is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._file = os.open(self._path, flags, 0o600)
        fcntl.flock(
            self._file, fcntl.LOCK_EX
        )  # otherwise an older record could overwrite a newer one
        try:
            line = orjson.dumps(Mark.of(self._log))
            os.pwrite(self._file, line.ljust(RECORD_BYTES - 1) + b"\n", 0)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            self._sync()

    def _sync(self) -> None:
        if self._file is not None:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def _read(self) -> Mark | None:
        try:
            return Mark(**orjson.loads(self._path.read_bytes()))
        except (FileNotFoundError, orjson.JSONDecodeError, TypeError):
            return None
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error.strerror}") from error

    def close(self) -> None:
        """Sync the file and close it."""
        if self._file is not None:
            self._sync()
            os.close(self._file)
            self._file = None
