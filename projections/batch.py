"""What a commit writes, as Arrow: the rows of both projections, made once."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from palimpsest.projections.folding import folded_owners, touched_owners
from palimpsest.projections.lance_tables import CANDIDATES, MEMORIES, Writes, writes
from palimpsest.projections.models import Models
from palimpsest.projections.rows import Gone, MemoryState, Rows
from palimpsest.projections.source import EventSource, Progress, no_progress
from palimpsest.projections.tables import arrow_tables
from palimpsest.projections.vectors import Packed

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Batch:
    """The `count` rows of some events, up to and including position `upto`.

    `tables` are those of DuckDB that have rows. `writes` is what happens to those of LanceDB, whose
    vectors are among `vectors`.
    """

    upto: int
    count: int
    tables: Mapping[str, pa.Table]
    writes: Mapping[str, Writes]
    vectors: Packed
    models: Models

    @classmethod
    def of(cls, rows: Rows) -> Batch:
        """These rows as Arrow."""
        tables = arrow_tables(rows)
        memories, distincts = _living(rows.memories), _living(rows.distincts)
        found = [*(one.vector for one in memories), *(one.vector for one in distincts)]
        vectors, places = Packed.of(found)
        of_memories, of_distincts = places[: len(memories)], places[len(memories) :]
        shown = {
            CANDIDATES.name: writes(
                rows.distincts, rows.new, CANDIDATES.rows(distincts), of_distincts
            ),
            MEMORIES.name: writes(rows.memories, rows.new, _shown(tables, memories), of_memories),
        }
        return cls(rows.upto, len(rows), tables, shown, vectors, rows.models)


def _living(states: Mapping[str, State | Gone]) -> list[State]:
    return [state for state in states.values() if not isinstance(state, Gone)]


def _shown(tables: Mapping[str, pa.Table], living: Sequence[MemoryState]) -> pa.Table:
    """What both projections say of living memories."""
    if not living:
        return MEMORIES.rows(living)
    rows = tables["memories"].select([column.name for column in MEMORIES.columns])
    return rows if len(rows) == len(living) else rows.filter(tables["memories"]["living"])


def batches(
    source: EventSource, start: int, end: int, progress: Progress = no_progress
) -> Generator[Batch, None, None]:
    """What the events after `start` touched, as it is at `end`."""
    return batches_of(source, touched_owners(source, start, end), start, end, progress)


def batches_of(
    source: EventSource,
    owners: Sequence[str],
    start: int,
    end: int,
    progress: Progress = no_progress,
) -> Generator[Batch, None, None]:
    """As `batches`, of some owners."""
    with closing(folded_owners(source, owners, start, end, progress)) as found:
        yield from map(Batch.of, found)
