"""Reads producers' files as rows: JSON lines or an array, CSV, gzipped or not, and Parquet."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.intake.arrays import array_rows, begins_array
from palimpsest.streams.intake.parquet import parquet_rows
from palimpsest.streams.intake.parsing import NO_RENAMES
from palimpsest.streams.intake.rows import MAX_KEPT_BYTES, RawRow, RowCounter
from palimpsest.streams.intake.tables import is_table, table_rows

if TYPE_CHECKING:
    from typing_extensions import Buffer

Form = Literal["csv", "json"]
STDIN = "-"
_BEGINNING = 64
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BUFFER = 256 * 1024


class RowReader:
    """The rows of files, one after another, read on demand; `-` is standard input.

    Rows of an input that cannot be read twice, a pipe or standard input, carry `reading`. `form` is
    the files' format; by default, their names and beginnings determine it. `renames` maps a CSV's
    columns to our names. `total` is the files' size in bytes, or None if one of them has no size;
    `done` is the number of bytes read so far, and `begun` the files begun, each with the number of
    rows before it. Empty lines are skipped. UsageError names a file that cannot be read: at once if
    it is missing, after all earlier rows if it ends too early.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        reading: str = "",
        form: Form | None = None,
        renames: Mapping[str, str] = NO_RENAMES,
    ) -> None:
        self._paths = [str(path) for path in paths]
        self._reading = reading
        self._form = form
        self._renames = renames
        self._first: dict[int, Iterator[RawRow]] = {}
        self.begun: list[tuple[int, str]] = []
        self.done = 0
        sizes = [_size(path) for path in self._paths]
        known = [size for size in sizes if size is not None]
        self.total = sum(known) if len(known) == len(sizes) else None

    def __iter__(self) -> Iterator[RawRow]:
        count = 0
        self.begun = []
        for number, path in enumerate(self._paths):
            self.begun.append((count, path))
            for row in self._first.pop(number, None) or self._rows_of(path):
                count += 1
                yield row

    def beginnings(
        self, most: int, is_right: Callable[[RawRow], bool]
    ) -> Iterator[tuple[str, list[RawRow]]]:
        """The first rows of each input, up to one that `is_right`, and at most `most`.

        Rows of a pipe that are read for this are kept, and iteration returns them first. Raises
        UsageError if not even the first row of the first input can be read.
        """
        for number, path in enumerate(self._paths):
            rows = self._rows_of(path)
            first: list[RawRow] = []
            try:
                for row in islice(rows, most):
                    first.append(row)
                    if is_right(row):
                        break
            except UsageError as error:  # reported when the rows are read, after earlier ones
                if number == 0 and not first:
                    raise
                rows = _raising(error)
            if _size(path) is None:
                self._first[number] = chain(first, rows)
            else:
                rows.close()
                self.done = 0
            yield path, first

    def _rows_of(self, path: str) -> Generator[RawRow, None, None]:
        source = "stdin" if path == STDIN else Path(path).name
        reading = self._reading if _size(path) is None else ""
        counter = RowCounter()
        for raw in self._rows(path):
            yield RawRow(raw, source, counter.count(raw), reading)

    def _rows(self, path: str) -> Iterator[bytes]:
        before = self.done
        try:
            with _open(path) as opened:
                counted = _Counted(opened)
                file: io.BufferedReader = io.BufferedReader(counted, _BUFFER)
                start = file.peek(4)[:4]
                if start == _PARQUET:
                    before = self.done
                    size = _size(path)
                    if size is None:
                        raise UsageError(f"{path} is Parquet, which can be read only from a file")
                    for raw, share in parquet_rows(path):
                        self.done = before + int(size * share)
                        yield raw
                    return
                for raw in self._split(_unpacked(file, start, path), path):
                    self.done = before + counted.count
                    yield raw
                self.done = before + counted.count
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UsageError(f"{path} is cut short or damaged: {error}") from error
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error

    def _split(self, file: io.BufferedReader, path: str) -> Iterator[bytes]:
        """The rows of unpacked bytes, by their format."""
        if self._form == "csv" or (self._form is None and is_table(path)):
            return table_rows(file, path, self._renames)
        if begins_array(file.peek(_BEGINNING)[:_BEGINNING]):
            return array_rows(file, _lines)
        return _lines(file)


def _raising(error: UsageError) -> Generator[RawRow, None, None]:
    yield from ()
    raise error


class _Counted(io.RawIOBase):
    """Counts a file's bytes as they are read; returns a slow producer's bytes as they arrive."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        """Always true: the stream is for reading."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read the available bytes, up to the buffer's length."""
        read = self._file.readinto1(buffer)
        self.count += read
        return read


@contextmanager
def _open(path: str) -> Iterator[io.BufferedIOBase]:
    if path == STDIN:
        # A thread may still wait for a line when the process ends. Python's own reader would then
        # abort the process; this one is never closed, because that would wait for the thread.
        own = sys.stdin is sys.__stdin__
        lines = open(0, "rb", closefd=False) if own else sys.stdin.buffer  # noqa: SIM115
        yield cast("io.BufferedIOBase", lines)
    else:
        with Path(path).open("rb") as file:
            yield file


def _size(path: str) -> int | None:
    if path == STDIN:
        return None
    file = Path(path)
    if not path or not file.exists():
        raise UsageError(f"there is no file {path!r}")
    if file.is_dir():
        raise UsageError(f"{path} is a folder: name its files")
    return file.stat().st_size if file.is_file() else None


def _unpacked(file: io.BufferedReader, start: bytes, path: str) -> io.BufferedReader:
    if start.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER)
    if path.endswith(".gz"):
        raise UsageError(f"{path} is not a gzip file")
    if path.endswith(".parquet"):
        raise UsageError(f"{path} is not a Parquet file")
    return file


def _lines(file: io.BufferedReader) -> Iterator[bytes]:
    """Non-empty lines, without their line ends; if a line is too long, only its beginning."""
    first = True
    while line := file.readline(MAX_KEPT_BYTES):
        if not line.endswith(b"\n") and len(line) == MAX_KEPT_BYTES:
            _skip_line(file)
        if first:
            line = line.removeprefix(codecs.BOM_UTF8)
            first = False
        if not line.isspace() and line:
            yield line.rstrip(b"\r\n")


def _skip_line(file: io.BufferedReader) -> None:
    while (line := file.readline(_BUFFER)) and not line.endswith(b"\n"):
        pass
