"""LanceDB's tables for recall: living memories, distinct texts, windows (docs/design.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from palimpsest.contracts.events import Vector
from palimpsest.projections.base.columns import TEXT, WHOLE, Column, Values
from palimpsest.projections.base.rows import DistinctState, Gone, MemoryState, Row
from palimpsest.projections.base.vectors import Numbers, Places, of_dimension
from palimpsest.projections.duckdb.tables import MEMORY_COLUMNS


class WindowState(Row, frozen=True):
    """A window, but not the first, of a text longer than the model's input (`text_id`)."""

    key: str
    text_id: str
    memory_id: str
    owner_id: str
    namespace: str
    vector: Vector


State = MemoryState | DistinctState | WindowState
FOREIGN = "foreign_vector"


@dataclass(frozen=True, slots=True)
class LanceTable:
    """A table of LanceDB: its key, and its columns without the vector."""

    name: str
    key: str
    columns: tuple[Column, ...]

    def schema(self, dimension: int) -> pa.Schema:
        """The columns, then the vector as a list of float32 of fixed size.

        A vector of another dimension is kept as recorded, in case the store switches to its model.
        """
        fields = [pa.field(column.name, column.type) for column in self.columns]
        vector = pa.field("vector", pa.list_(pa.float32(), dimension))
        return pa.schema([*fields, vector, pa.field(FOREIGN, TEXT)])

    def rows(self, states: Sequence[State]) -> pa.Table:
        """Living rows without their vectors."""
        values = Values(states)
        arrays = [column.array(values) for column in self.columns]
        return pa.Table.from_arrays(arrays, [column.name for column in self.columns])

    def arrow(self, rows: pa.Table, places: Places, vectors: Numbers) -> pa.Table:
        """Rows with their vectors."""
        arrays = [*rows.columns, vectors.column(places), vectors.foreign(places)]
        return pa.Table.from_arrays(arrays, schema=self.schema(vectors.dimension))

    def of_dimension(
        self, batches: Iterable[pa.RecordBatch], dimension: int
    ) -> Iterator[pa.RecordBatch]:
        """Convert rows of this table to another dimension."""
        schema = self.schema(dimension)
        for batch in batches:
            arrays = [batch.column(column.name) for column in self.columns]
            arrays += of_dimension(batch.column("vector"), batch.column(FOREIGN), dimension)
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


CANDIDATES = LanceTable(
    "candidates",
    "distinct_id",
    (
        Column("distinct_id", TEXT, "key"),
        Column("candidate_id", TEXT, "entry.id"),
        Column("owner_id", TEXT, "entry.fields.owner_id"),
        Column("namespace", TEXT, "entry.fields.namespace"),
        Column("text", TEXT),
        Column("memory_id", TEXT),
        Column("session_id", TEXT, "entry.fields.session_id"),
        Column("position", WHOLE),
    ),
)
MEMORIES = LanceTable(
    "memories",
    "memory_id",
    (
        Column("memory_id", TEXT),
        *(Column(name, kind) for name, kind in MEMORY_COLUMNS),
        Column("position", WHOLE),
    ),
)
WINDOWS = LanceTable(
    "windows",
    "window_id",
    (
        Column("window_id", TEXT, "key"),
        Column("text_id", TEXT),
        Column("memory_id", TEXT),
        Column("owner_id", TEXT),
        Column("namespace", TEXT),
    ),
)
"""The table exists once a text has windows."""
LANCE_TABLES = (CANDIDATES, MEMORIES, WINDOWS)


def windows_of(text_id: str, state: MemoryState | DistinctState) -> list[WindowState]:
    """The rows for the windows of a text."""
    if state.vector is None or state.vector.windows is None:
        return []
    about = state if isinstance(state, MemoryState) else state.entry.fields
    return [
        WindowState(
            key=f"{text_id}/{number}",
            text_id=text_id,
            memory_id=state.memory_id,
            owner_id=about.owner_id,
            namespace=about.namespace,
            vector=vector,
        )
        for number, vector in enumerate(state.vector.each()[1:], start=1)
    ]


@dataclass(frozen=True, slots=True)
class Writes:
    """A commit's changes to one table: living rows with the places of their vectors, and deletions.

    No table can hold a `new` row yet, so it is appended, at a third of the cost of merging. `gone`
    are keys; for windows, they are the keys of texts, whose windows are deleted before rows are
    appended.
    """

    rows: pa.Table
    places: Places
    new: NDArray[np.bool_]
    gone: list[str]


def writes(
    states: Mapping[str, State | Gone], new: Set[str], rows: pa.Table, places: Places
) -> Writes:
    """Sort a commit's states by how they are written; `rows` and `places` are of living states."""
    is_new = [key in new for key, state in states.items() if not isinstance(state, Gone)]
    gone = [key for key, state in states.items() if isinstance(state, Gone) and key not in new]
    return Writes(rows, places, np.array(is_new, np.bool_), gone)
