"""CSV as rows: the first line names the fields, each other line is a JSON object of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from palimpsest.contracts.errors import UsageError

DELIMITERS = ",;\t|"
NUMBERS = ("confidence", "importance", "intensity")
"""Fields whose cells are numbers: all others are text, as CSV has no types."""


def is_table(path: str) -> bool:
    """Whether a file's name says that it is CSV, packed or not."""
    return path.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def delimiter_of(line: str) -> str:
    """What most probably stands between the names of a first line."""
    return max(DELIMITERS, key=line.count)


def table_rows(file: io.BufferedReader, path: str, renames: Mapping[str, str]) -> Iterator[bytes]:
    """Each line as JSON; empty cells are left out. UsageError where the file is no CSV.

    A line with more cells than there are fields is a JSON array: its reader finds no object,
    and nothing of a text with a comma in it is lost unseen.
    """
    text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        first = text.readline()
        reader = csv.reader(chain([first], text), delimiter=delimiter_of(first))
        names = [name.strip() for name in next(reader, [])]
        for cells in reader:
            if cells:
                row: Any = cells if len(cells) > len(names) else _row(names, cells, renames)
                yield json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except csv.Error as error:
        raise UsageError(f"{path} cannot be read as CSV: {error}") from error
    finally:
        text.detach()


def _row(names: list[str], cells: list[str], renames: Mapping[str, str]) -> dict[str, Any]:
    pairs = zip(names, cells, strict=False)
    return {name: _value(renames.get(name, name), cell) for name, cell in pairs if cell}


def _value(field: str, cell: str) -> Any:
    """A cell as the field takes it; what it cannot take stays text, and is told as wrong."""
    if field in NUMBERS:
        try:
            return float(cell)
        except ValueError:
            return cell
    if field == "topics" and not cell.startswith("["):
        return [topic.strip() for topic in cell.split(",")]
    if field in ("topics", "metadata"):
        try:
            return json.loads(cell)
        except ValueError:
            return cell
    return cell
