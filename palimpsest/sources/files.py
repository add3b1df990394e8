"""Files as `ingest` reads them: JSON lines or an array, CSV, gzipped or not, and Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import read_json
from palimpsest.sources.contract import Item, Kind
from palimpsest.streams.intake import RowReader


class FileSource:
    """The rows of one file."""

    kind: Kind = "file"
    remarks: Sequence[str] = ()

    def __init__(self, path: Path) -> None:
        """UsageError if the file cannot be read twice."""
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a file that can be read twice")
        self._path = path
        self.name = path.name
        self._reader = RowReader([path])

    @property
    def share(self) -> float | None:
        """The share of the file that was read."""
        total = self._reader.total
        return self._reader.done / total if total else None

    def rows(self) -> Iterator[Item]:
        """Each row as an object; a CloudEvent, or a row that is not an object, as its bytes."""
        self._reader = RowReader([self._path])
        for row in self._reader:
            yield _item(row.raw)


def _item(raw: bytes) -> Item:
    try:
        found = read_json(raw)
    except orjson.JSONDecodeError:
        return raw
    return found if isinstance(found, dict) and "specversion" not in found else raw
