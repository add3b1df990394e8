"""Exports the log to files and imports it, and reads dead letters."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import IO, Any

from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.reader import Reader
from palimpsest.contracts.errors import RefusedError, StoreError, UsageError
from palimpsest.process.targets import write_all
from palimpsest.streams.log.acknowledged import ACKNOWLEDGED_FILE
from palimpsest.streams.log.dead_letters import DeadLetters, DeadLetterState
from palimpsest.streams.log.import_log import import_lines
from palimpsest.streams.log.log import Log

_NO_PATH = re.compile(r"[\\\x00-\x1f\x7f]")
"""Characters in a path that DuckDB or LanceDB cannot open."""
MOST_PATH_BYTES = 480
"""SQLite opens paths of at most 512 bytes; the names of a store's own files need the rest."""


def export_log(reader: Reader, file: Path, progress: Callable[[int], None] | None) -> int:
    """Write every line of the log to a file, byte for byte; returns their number.

    The file is written whole or not at all, because a partial export would look complete. Raises
    UsageError if it cannot be written, StoreError if the log is damaged.
    """
    counts = []

    def write(part: Path) -> None:
        with part.open("wb") as out:
            counts.append(write_log(reader, out, progress))

    try:
        write_all({file: write})
        return counts[0]
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error


def write_log(reader: Reader, out: IO[bytes], progress: Callable[[int], None] | None) -> int:
    """Write every line of the log to an open file; returns their number."""
    count = 0
    for count, (_, line) in enumerate(reader.log.lines(), 1):
        out.write(line + b"\n")
        if progress is not None and count % 1000 == 0:
            progress(count)
    return count


def make_folder(folder: Path) -> None:
    """Make a store's folder unless it exists; StoreError if that fails, or no store works there."""
    place = str(folder.absolute())
    if _NO_PATH.search(place):
        raise StoreError(
            f"a store cannot be in {place!r}: DuckDB and LanceDB cannot open a path with a"
            " backslash, a line break or another control character"
        )
    if len(os.fsencode(place)) > MOST_PATH_BYTES:
        raise StoreError(
            f"a store cannot be in {folder}: the path has more than {MOST_PATH_BYTES} bytes, and"
            " SQLite cannot open much longer ones"
        )
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, and a store is a folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder {folder} cannot be created: {error.strerror}") from error


def import_log(folder: Path, file: Path, progress: Callable[[int], None] | None) -> int:
    """Fill a new store from an exported log; leave no store behind if the file is not a log.

    Raises UsageError if the file cannot be read or the store has events, StoreError if the file is
    not a log, or the store cannot be created, and TransientError if another process is writing.
    """
    if not file.is_file():
        raise UsageError(
            f"{file} is a folder: name the file of an exported log"
            if file.is_dir()
            else f"there is no file {file}"
        )
    new = not (folder / LOG_FILE).exists()
    first = not folder.exists()
    make_folder(folder)
    try:
        with file.open("rb") as lines, Log.create(folder / LOG_FILE) as log:
            log.require_acknowledged()
            count = import_lines(log, _lines(lines), progress)
            require_events(count, file)
            return count
    except BaseException as error:
        if new:  # or else an empty store would remain
            (folder / LOG_FILE).unlink(missing_ok=True)
            (folder / ACKNOWLEDGED_FILE).unlink(missing_ok=True)
            if first:
                with suppress(OSError):  # it stays if another process has put something in it
                    folder.rmdir()
        if isinstance(error, OSError):
            raise UsageError(f"{file} cannot be read: {error.strerror}") from error
        raise


def require_events(count: int, file: Path) -> None:
    """StoreError if a file that should be a log had no events."""
    if not count:
        raise StoreError(f"{file} is empty: not an exported log")


def read_lines(file: Path) -> Iterator[bytes]:
    """The lines of an export. UsageError if the file cannot be read."""
    try:
        with file.open("rb") as lines:
            yield from _lines(lines)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    return (line.rstrip(b"\n") for line in file)


def dead_letters(
    reader: Reader, state: DeadLetterState | None, limit: int | None, after: str | None
) -> list[dict[str, Any]]:
    """A page of dead letters, of one state or all. RefusedError if no letter has the id `after`."""
    letters = DeadLetters(reader.log)
    if after is not None and letters.get(after) is None:
        raise _unknown(after)
    return [asdict(letter) for letter in islice(letters.all(state, after), limit)]


def _unknown(letter_id: str) -> RefusedError:
    return RefusedError("unknown_letter", f"there is no dead letter {letter_id}")


def dead_letter(reader: Reader, letter_id: str) -> tuple[dict[str, Any], bytes]:
    """A dead letter with its record's headers, and its bytes; RefusedError if it is unknown."""
    letters = DeadLetters(reader.log)
    letter, original = letters.get(letter_id), letters.original(letter_id)
    if letter is None or original is None:
        raise _unknown(letter_id)
    headers = [_header(*header) for header in letters.headers(letter_id)]
    return asdict(letter) | {"headers": headers}, original


def _header(name: str, value: bytes | None) -> dict[str, str | None]:
    if value is None:
        return {"name": name, "base64": None, "text": None}
    return {"name": name, "base64": base64.b64encode(value).decode(), "text": text_of(value)}


def text_of(original: bytes) -> str | None:
    """Bytes as text; None if they are not UTF-8."""
    try:
        return original.decode()
    except UnicodeDecodeError:
        return None
