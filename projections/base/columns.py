"""Tables as data: each column with its Arrow type and the source of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from palimpsest.contracts.evidence import Neighbour

Shape = Callable[[Any], Any]

TEXT = pa.string()
TEXTS = pa.list_(pa.string())
WHOLE = pa.int64()
REAL = pa.float64()
YES_NO = pa.bool_()
MOMENT = pa.timestamp("us")
"""UTC without a zone, so that `date_trunc` and `::DATE` give every analyst the same day."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FEW = 16
"""Below this number, checking whether all values are equal is not worth it."""
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
class Same:
    """One value, repeated: a field that most events omit becomes a column in one step."""

    value: Any
    count: int


Found = Sequence[Any] | Same
"""The values of many rows."""


def mapped(function: Callable[[Any], Any], values: Found) -> Found:
    """Map each value, that of a `Same` once; many results that are all equal become a `Same`."""
    if isinstance(values, Same):
        return Same(function(values.value), values.count)
    found = list(map(function, values))
    count = len(found)
    if count >= FEW:
        first = found[0]
        # In most columns one of these two differs; counting takes a third of the time of reading.
        alike = first is found[-1] and first is found[count // 2]
        if alike and found.count(first) == count:
            return Same(first, count)
    return found


class Values:
    """The values of rows at dotted paths; common beginnings of paths are read once."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._found: dict[str, Found] = {"": rows}

    def at(self, path: str) -> Found:
        """The values at a path."""
        found = self._found.get(path)
        if found is None:
            parent, _, name = path.rpartition(".")
            found = self._found[path] = mapped(attrgetter(name), self.at(parent))
        return found


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and type, the path of its value in a row, and a function that converts it.

    By default, the path is the name.
    """

    name: str
    type: pa.DataType
    path: str | None = None
    shape: Shape | None = None

    def array(self, rows: Values) -> pa.Array:
        """The column's values in these rows."""
        values = rows.at(self.path or self.name)
        return as_array(values if self.shape is None else mapped(self.shape, values), self.type)


def as_array(values: Found, kind: pa.DataType) -> pa.Array:
    """Values as a column."""
    if isinstance(values, Same):
        if values.value is None:
            return pa.nulls(values.count, kind)
        if not pa.types.is_list(kind):
            return pa.repeat(pa.scalar(values.value, kind), values.count)
        if not values.value:
            return pa.ListArray.from_arrays(
                pa.array(np.zeros(values.count + 1, np.int32)), pa.array([], kind.value_type)
            )
        values = [values.value] * values.count
    if kind is MOMENT:
        # As differences from the epoch: Arrow would ask each datetime for its zone, 3x slower.
        since = [moment and moment - EPOCH for moment in values]
        return pa.array(since, pa.duration("us")).view(MOMENT)
    return _neighbours(values) if kind is NEIGHBOURS else pa.array(values, kind)


def _neighbours(values: Sequence[Sequence[Neighbour]]) -> pa.Array:
    """Lists of neighbours, built field by field: five times as fast as from dicts."""
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
    """A table of Parquet segments. Among rows with the same `key`, the highest position counts.

    If `buries` is set, a row whose `living` is false marks the key as deleted.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    buries: bool = False

    @property
    def lasting(self) -> bool:
        """Whether each row belongs to an event, and so never changes: its key has the position."""
        return self.key[0] == "position"

    @property
    def schema(self) -> pa.Schema:
        """The columns' names and types, in order."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def arrow(self, rows: Sequence[Any]) -> pa.Table:
        """Rows, at least one, as Arrow."""
        values = Values(rows)
        arrays = [column.array(values) for column in self.columns]
        return pa.Table.from_arrays(arrays, schema=self.schema)
