"""A LanceDB table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest.contracts.extras import require_extra
from palimpsest.sources.contract import CountedRows, Item, Kind, SourcePlace, one_of
from palimpsest.streams.intake.parquet import values_of

SUFFIX = ".lance"
BATCH = 1_000


def tables_in(path: Path) -> list[str]:
    """The tables of a LanceDB folder."""
    return sorted(
        folder.name.removesuffix(SUFFIX) for folder in path.glob(f"*{SUFFIX}") if folder.is_dir()
    )


def locate_table(place: SourcePlace) -> tuple[Path, str]:
    """The folder of the database and the table; UsageError if the table is ambiguous."""
    if place.path.name.endswith(SUFFIX):
        return place.path.parent, place.path.name.removesuffix(SUFFIX)
    return place.path, one_of(tables_in(place.path), place.table, "table")


def row_ids(table: Any) -> list[int]:
    """LanceDB's own numbers of a table's rows, in the order in which the rows are read."""
    batches = table.search().with_row_id(True).limit(table.count_rows()).to_batches(BATCH)
    return [number for batch in batches for number in batch.column("_rowid").to_pylist()]


class LanceSource(CountedRows):
    """The rows of a table as they are now."""

    kind: Kind = "lancedb"

    def __init__(self, place: SourcePlace) -> None:
        """UsageError if the table is not named, or LanceDB is not installed."""
        with require_extra("a LanceDB table", "lancedb"):
            import lancedb

        folder, self.name = locate_table(place)
        self._table = lancedb.connect(folder).open_table(self.name)
        self._total = self._table.count_rows()

    def rows(self) -> Iterator[Item]:
        """Each row by its columns; vectors as arrays, without null values."""
        self._done = 0
        for batch in self._table.search().limit(self._total).to_batches(BATCH):
            for row in _rows(batch):
                self._done += 1
                yield {name: value for name, value in row.items() if value is not None}


def _rows(batch: Any) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    arrays = {
        field.name: table.column(field.name).combine_chunks()
        for field in table.schema
        if pa.types.is_fixed_size_list(field.type)
    }
    vectors = {
        name: array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), -1)
        for name, array in arrays.items()
        if not array.null_count
    }
    for number, row in enumerate(values_of(table.drop_columns([*vectors]))):
        yield row | {name: rows[number] for name, rows in vectors.items()}
