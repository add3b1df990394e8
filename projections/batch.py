"""The rows of a commit as Arrow, for both projections."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from palimpsest.projections.base.models import Models
from palimpsest.projections.base.rows import DistinctState, Gone, MemoryState, Rows
from palimpsest.projections.base.source import EventSource, Progress, no_progress
from palimpsest.projections.base.vectors import Packed
from palimpsest.projections.duckdb.tables import arrow_tables
from palimpsest.projections.fold import folded_owners, touched_owners
from palimpsest.projections.lancedb.tables import (
    CANDIDATES,
    MEMORIES,
    WINDOWS,
    WindowState,
    Writes,
    windows_of,
    writes,
)

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Batch:
    """The `count` rows of some events, up to and including position `upto`.

    `tables` are DuckDB's tables that have rows. `writes` are the changes of LanceDB's tables, whose
    vectors are in `vectors`.
    """

    upto: int
    count: int
    tables: Mapping[str, pa.Table]
    writes: Mapping[str, Writes]
    vectors: Packed
    models: Models

    @classmethod
    def of(cls, rows: Rows) -> Batch:
        """Convert rows to Arrow."""
        tables = arrow_tables(rows)
        memories, distincts = _living(rows.memories), _living(rows.distincts)
        found = [
            *(memory.vector for memory in memories),
            *(distinct.vector for distinct in distincts),
        ]
        windows, rewritten = _windows(rows)
        vectors, places = Packed.of([*found, *(window.vector for window in windows)])
        of_memories, of_distincts, of_windows = np.split(places, [len(memories), len(found)])
        shown = {
            CANDIDATES.name: writes(
                rows.distincts, rows.new, CANDIDATES.rows(distincts), of_distincts
            ),
            MEMORIES.name: writes(rows.memories, rows.new, _shown(tables, memories), of_memories),
            WINDOWS.name: Writes(
                WINDOWS.rows(windows), of_windows, np.ones(len(windows), np.bool_), rewritten
            ),
        }
        return cls(rows.upto, len(rows), tables, shown, vectors, rows.models)


def _living(states: Mapping[str, State | Gone]) -> list[State]:
    return [state for state in states.values() if not isinstance(state, Gone)]


def _windows(rows: Rows) -> tuple[list[WindowState], list[str]]:
    """The windows of the changed texts, and the ids of texts whose former windows are deleted.

    A face that is not composed is a candidate's text, which already has its windows.
    """
    texts: list[tuple[str, MemoryState | DistinctState | Gone]] = [*rows.distincts.items()]
    texts += [(f"face:{key}", state) for key, state in rows.memories.items()]
    windows = [
        window
        for text_id, state in texts
        if isinstance(state, DistinctState) or (isinstance(state, MemoryState) and state.composed)
        for window in windows_of(text_id, state)
    ]
    return windows, [
        text_id for text_id, _ in texts if text_id.removeprefix("face:") not in rows.new
    ]


def _shown(tables: Mapping[str, pa.Table], living: Sequence[MemoryState]) -> pa.Table:
    """The columns of living memories that both projections have."""
    if not living:
        return MEMORIES.rows(living)
    rows = tables["memories"].select([column.name for column in MEMORIES.columns])
    return rows if len(rows) == len(living) else rows.filter(tables["memories"]["living"])


def batches(
    source: EventSource, start: int, end: int, progress: Progress = no_progress
) -> Generator[Batch, None, None]:
    """The rows changed by the events after `start`, as they are at `end`."""
    return batches_of(source, touched_owners(source, start, end), start, end, progress)


def batches_of(
    source: EventSource,
    owners: Sequence[str],
    start: int,
    end: int,
    progress: Progress = no_progress,
) -> Generator[Batch, None, None]:
    """Like `batches`, for some owners."""
    with closing(folded_owners(source, owners, start, end, progress)) as found:
        yield from map(Batch.of, found)
