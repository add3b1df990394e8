"""Caches facts about a large file until the file changes.

Without the cache, hashing the weights and their graph took as long as opening them, at every start.
A file's size, times and inode identify its content, because no write leaves all of them unchanged.
Damage by the disk itself goes unnoticed until the notes are dropped (`palimpsest doctor`).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

DIGITS = 16
"""Hexadecimal digits of a SHA-256 that are kept."""

SETTLED_NS = 2_000_000_000
"""Once a file is this old, another change has a different time on every file system."""


class Notes:
    """Notes in a folder, which need not exist; if it is not writable, none are written.

    If a file cannot be read, methods that take it raise OSError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def digest_of(self, file: Path) -> str:
        """The beginning of a file's SHA-256, in hexadecimal."""
        known = self.read(file, "sha256")
        if known is not None:
            return known
        with file.open("rb") as opened:
            before = os.fstat(opened.fileno())
            found = hashlib.file_digest(opened, "sha256").hexdigest()[:DIGITS]
        if _identity(file.stat()) == _identity(before):  # a slow hash may meet a change
            self.write(file, "sha256", found)
        return found

    def read(self, file: Path, subject: str) -> str | None:
        """The note about the file in its current state; None if there is none."""
        try:
            written = self._note(file, subject).read_text(encoding="utf-8", errors="replace")
        except OSError:  # the caller determines the fact again
            return None
        identity, _, value = written.partition(" ")
        return value if identity == _identity(file.stat()) else None

    def write(self, file: Path, subject: str, value: str) -> None:
        """Save a note about the file's current state, unless the file may just be changing."""
        status = file.stat()
        if time.time_ns() - status.st_ctime_ns < SETTLED_NS:
            return
        with suppress(OSError):  # without the note, the fact is determined at each start
            line = f"{_identity(status)} {value}"
            write_whole(self._note(file, subject), [line.encode()])

    def forget(self) -> None:
        """Drop all notes, so that files are examined again. Raises OSError if it cannot."""
        for note in self._folder.glob("*.note"):
            note.unlink(missing_ok=True)

    def _note(self, file: Path, subject: str) -> Path:
        name = hashlib.sha256(f"{file.resolve()} {subject}".encode()).hexdigest()[:DIGITS]
        return self._folder / f"{name}.note"


def _identity(status: os.stat_result) -> str:
    times = f"{status.st_mtime_ns}.{status.st_ctime_ns}"
    return f"{status.st_dev}.{status.st_ino}.{status.st_size}.{times}"


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file atomically, and create its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        part = Path(file.name)
        try:
            file.writelines(parts)
            file.flush()
            part.replace(path)
        except BaseException:
            part.unlink()
            raise
