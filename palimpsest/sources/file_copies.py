"""A file once more without some of its rows; the others keep their bytes where the form allows."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

import orjson

from palimpsest.sources.mapping import said_again
from palimpsest.streams.intake import RowReader
from palimpsest.streams.intake.arrays import begins_array
from palimpsest.streams.intake.parquet import BATCH
from palimpsest.streams.intake.tables import delimiter_of, is_table

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BEGINNING = 64


def copy_file(
    path: Path, to: Path, removed: Collection[int], texts: Mapping[int, str], field: str
) -> None:
    """Write a file's rows without those `removed`, by number from 1, and with other `texts`.

    `field` is the one that has the text.
    """
    with path.open("rb") as file:
        start = file.read(len(_PARQUET))
    if start == _PARQUET:
        _parquet(path, to, removed, texts, field)
    elif is_table(str(path)):
        _table(path, to, removed, texts, field)
    else:
        _json(path, to, removed, texts, field)


def _json(
    path: Path, to: Path, removed: Collection[int], texts: Mapping[int, str], field: str
) -> None:
    with _opened(path, "rb") as file:
        is_array = begins_array(file.read(_BEGINNING))
    rows = (
        _said(row.raw, field, texts[number]) if number in texts else row.raw
        for number, row in enumerate(RowReader([path]), 1)
        if number not in removed
    )
    with _opened(to, "wb", packed=_is_packed(path)) as copy:
        if not is_array:
            copy.writelines(row + b"\n" for row in rows)
            return
        copy.write(b"[")
        for number, row in enumerate(rows):
            copy.write((b",\n" if number else b"\n") + row)
        copy.write(b"\n]\n")


def _said(raw: bytes, field: str, text: str) -> bytes:
    return orjson.dumps(said_again(orjson.loads(raw), field, text))


def _table(
    path: Path, to: Path, removed: Collection[int], texts: Mapping[int, str], field: str
) -> None:
    with (
        _opened(path, "rb") as file,
        _opened(to, "wb", packed=_is_packed(path)) as copy,
        io.TextIOWrapper(file, "utf-8", errors="surrogateescape", newline="") as read,
        io.TextIOWrapper(copy, "utf-8", errors="surrogateescape", newline="") as write,
    ):
        first = read.readline()
        delimiter = delimiter_of(first)
        end = "\r\n" if first.endswith("\r\n") else "\n"
        rows = csv.reader(chain([first], read), delimiter=delimiter)
        writer = csv.writer(write, delimiter=delimiter, lineterminator=end)
        names = next(rows)
        writer.writerow(names)
        column = [name.strip().removeprefix("\ufeff") for name in names].index(field)
        numbers = count(1)
        for cells in rows:
            number = next(numbers) if cells else 0
            if number in texts:
                cells[column] = texts[number]
            if number and number not in removed:
                writer.writerow(cells)


def _parquet(
    path: Path, to: Path, removed: Collection[int], texts: Mapping[int, str], field: str
) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with ParquetFile(path) as file, ParquetWriter(to, file.schema_arrow) as writer:
        before = 0
        for batch in file.iter_batches(BATCH):
            table = pa.Table.from_batches([batch], file.schema_arrow)
            numbers = range(before + 1, before + 1 + table.num_rows)
            before += table.num_rows
            if not texts.keys().isdisjoint(numbers):
                table = _with_texts(
                    table, {n - numbers[0]: texts[n] for n in texts if n in numbers}, field
                )
            writer.write_table(table.filter(pa.array([n not in removed for n in numbers])))


def _with_texts(table: Any, texts: Mapping[int, str], field: str) -> Any:
    import pyarrow as pa

    at = table.schema.get_field_index(field)
    values = [texts.get(n, text) for n, text in enumerate(table.column(at).to_pylist())]
    return table.set_column(
        at, table.schema.field(at), pa.array(values, table.schema.field(at).type)
    )


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


@contextmanager
def _opened(path: Path, mode: str, *, packed: bool | None = None) -> Iterator[Any]:
    """A file's bytes, packed by gzip or not."""
    is_packed = _is_packed(path) if packed is None else packed
    with path.open(mode) as file:
        if not is_packed:
            yield file
            return
        with gzip.GzipFile(fileobj=file, mode=mode, mtime=0) as unpacked:
            yield unpacked
