"""Writes files atomically, even if the power fails."""

from __future__ import annotations

import errno
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import orjson
import pyarrow as pa

from palimpsest.contracts.errors import DiskFullError, StoreError

CHUNK = 1 << 20
OWNERS_ONLY = 0o600
"""The mode of a store's files, whatever the umask; LanceDB's are in a folder closed to others."""


def sync(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_json(path: Path, value: object) -> None:
    """Replace a JSON file in one step."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(orjson.dumps(value))
    beside.chmod(OWNERS_ONLY)
    sync(beside)
    beside.replace(path)
    sync(path.parent)


def checksum(path: Path) -> int:
    """The CRC-32 of a file."""
    found = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def remove(path: Path) -> None:
    """Remove a file, or a folder as far as possible; does nothing if it is gone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


_FULL = {errno.ENOSPC, errno.EDQUOT}
_FULL_WORDS = os.strerror(errno.ENOSPC).lower()
"""LanceDB and Arrow pass on the operating system's message, but not its error number."""
_LIBRARY_PLACE = re.compile(r",? ?/\S+\.(?:rs|cc|cpp):\d+(?::\d+)?")


@contextmanager
def store_errors() -> Iterator[None]:
    """Raise errors of the disk, or of a library that writes to it, as StoreError."""
    try:
        yield
    except (OSError, RuntimeError, duckdb.Error, pa.ArrowException) as failure:
        raise not_written(failure) from failure


def not_written(failure: BaseException) -> StoreError:
    """The error for projections that could not be written, without paths inside a library."""
    said = _LIBRARY_PLACE.sub("", str(failure))
    if (isinstance(failure, OSError) and failure.errno in _FULL) or _FULL_WORDS in said.lower():
        return DiskFullError(
            "the disk is full: `projections` in the store's folder could not be written. The log"
            " has everything that was acknowledged; free some space on that disk, and the next"
            " call writes the projections"
        )
    return StoreError(f"the projections could not be written: {said}")
