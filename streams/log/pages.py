"""Checks the roots and inner pages of a log's trees in its file.

SQLite reads only the pages that a query needs, so it continues to write to a file with a damaged
page until a query reads it. Inner pages are less than a hundredth of the file; `verify` reads the
others.
The format: https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from palimpsest.streams.log.database import DamagedError, Database

INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
INNER = {INNER_INDEX, INNER_TABLE}
KINDS = {INNER_INDEX: LEAF_INDEX, INNER_TABLE: LEAF_TABLE}
"""The leaves below each kind of inner page."""
WAL_HEADER, WAL_FRAME = 32, 24
HEADER_LEAF, HEADER_INNER = 8, 12
ATTEMPTS = 3
"""Other processes may checkpoint the file while it is read; real damage persists."""


class _Page(NamedTuple):
    number: int
    kind: int
    children: list[int]


def check_pages(log: Database) -> None:
    """Check every root and inner page; DamagedError names the first that is damaged."""
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
        salts = self._wal.read(WAL_HEADER)[16:24]
        place = WAL_HEADER
        transaction: list[tuple[int, int]] = []
        while len(header := self._wal.read(WAL_FRAME)) == WAL_FRAME and header[8:16] == salts:
            number, pages_after_commit = struct.unpack(">II", header[:8])
            transaction.append((number, place + WAL_FRAME))
            if pages_after_commit:
                yield from transaction
                transaction.clear()
            place += WAL_FRAME + self.page_bytes
            self._wal.seek(place)

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
    seen = {root}
    level = [_page(file, root)]
    while level and level[0].kind in INNER:
        kind = level[0].kind
        below = [child for page in level for child in page.children]
        for child in below:
            if child in seen or not 1 < child <= file.pages:
                raise _DamagedPageError(root, f"its tree leads to page {child}")
            seen.add(child)
        # All leaves are at the same depth: one of them shows what this level is.
        if _page(file, below[0]).kind == KINDS[kind]:
            return
        level = [_page(file, child) for child in below]
        for page in level:
            if page.kind != kind:
                raise _DamagedPageError(page.number, f"kind {page.kind} in a tree of {kind}")


def _page(file: _File, number: int) -> _Page:
    """Read a page's header and cell pointers, and the children of an inner page."""
    data = file.read(number)
    start = 100 if number == 1 else 0
    kind = data[start]
    if kind not in KINDS and kind not in KINDS.values():
        raise _DamagedPageError(number, "no page of a tree")
    size = HEADER_INNER if kind in KINDS else HEADER_LEAF
    first_free, cells, content = struct.unpack(">HHH", data[start + 1 : start + 7])
    pointers_end = start + size + 2 * cells
    if (
        pointers_end > (content or 65536)
        or (content or 65536) > file.usable
        or first_free > file.usable
    ):
        raise _DamagedPageError(number, "its header fits no page")
    pointers = struct.unpack(f">{cells}H", data[start + size : pointers_end])
    if any(not pointers_end <= place <= file.usable - 4 for place in pointers):
        raise _DamagedPageError(number, "its cells are outside the page")
    if kind not in KINDS:
        return _Page(number, kind, [])
    children = [int.from_bytes(data[place : place + 4], "big") for place in pointers]
    if kind == INNER_TABLE:
        rowids = [_varint(data, place + 4) for place in pointers]
        if any(earlier >= later for earlier, later in pairwise(rowids)):
            raise _DamagedPageError(number, "its rows are out of order")
    return _Page(number, kind, [*children, int.from_bytes(data[start + 8 : start + 12], "big")])


def _varint(data: bytes, place: int) -> int:
    """Read SQLite's integer of one to nine bytes; our row ids are positive."""
    value = 0
    for at in range(place, min(place + 8, len(data))):
        value = value << 7 | data[at] & 0x7F
        if not data[at] & 0x80:
            return value
    return value << 8 | data[place + 8] if place + 8 < len(data) else value
