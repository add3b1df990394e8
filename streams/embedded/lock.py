"""The writer's lock: of the processes that have a store open, one decides (docs/design.md)."""

from __future__ import annotations

import fcntl
import os
from errno import EACCES, EPERM, EROFS
from pathlib import Path
from typing import Self

from palimpsest.contracts.errors import StoreError, TransientError

LOCK_FILE = "writer.lock"
_MAY_NOT_WRITE = (EROFS, EACCES, EPERM)


class WriterLock:
    """An advisory lock on `writer.lock` in the store's folder, or on another `file`.

    The operating system releases it when its process ends, in whatever way, so a leftover file
    means nothing. A forked child shares it, so start other processes with `spawn`.
    """

    def __init__(self, store: Path, file: str = LOCK_FILE) -> None:
        self._path = store / file
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._file is not None

    def fileno(self) -> int:
        """The open file that holds the lock: a process that inherits it holds the lock, too."""
        assert self._file is not None, "the lock is held"
        return self._file

    def try_acquire(self) -> bool:
        """Take the lock unless another has it; returns whether this object holds it.

        Raises StoreError if the file cannot be opened or locked.
        """
        if self._file is not None:
            return True
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            why = f"{self._path} cannot be opened: {error.strerror}"
            if error.errno in _MAY_NOT_WRITE:
                why += "; the store can be read here; change or verify a copy elsewhere"
            raise StoreError(why) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        except OSError as error:
            os.close(file)
            raise StoreError(f"{self._path} cannot be locked: {error.strerror}") from error
        self._file = file
        return True

    def release(self) -> None:
        """Release the lock, if held. The file stays: removing it would let two processes in."""
        if self._file is not None:
            # A forked child has the file open, too: closing it here would not release the lock.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        if not self.try_acquire():
            raise TransientError(f"another process writes to the store {self._path.parent}")
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
