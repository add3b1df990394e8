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
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palimpsest.streams.log.database import DamagedError, Database

INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
INNER = {INNER_INDEX, INNER_TABLE}
KINDS = {INNER_INDEX: LEAF_INDEX, INNER_TABLE: LEAF_TABLE}
"""The kind of the leaves below each kind of inner page."""
WAL_HEADER, WAL_FRAME = 32, 24
HEADER_LEAF, HEADER_INNER = 8, 12
ATTEMPTS = 3
"""Number of attempts: other processes may checkpoint the file meanwhile; real damage persists."""


class _Page(NamedTuple):
    number: int
    kind: int
    children: NDArray[np.int64]


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
        file.seek(place)
        page = file.read(self.page_bytes)
        if len(page) < self.page_bytes:
            raise _DamagedPageError(number, "it is beyond the end of the file")
        return page


def _check_tree(file: _File, root: int) -> None:
    """Check a tree, from its root to the pages above its leaves."""
    seen = np.zeros(file.pages + 1, np.bool_)
    seen[root] = True
    level = [_page(file, root)]
    while level and level[0].kind in INNER:
        kind = level[0].kind
        below = np.concatenate([page.children for page in level])
        beyond = below[(below <= 1) | (below > file.pages)]
        if len(beyond):
            raise _DamagedPageError(root, f"its tree leads to page {beyond[0]}")
        together = np.count_nonzero(seen) + len(below)
        seen[below] = True
        if np.count_nonzero(seen) < together:
            raise _DamagedPageError(root, "its tree leads to a page twice")
        # All leaves are at the same depth, so one page shows what is on this level.
        if _page(file, int(below[0])).kind == KINDS[kind]:
            return
        level = [_page(file, child) for child in below.tolist()]
        for page in level:
            if page.kind != kind:
                raise _DamagedPageError(page.number, f"kind {page.kind} in a tree of {kind}")


def _page(file: _File, number: int) -> _Page:
    """Read a page's header and cell pointers, and the children of an inner page."""
    data = file.read(number)
    start = 100 if number == 1 else 0
    kind = data[start]
    if kind not in KINDS and kind not in KINDS.values():
        raise _DamagedPageError(number, "not a page of a tree")
    size = HEADER_INNER if kind in KINDS else HEADER_LEAF
    first_free, cells, content = struct.unpack(">HHH", data[start + 1 : start + 7])
    pointers_end = start + size + 2 * cells
    if (
        pointers_end > (content or 65536)
        or (content or 65536) > file.usable
        or first_free > file.usable
    ):
        raise _DamagedPageError(number, "its header cannot be right")
    places = np.frombuffer(data, ">u2", cells, start + size).astype(np.int64)
    if ((places < pointers_end) | (places > file.usable - 4)).any():
        raise _DamagedPageError(number, "its cells are outside the page")
    if kind not in KINDS:
        return _Page(number, kind, places[:0])
    octets = np.frombuffer(data, np.uint8)
    children = octets[places[:, None] + np.arange(4)].view(">u4")[:, 0]
    if kind == INNER_TABLE and (np.diff(_varints(octets, places + 4)) <= 0).any():
        raise _DamagedPageError(number, "its rows are out of order")
    last = int.from_bytes(data[start + 8 : start + 12], "big")
    return _Page(number, kind, np.append(children.astype(np.int64), last))


def _varints(octets: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Read SQLite's integers of one to nine bytes; our row ids are positive."""
    values = np.zeros(len(places), np.int64)
    unfinished = np.arange(len(places))
    for at in range(9):
        octet = octets[np.minimum(places[unfinished] + at, len(octets) - 1)].astype(np.int64)
        bits, kept = (7, 0x7F) if at < 8 else (8, 0xFF)
        values[unfinished] = values[unfinished] << bits | octet & kept
        unfinished = unfinished[octet > 0x7F]
        if not len(unfinished):
            break
    return values
