"""Reads CSV: the first line has the field names, and each other line becomes a JSON object."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import isfinite
from typing import Any

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import read_json
from palimpsest.streams.intake.rows import MAX_KEPT_BYTES, refuse_repeated_names

DELIMITERS = ",;\t|"
NUMBERS = ("confidence", "importance", "intensity")
"""Fields whose cells are numbers; all others are text, because CSV has no types."""


_OPENING = rf'(?<![^{DELIMITERS}])"'
"""A quote opens only at the start of a cell; inside a cell it is part of the text."""
_QUOTED = re.compile(rf'{_OPENING}[^"]*(?:""[^"]*)*"')
_NAMED = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_LONGEST_HEADER = 100
"""The most lines of a header, in case a quote in it is never closed."""
_UTF_16 = ("\udcff\udcfe", "\udcfe\udcff")
"""How a UTF-16 file begins when read as UTF-8; spreadsheets may save Unicode as UTF-16."""


def is_table(path: str) -> bool:
    """Whether a file's name says that it is CSV, gzipped or not."""
    return path.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def read_header(file: io.TextIOBase) -> tuple[str, list[str], str]:
    """A line such as `sep=;`, if a spreadsheet wrote one; the header's lines; and its delimiter.

    The header has several lines if one of its names, in quotes, does.
    """
    first = file.readline()
    if named := _NAMED.fullmatch(first):
        return first, [file.readline()], named[1]
    lines = [first]
    while lines[-1] and len(lines) < _LONGEST_HEADER and _is_open(lines):
        lines.append(file.readline())
    return "", lines, delimiter_of(lines[0] if _is_open(lines) else "".join(lines))


def _is_open(lines: list[str]) -> bool:
    """Whether these lines end inside quotes."""
    return re.search(_OPENING, _QUOTED.sub("", "".join(lines))) is not None


def delimiter_of(row: str) -> str:
    """The most likely delimiter in a first row, outside its quotes."""
    return max(DELIMITERS, key=_QUOTED.sub("", row).count)


def table_rows(file: io.BufferedReader, path: str, renames: Mapping[str, str]) -> Iterator[bytes]:
    """Each line as JSON; empty cells are left out. Raises UsageError if the file is not CSV.

    A line with more cells than fields becomes a JSON array, which is invalid, so that no part of a
    text with a comma is lost unnoticed. For the same reason, a table is refused if two columns have
    the same name, or if it ends inside quotes.
    """
    text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        before, header, delimiter = read_header(text)
        if header[0].startswith(_UTF_16):
            raise UsageError(f"{path} is in UTF-16: write it as UTF-8")
        lines = _Lines(chain(header, text))
        reader = csv_reader(lines, delimiter)
        names = [name.strip() for name in next(reader, [])]
        refuse_repeated_names(names, path)
        if names:
            lines.check(1)
        begins = reader.line_num + 1
        for cells in reader:
            lines.check(begins + bool(before))
            if cells:
                row: Any = cells if len(cells) > len(names) else _row(names, cells, renames)
                yield json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape")
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UsageError(f"{path} cannot be read as CSV: {error}") from error
    finally:
        text.detach()


def csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    """The cells of each line. A cell may be as long as a row, whose length is checked later."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_KEPT_BYTES))  # for the whole process
    return csv.reader(lines, delimiter=delimiter)


class _Lines:
    """Lines that note when they have ended, so that an unfinished row is detected."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            return line
        self._ended = True
        raise StopIteration

    def check(self, begins: int) -> None:
        """Raise csv.Error if the row that begins on this line has no end."""
        if self._ended:
            raise csv.Error(f"a quote of the row in line {begins} is not closed")


def _row(names: list[str], cells: list[str], renames: Mapping[str, str]) -> dict[str, Any]:
    pairs = zip(names, cells, strict=False)
    return {name: _value(renames.get(name, name), cell) for name, cell in pairs if cell}


def _value(field: str, cell: str) -> Any:
    """A cell in the field's type; an invalid one stays text, and is reported later."""
    if field in NUMBERS:
        try:
            number = float(cell)
        except ValueError:
            return cell
        return number if isfinite(number) and "_" not in cell else cell
    if field == "topics" and not cell.startswith("["):
        return [topic.strip() for topic in cell.split(",")]
    if field in ("topics", "metadata"):
        try:
            return read_json(cell.encode("utf-8", "surrogateescape"))
        except ValueError:
            return cell
    return cell
