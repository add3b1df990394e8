"""The two tables of LanceDB for recall: living memories and distinct texts (docs/design.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from palimpsest.projections.columns import TEXT, WHOLE, by_column
from palimpsest.projections.rows import DistinctState, Gone, MemoryState, Rows
from palimpsest.projections.tables import MEMORY_COLUMNS
from palimpsest.projections.vectors import Decoded, of_dimension

State = MemoryState | DistinctState
FOREIGN = "foreign_vector"

_DISTINCTS = (
    ("distinct_id", TEXT, "key"),
    ("candidate_id", TEXT, "entry.id"),
    ("owner_id", TEXT, "entry.fields.owner_id"),
    ("namespace", TEXT, "entry.fields.namespace"),
    ("text", TEXT, "text"),
    ("memory_id", TEXT, "memory_id"),
    ("session_id", TEXT, "entry.fields.session_id"),
    ("position", WHOLE, "position"),
)
_MEMORIES = (
    ("memory_id", TEXT, "memory_id"),
    *((name, kind, name) for name, kind in MEMORY_COLUMNS),
    ("position", WHOLE, "position"),
)


@dataclass(frozen=True, slots=True)
class LanceTable:
    """A table of LanceDB: its key, and its columns but the vector with where they come from."""

    name: str
    key: str
    columns: tuple[tuple[str, pa.DataType, str], ...]

    def schema(self, dimension: int) -> pa.Schema:
        """The columns, then the vector, as a list of float32 of fixed size.

        A vector of another dimension is kept as it was recorded, for when that one is wanted.
        """
        fields = [pa.field(name, kind) for name, kind, _ in self.columns]
        vector = pa.field("vector", pa.list_(pa.float32(), dimension))
        return pa.schema([*fields, vector, pa.field(FOREIGN, TEXT)])

    def arrow(self, states: Sequence[State], vectors: Decoded) -> pa.Table:
        """One living row or more as Arrow."""
        found = by_column(states, (path for _, _, path in self.columns))
        kinds = (kind for _, kind, _ in self.columns)
        arrays = [pa.array(values, kind) for values, kind in zip(found, kinds, strict=True)]
        said = [state.vector for state in states]
        arrays += [vectors.column(said), vectors.foreign(said)]
        return pa.Table.from_arrays(arrays, schema=self.schema(vectors.dimension))

    def of_dimension(
        self, batches: Iterable[pa.RecordBatch], dimension: int
    ) -> Iterator[pa.RecordBatch]:
        """Rows of this table as they are where another dimension is wanted."""
        schema = self.schema(dimension)
        for batch in batches:
            arrays = [batch.column(name) for name, _, _ in self.columns]
            arrays += of_dimension(batch.column("vector"), batch.column(FOREIGN), dimension)
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


MEMORIES = LanceTable("memories", "memory_id", _MEMORIES)
CANDIDATES = LanceTable("candidates", "distinct_id", _DISTINCTS)
LANCE_TABLES = (CANDIDATES, MEMORIES)


@dataclass(frozen=True, slots=True)
class Writes:
    """What a commit does to one table: rows that no table can hold yet, others, and leavers."""

    added: list[State]
    changed: list[State]
    gone: list[str]


def writes(table: LanceTable, rows: Rows) -> Writes:
    """Sort a commit's rows by how they are written: appending costs a third of merging."""
    states: dict[str, State | Gone] = {**(rows.memories if table is MEMORIES else rows.distincts)}
    found = Writes([], [], [])
    for key, state in states.items():
        new = key in rows.new
        if isinstance(state, Gone):
            if not new:
                found.gone.append(key)
        else:
            (found.added if new else found.changed).append(state)
    return found
