"""Copies a file without some rows; the others keep their bytes if the format allows it."""

from __future__ import annotations

import csv
import gzip
import io
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any, TextIO

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import read_json, write_json
from palimpsest.sources.contract import Fields
from palimpsest.sources.mapping import with_value
from palimpsest.streams.intake import MAX_KEPT_BYTES, RowReader
from palimpsest.streams.intake.arrays import begins_array
from palimpsest.streams.intake.parquet import BATCH, INT96_UNIT
from palimpsest.streams.intake.tables import csv_reader, is_table, read_header

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BEGINNING = 64


NewValues = Mapping[int, Fields]
"""New values of rows, by row number and field name."""


def copy_file(path: Path, to: Path, removed: Collection[int], values: NewValues) -> None:
    """Write a file's rows without those `removed`, by number from 1, and with new `values`."""
    with path.open("rb") as file:
        start = file.read(len(_PARQUET))
    if start == _PARQUET:
        _copy_parquet(path, to, removed, values)
    elif is_table(str(path)):
        _copy_table(path, to, removed, values)
    else:
        _copy_json(path, to, removed, values)


def _copy_json(path: Path, to: Path, removed: Collection[int], values: NewValues) -> None:
    with _open_copy(path, "rb") as file:
        is_array = begins_array(file.read(_BEGINNING))
    rows = (
        _row_with(row, values[number]) if number in values else row
        for number, row in enumerate(_whole_rows(path), 1)
        if number not in removed
    )
    with _open_copy(to, "wb", packed=is_packed(path)) as copy:
        if not is_array:
            copy.writelines(row + b"\n" for row in rows)
            return
        copy.write(b"[")
        for number, row in enumerate(rows):
            copy.write((b",\n" if number else b"\n") + row)
        copy.write(b"\n]\n")


def _whole_rows(path: Path) -> Iterator[bytes]:
    """The rows of a file; UsageError for one that is too long to be read whole."""
    for row in RowReader([path]):
        if len(row.raw) >= MAX_KEPT_BYTES:
            raise UsageError(f"{path} has a row of {MAX_KEPT_BYTES:,} bytes or more")
        yield row.raw


def _row_with(raw: bytes, values: Fields) -> bytes:
    row = read_json(raw)
    for name, value in values.items():
        row = with_value(row, name, value)
    return write_json(row)


def _copy_table(path: Path, to: Path, removed: Collection[int], values: NewValues) -> None:
    with (
        _open_copy(path, "rb") as file,
        _open_copy(to, "wb", packed=is_packed(path)) as copy,
        io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="") as read,
        io.TextIOWrapper(copy, "utf-8", errors="surrogateescape", newline="") as write,
    ):
        if _has_mark(path):
            write.write("\ufeff")
        before, header, delimiter = read_header(read)
        write.write(before)
        if not header[0]:
            return
        _copy_rows(header, read, write, delimiter, removed, values)


def _copy_rows(
    header: Sequence[str],
    read: Iterable[str],
    write: TextIO,
    delimiter: str,
    removed: Collection[int],
    values: NewValues,
) -> None:
    """Copy the header and the rows that stay: as they are written, or with new values."""
    end = "\r\n" if header[0].endswith("\r\n") else "\n"
    lines: list[str] = []
    rows = csv_reader(_noted(chain(header, read), lines), delimiter)
    writer = csv.writer(write, delimiter=delimiter, lineterminator=end)
    columns = [name.strip() for name in next(rows)]
    write.writelines(lines)
    lines.clear()
    numbers = count(1)
    for cells in rows:
        number = next(numbers) if cells else 0
        if number in values:
            for name, value in values[number].items():
                cells[columns.index(name)] = value
            writer.writerow(cells)
        elif number and number not in removed:
            write.writelines(lines)
        lines.clear()


def _has_mark(path: Path) -> bool:
    """Whether a file begins with a byte order mark, which is part of no cell."""
    with _open_copy(path, "rb") as file:
        return bool(file.read(len(BOM_UTF8)) == BOM_UTF8)


def _noted(lines: Iterable[str], notes: list[str]) -> Iterator[str]:
    """The same lines; each one that was read is added to the notes."""
    for line in lines:
        notes.append(line)
        yield line


def _copy_parquet(path: Path, to: Path, removed: Collection[int], values: NewValues) -> None:
    """Copy each row group as one of the same compression, unless no row of it is left."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, ParquetWriter

    unit = _int96_unit(path)
    with ParquetFile(path, coerce_int96_timestamp_unit=unit) as file:
        schema = file.schema_arrow
        compression = _compression(file.metadata)
        with ParquetWriter(
            to, schema, compression=compression, use_deprecated_int96_timestamps=unit is not None
        ) as writer:
            before = 0
            for group in range(file.num_row_groups):
                parts = [schema.empty_table()]
                for batch in file.iter_batches(BATCH, row_groups=[group]):
                    numbers = range(before + 1, before + 1 + batch.num_rows)
                    before += batch.num_rows
                    table = _with_values(pa.Table.from_batches([batch], schema), numbers, values)
                    kept = [place for place, row in enumerate(numbers) if row not in removed]
                    parts += slices(table, kept)
                if (rows := pa.concat_tables(parts)).num_rows:
                    writer.write_table(rows)


def _int96_unit(path: Path) -> str | None:
    """The finest unit in which the times of INT96 columns fit; None without such columns."""
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import ParquetFile

    with (
        ParquetFile(path) as fine,
        ParquetFile(path, coerce_int96_timestamp_unit=INT96_UNIT) as coarse,
    ):
        columns = [one.path for one in fine.schema if one.physical_type == "INT96"]
        for group in range(fine.num_row_groups):
            times = coarse.read_row_group(group, columns)
            try:
                times.cast(fine.read_row_group(group, columns).schema)
            except ArrowInvalid:  # one is outside the range of nanoseconds
                return INT96_UNIT
        return "ns" if columns else None


def _compression(metadata: Any) -> str:
    """The compression of most columns; a file without rows has none."""
    if not metadata.num_row_groups:
        return "NONE"
    group = metadata.row_group(0)
    counts = Counter(group.column(n).compression for n in range(group.num_columns))
    name: str = next((name for name, _ in counts.most_common(1)), "NONE")
    return "NONE" if name == "UNCOMPRESSED" else name


def slices(table: Any, kept: Sequence[int]) -> Iterator[Any]:
    """Rows of an Arrow table as slices of it; `take` and `filter` do not support every type."""
    for _, run in groupby(enumerate(kept), key=lambda place: place[1] - place[0]):
        rows = [row for _, row in run]
        yield table.slice(rows[0], len(rows))


def _with_values(table: Any, numbers: range, values: NewValues) -> Any:
    """A table of the rows with these numbers, with the new values of some of them."""
    import pyarrow as pa

    new: dict[str, dict[int, Any]] = defaultdict(dict)
    for number in values.keys() & numbers:
        for name, value in values[number].items():
            new[name][number - numbers.start] = value
    for name, by_place in new.items():
        at = table.schema.get_field_index(name)
        field, column = table.schema.field(at), table.column(at).to_pylist()
        for place, value in by_place.items():
            column[place] = value
        table = table.set_column(at, field, pa.array(column, field.type))
    return table


def is_packed(path: Path) -> bool:
    """Whether a file is gzipped."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


@contextmanager
def _open_copy(path: Path, mode: str, *, packed: bool | None = None) -> Iterator[Any]:
    """Open a file, through gzip if it is `packed`: by default, if its bytes say so."""
    gzipped = is_packed(path) if packed is None else packed
    with path.open(mode) as file:
        if not gzipped:
            yield file
            return
        with gzip.GzipFile("", fileobj=file, mode=mode, mtime=0) as unpacked:
            yield unpacked
