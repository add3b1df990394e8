"""Checks the roots and inner pages of a log's trees in its file.

SQLite reads only the pages that a query needs, so it continues to write to a file with a damaged
page until a query reads that page. Inner pages are less than a hundredth of the file; `verify`
reads the others.
The format: https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.log.database import DamagedError, Database

INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
INNER = {INNER_INDEX, INNER_TABLE}
KINDS = {INNER_INDEX: LEAF_INDEX, INNER_TABLE: LEAF_TABLE}
"""The kind of the leaves below each kind of inner page."""
_IS_KIND = np.isin(np.arange(256), [*KINDS, *KINDS.values()])
WAL_HEADER, WAL_FRAME = 32, 24
HEADER_LEAF, HEADER_INNER = 8, 12
AT_ONCE = 32
"""Maximum number of pages checked together: large arrays take longer, because they are paged in."""
ATTEMPTS = 3
"""Number of attempts: other processes may checkpoint the file meanwhile; real damage persists."""


def check_pages(log: Database) -> None:
    """Check every root and inner page; raises DamagedError, which names the first damaged one."""
    for attempt in range(1, ATTEMPTS + 1):
        roots = [*log.rows("SELECT rootpage FROM sqlite_master WHERE rootpage > 0")]
        try:
            with log.raw() as raw, _File(log.path, raw) as file:
                for (root,) in roots:
                    _check_tree(file, root)
        except _DamagedPageError as damage:
            if attempt == ATTEMPTS:
                raise DamagedError(
                    f"{log.path} is damaged (page {damage.number}: {damage.what}): nothing was"
                    " written; restore it from a copy"
                ) from None
        else:
            return


class _DamagedPageError(Exception):
    def __init__(self, number: int, what: str) -> None:
        super().__init__(number, what)
        self.number = number
        self.what = what


class _File:
    """The pages of a database's file, with the newest versions from its write-ahead log."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._file = file
        header = self._file.read(100)
        size = int.from_bytes(header[16:18], "big")
        self.page_bytes = 65536 if size == 1 else size
        self.usable = self.page_bytes - header[20]
        self._newer: dict[int, int] = {}
        self._wal = None
        wal = path.with_name(f"{path.name}-wal")
        if wal.is_file():
            self._wal = wal.open("rb")
            self._newer = dict(self._committed_frames())
        length = os.fstat(self._file.fileno()).st_size
        self.pages = max([length // self.page_bytes, *self._newer])

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        if self._wal is not None:
            self._wal.close()

    def _committed_frames(self) -> Iterator[tuple[int, int]]:
        """The offsets of the pages in the write-ahead log, without uncommitted ones."""
        assert self._wal is not None
        wal = self._wal.fileno()
        # Only the headers are read, each by one call: reading through the pages took twice as long.
        salts = os.pread(wal, WAL_HEADER, 0)[16:24]
        transaction: list[tuple[int, int]] = []
        for place in range(WAL_HEADER, os.fstat(wal).st_size, WAL_FRAME + self.page_bytes):
            header = os.pread(wal, WAL_FRAME, place)
            if header[8:16] != salts:
                return
            number, pages_after_commit = struct.unpack_from(">II", header)
            transaction.append((number, place + WAL_FRAME))
            if pages_after_commit:
                yield from transaction
                transaction.clear()

    def read(self, number: int) -> bytes:
        """The bytes of a page; page numbers start at 1."""
        newer = self._newer.get(number)
        file, place = (
            (self._file, (number - 1) * self.page_bytes) if newer is None else (self._wal, newer)
        )
        assert file is not None
        page = os.pread(file.fileno(), self.page_bytes, place)
        if len(page) < self.page_bytes:
            raise _DamagedPageError(number, "it is beyond the end of the file")
        return page


def _check_tree(file: _File, root: int) -> None:
    """Check a tree, from its root to the pages above its leaves."""
    seen = np.zeros(file.pages + 1, np.bool_)
    seen[root] = True
    kind, below = _children(file, np.array([root]))
    while kind in INNER:
        beyond = below[(below <= 1) | (below > file.pages)]
        if len(beyond):
            raise _DamagedPageError(root, f"its tree leads to page {beyond[0]}")
        together = np.count_nonzero(seen) + len(below)
        seen[below] = True
        if np.count_nonzero(seen) < together:
            raise _DamagedPageError(root, "its tree leads to a page twice")
        # All leaves are at the same depth, so one page shows what is on this level.
        if _children(file, below[:1])[0] == KINDS[kind]:
            return
        level = [
            _children(file, below[start : start + AT_ONCE], kind)[1]
            for start in range(0, len(below), AT_ONCE)
        ]
        below = np.concatenate(level)


def _children(
    file: _File, numbers: NDArray[np.int64], kind: int | None = None
) -> tuple[int, NDArray[np.int64]]:
    """Check pages of one kind, by default that of the first; returns the kind and the children."""
    octets = np.frombuffer(b"".join(map(file.read, numbers.tolist())), np.uint8)
    starts = np.arange(len(numbers)) * file.page_bytes
    kinds = octets[starts]
    _require(_IS_KIND[kinds], numbers, "not a page of a tree")
    kind = int(kinds[0]) if kind is None else kind
    size = HEADER_INNER if kind in KINDS else HEADER_LEAF
    free, cells, content = (_integers(octets, starts + at, 2) for at in (1, 3, 5))
    content[content == 0] = 65536
    ends = size + 2 * cells
    right = (ends <= content) & (content <= file.usable) & (free <= file.usable)
    _require(right, numbers, "its header cannot be right")
    _require(kinds == kind, numbers, f"another kind of page in a tree of {kind}")
    page = np.repeat(np.arange(len(numbers)), cells)
    nth = np.arange(len(page)) - np.repeat(np.cumsum(cells) - cells, cells)
    places = _integers(octets, starts[page] + size + 2 * nth, 2)
    inside = (places >= ends[page]) & (places <= file.usable - 4)
    _require(inside, numbers[page], "its cells are outside the page")
    if kind not in KINDS:
        return kind, numbers[:0]
    places += starts[page]
    if kind == INNER_TABLE:
        ascend = np.diff(_varints(octets, places + 4)) > 0
        _require(ascend | (np.diff(page) > 0), numbers[page[1:]], "its rows are out of order")
    lasts = _integers(octets, starts + 8, 4)
    return kind, np.concatenate([_integers(octets, places, 4), lasts])


def _require(right: NDArray[np.bool_], numbers: NDArray[np.int64], what: str) -> None:
    """Raise an error about the first page that is not right."""
    if not right.all():
        raise _DamagedPageError(int(numbers[np.argmin(right)]), what)


def _integers(octets: NDArray[np.uint8], places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Read big-endian integers of `size` bytes."""
    all_of_size = np.ndarray(len(octets) - size + 1, f">u{size}", octets, strides=(1,))
    return all_of_size[places].astype(np.int64)


def _varints(octets: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Read SQLite's integers of one to nine bytes; our row ids are positive."""
    values = octets[np.minimum(places, len(octets) - 1)].astype(np.int64)
    unfinished = np.flatnonzero(values > 0x7F)
    values &= 0x7F
    for at in range(1, 9):
        if not len(unfinished):
            break
        octet = octets[np.minimum(places[unfinished] + at, len(octets) - 1)].astype(np.int64)
        bits, kept = (7, 0x7F) if at < 8 else (8, 0xFF)
        values[unfinished] = values[unfinished] << bits | octet & kept
        unfinished = unfinished[octet > 0x7F]
    return values
