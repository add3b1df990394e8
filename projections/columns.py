"""Tables as data: each column with its Arrow type and where its value comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import Any

import pyarrow as pa

from palimpsest.contracts.evidence import Neighbour

Shape = Callable[[Any], Any]

TEXT = pa.string()
TEXTS = pa.list_(pa.string())
WHOLE = pa.int64()
REAL = pa.float64()
YES_NO = pa.bool_()
MOMENT = pa.timestamp("us")
"""UTC, without a zone: so `date_trunc` and `::DATE` mean the same day for every analyst."""
_NEIGHBOUR = pa.struct(
    [
        ("candidate_id", TEXT),
        ("cosine", REAL),
        ("jaccard", REAL),
        ("near_identical", YES_NO),
        ("cues", TEXTS),
    ]
)
NEIGHBOURS = pa.list_(_NEIGHBOUR)


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and type, where in a row its value is, and what becomes of it."""

    name: str
    type: pa.DataType
    path: str
    shape: Shape | None = None

    def array(self, values: Sequence[Any]) -> pa.Array:
        """The column of these values."""
        if self.shape is not None:
            values = list(map(self.shape, values))
        return _neighbours(values) if self.type is NEIGHBOURS else pa.array(values, self.type)


def by_column(rows: Sequence[Any], paths: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """The values of one row or more at several paths, path by path.

    Each row is read once: going through all of them for each path took twice as long, because
    they do not fit the processor's cache.
    """
    return zip(*map(attrgetter(*paths), rows), strict=True)


def _neighbours(values: Sequence[Sequence[Neighbour]]) -> pa.Array:
    """Lists of neighbours, field by field: five times as fast as through dicts."""
    flat = [neighbour for value in values for neighbour in value]
    fields = [
        pa.array([getattr(neighbour, field.name) for neighbour in flat], field.type)
        for field in _NEIGHBOUR
    ]
    offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
    structs = pa.StructArray.from_arrays(fields, fields=list(_NEIGHBOUR))
    return pa.ListArray.from_arrays(offsets, structs)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of Parquet segments. Of rows with one `key` the one of the highest position counts.

    Where it `buries`, a row whose `living` is false says that there is none any more.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    buries: bool = False

    @property
    def lasting(self) -> bool:
        """Whether a row is an event's, found by its position in the log."""
        return self.key[0] == "position"

    @property
    def schema(self) -> pa.Schema:
        """The columns' names and types, in order."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def arrow(self, rows: Sequence[Any]) -> pa.Table:
        """One row or more as Arrow."""
        values = by_column(rows, (column.path for column in self.columns))
        arrays = [column.array(found) for column, found in zip(self.columns, values, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)
