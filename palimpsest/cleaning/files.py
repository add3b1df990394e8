"""Input files of a cleaning: reads their rows as values, and copies them without some rows."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

import orjson

from palimpsest.cleaning.columns import Columns, is_usual_text
from palimpsest.cleaning.texts import ScopedText
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import read_json
from palimpsest.sources.file_copies import copy_file, is_packed, slices
from palimpsest.streams.embedder import Progress
from palimpsest.streams.intake import MAX_KEPT_BYTES, RowReader, refuse_repeated_names, written_as
from palimpsest.streams.intake.parquet import read_parquet, values_of
from palimpsest.streams.intake.tables import delimiter_of

Form = Literal["csv", "json", "parquet", "arrow", "stream", "lines"]
"""`arrow` is Arrow's file format (Feather), `stream` its stream format."""
STDIN = "-"
BATCH = 1_000
_BEGINNING = 64 * 1024
_MAGIC: tuple[tuple[bytes, Form], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "stream"),
)
_ENDINGS: dict[str, tuple[Form, ...]] = {
    **dict.fromkeys((".csv", ".tsv"), ("csv",)),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("json",)),
    ".parquet": ("parquet",),
    **dict.fromkeys((".arrow", ".feather"), ("arrow", "stream")),
}
"""The forms that file name endings indicate."""
_NOT_TEXT = (
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"%PDF-",
    b"\xd0\xcf\x11\xe0",
)
"""How archives (zip; so do workbooks), zstd, bzip2, xz, PDF and older workbooks begin."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MARK = b"\xef\xbb\xbf"
_SUFFIXES: dict[Form, str] = {"csv": ".csv", "json": ".jsonl"}
TEXT = "text"
"""The only column of a plain text file, which has one text per line."""


class InputFile:
    """A file that can be read repeatedly, and its format."""

    def __init__(self, path: Path) -> None:
        """UsageError if there is no such file, or its format is unknown."""
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist, or is not a file"
            raise UsageError(f"{path} {what}: name a file, or - for standard input")
        self.path = path
        self.form = _form_of(path)
        self._share: float | None = None

    def values(self) -> Iterator[Any]:
        """Each row as a dict, or as the value that it is instead; as bytes if it cannot be read.

        UsageError if the file is damaged, or has too large a row.
        """
        match self.form:
            case "csv" | "json":
                yield from self._read()
            case "parquet":
                for values, share in read_parquet(str(self.path)):
                    self._share = share
                    yield values
            case "arrow" | "stream":
                with _arrow_reader(self.path, self.form) as (_, batches):
                    for batch in batches:
                        yield from batch_values(batch)
            case "lines":
                yield from ({TEXT: _decoded(line)} for line in self._lines() if line.strip())

    def read(self, columns: Columns, progress: Progress) -> Iterator[ScopedText]:
        """Each row's text, scope and time. UsageError as for `values`."""
        for number, values in enumerate(self.values()):
            if number % BATCH == 0:
                progress(f"reading {self.path.name}", self._share)
            yield columns.row(values)

    def refuse_name(self, to: Path) -> None:
        """UsageError if a copy's name indicates a form other than the file's."""
        named = _named_forms(to)
        if named and self.form not in named:
            raise UsageError(
                f"{to}: the copy has the format of {self.path.name}, so give it the same ending"
            )

    def copy(self, to: Path, removed: Collection[int]) -> None:
        """Write the file without the rows in `removed`, numbered from 0, in the same form."""
        match self.form:
            case "csv" | "json" | "parquet":
                copy_file(self.path, to, {row + 1 for row in removed}, {})
            case "arrow" | "stream":
                _copy_arrow(self.path, to, removed, self.form)
            case "lines":
                self._copy_lines(to, removed)

    def _read(self) -> Iterator[Any]:
        reader = RowReader([self.path])
        for row in reader:
            self._share = reader.done / reader.total if reader.total else None
            if len(row.raw) >= MAX_KEPT_BYTES:
                raise UsageError(f"{self.path} has a row of {MAX_KEPT_BYTES:,} bytes or more")
            try:
                yield read_json(row.raw)
            except orjson.JSONDecodeError:
                yield row.raw

    def _lines(self) -> Iterator[bytes]:
        with _unpacked(self.path) as file:
            first = next(file, b"")
            yield first.removeprefix(_MARK)
            yield from file

    def _copy_lines(self, to: Path, removed: Collection[int]) -> None:
        packed = is_packed(self.path)
        with _unpacked(self.path) as lines, to.open("wb") as file:
            copy = gzip.GzipFile("", fileobj=file, mode="wb", mtime=0) if packed else file
            row = 0
            for number, line in enumerate(lines):
                is_row = bool((line if number else line.removeprefix(_MARK)).strip())
                if not is_row or row not in removed:
                    copy.write(line)
                row += is_row
            if packed:
                copy.close()


def _decoded(line: bytes) -> str | bytes:
    """A line without its end; bytes if it is not UTF-8."""
    line = line.rstrip(b"\r\n")
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line


def _form_of(path: Path) -> Form:
    with path.open("rb") as file:
        start = file.read(8)
    for magic, form in _MAGIC:
        if start.startswith(magic):
            return form
    named = _named_forms(path)
    if named and named not in (("csv",), ("json",)):
        raise UsageError(f"{path} has no rows, or is not what its name says")
    with _unpacked(path) as unpacked:
        begin = unpacked.read(_BEGINNING)
    if begin.startswith(_UTF_16):
        raise UsageError(f"{path} is in UTF-16: write it as UTF-8")
    if begin.startswith(_NOT_TEXT) or b"\0" in begin.partition(b"\n")[0]:
        raise UsageError(
            f"{path} is not text, or is compressed: unpack it, or save its table as CSV"
        )
    return named[0] if named else "json" if _begins_json(begin) else "lines"


def _named_forms(path: Path) -> tuple[Form, ...]:
    """The forms that a name indicates; none if its ending is unknown."""
    return _ENDINGS.get(Path(path.name.lower().removesuffix(".gz")).suffix, ())


def clean_name(path: Path) -> Path:
    """The name of a file's copy: `.clean` before the ending that indicates its form."""
    packed = ".gz" if path.name.lower().endswith(".gz") else ""
    name = Path(path.name[: len(path.name) - len(packed)])
    return path.parent / f"{name.stem}.clean{name.suffix}{path.name[len(str(name)) :]}"


def _begins_json(begin: bytes) -> bool:
    """Whether this begins JSON lines or an array of objects; a text may also open a bracket."""
    begin = begin.removeprefix(_MARK).lstrip()
    if begin.startswith(b"["):
        return begin[1:].lstrip()[:1] in (b"{", b"]")
    try:
        return isinstance(orjson.loads(begin.partition(b"\n")[0]), dict)
    except orjson.JSONDecodeError:
        return False


def _looks_like_table(begin: bytes, columns: Columns) -> bool:
    """Whether unnamed input begins with a row of column names, among them that of the text."""
    line = begin.removeprefix(_MARK).partition(b"\n")[0].decode("utf-8", "replace")
    delimiter = delimiter_of(line)
    names = [name.strip().strip('"') for name in line.split(delimiter)]
    wanted = columns.text
    known = bool(written_as(wanted, names)) if wanted else any(map(is_usual_text, names))
    return len(names) > 1 and known


@contextmanager
def input_file(name: str, columns: Columns) -> Iterator[InputFile]:
    """Open a file; standard input (`-`) is copied to a temporary file first."""
    if name != STDIN:
        yield InputFile(Path(name))
        return
    with tempfile.TemporaryDirectory(prefix="palimpsest-clean-") as folder:
        path = Path(folder) / "stdin"
        own = sys.stdin is sys.__stdin__
        lines = open(0, "rb", closefd=False) if own else sys.stdin.buffer  # noqa: SIM115
        try:
            with path.open("wb") as kept:
                shutil.copyfileobj(cast("IO[bytes]", lines), kept)
        except OSError as error:
            where = error.filename or f"standard input, or its copy {path}"
            raise OSError(error.errno, error.strerror, where) from error
        yield InputFile(_named(path, columns))


def _named(path: Path, columns: Columns) -> Path:
    """Give the copy of standard input the ending by which readers recognise its format."""
    form = _form_of(path)
    if form == "lines":
        with _unpacked(path) as unpacked:
            form = "csv" if _looks_like_table(unpacked.read(_BEGINNING), columns) else form
    return path.rename(path.with_suffix(_SUFFIXES.get(form, path.suffix)))


@contextmanager
def _unpacked(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file, decompressed if it is gzipped; UsageError if it is damaged."""
    with path.open("rb") as file:
        if not is_packed(path):
            yield file
            return
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UsageError(f"{path} is cut short or damaged: {error}") from error


# -- Arrow ---------------------------------------------------------------------------------------


@contextmanager
def _arrow_reader(path: Path, form: Form) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the batches; UsageError for a damaged file."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as source:
            if form == "arrow":
                opened = pa.ipc.open_file(source)
                batches = (opened.get_batch(n) for n in range(opened.num_record_batches))
            else:
                opened = pa.ipc.open_stream(source)
                batches = iter(opened)
            refuse_repeated_names(opened.schema.names, str(path))
            yield opened.schema, batches
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the system, such as a full disk
        raise UsageError(f"{path} is not an Arrow file, or is damaged") from error


def batch_values(batch: Any) -> Iterator[Any]:
    """The rows of an Arrow batch as Python values, converted a few at a time."""
    import pyarrow as pa

    for start in range(0, batch.num_rows, BATCH):
        yield from values_of(pa.Table.from_batches([batch.slice(start, BATCH)]))


def _copy_arrow(path: Path, to: Path, removed: Collection[int], form: Form) -> None:
    import pyarrow as pa

    with _arrow_reader(path, form) as (schema, batches), pa.OSFile(str(to), "wb") as sink:
        made = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with made(sink, schema) as writer:
            before = 0
            for batch in batches:
                kept = [n for n in range(batch.num_rows) if before + n not in removed]
                before += batch.num_rows
                writer.write_table(rows_kept(pa.Table.from_batches([batch]), kept))


def rows_kept(table: Any, kept: Sequence[int]) -> Any:
    """Some rows of an Arrow table, in order."""
    import pyarrow as pa

    return pa.concat_tables([table.slice(0, 0), *slices(table, kept)]).combine_chunks()
