"""Merges small segments, so that analysts read few files; the old ones are removed later."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import duckdb

from palimpsest.projections.base.columns import Table
from palimpsest.projections.base.files import remove
from palimpsest.projections.base.source import Effect
from palimpsest.projections.duckdb.segments import (
    GROUP_ROWS,
    Segment,
    SegmentWriter,
    chain,
    listed,
    next_generation,
)
from palimpsest.projections.duckdb.tables import TABLES
from palimpsest.projections.duckdb.views import literal_glob, quoted

FEWEST = 16
"""Minimum number of segments to merge. 100 files of 500 rows are read in 9 ms."""
MOST = 48
GRACE_SECONDS = 60.0
"""How long replaced segments stay, for queries that have already listed them."""


def crowded(segments: Sequence[Segment]) -> Sequence[Segment]:
    """The latest segments to merge, if any.

    They begin with the first one that is not larger than all later ones together. So the number of
    times that a row is rewritten grows only with the logarithm of the number of rows.
    """
    following = 0
    first = len(segments)
    for number in range(len(segments) - 1, -1, -1):
        rows = segments[number].rows()
        if rows <= following or number == len(segments) - 1:
            first = number
        following += rows
    if len(segments) - first >= FEWEST:
        return segments[first:]
    return segments[-FEWEST:] if len(segments) > MOST else ()


def compact(folder: Path, segments: Sequence[Segment], effect: Effect) -> Segment:
    """Write consecutive segments as one; the old ones stay until they are retired."""
    start, end = segments[0].start, segments[-1].end
    with SegmentWriter(folder, start, effect) as writer, _database(writer.beside) as database:
        for table in TABLES:
            files = [path for s in segments if (path := s.file(table.name)).exists()]
            if files:
                target = writer.beside / f"{table.name}.parquet"
                database.execute(_merged(table, files, target))
        return writer.finish(end, next_generation(listed(folder), start, end))


def _database(folder: Path) -> duckdb.DuckDBPyConnection:
    limits: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": "512MB",
        "threads": 1,
        "temp_directory": str(folder.parent / "spilled"),
    }
    return duckdb.connect(config=limits)


def _merged(table: Table, files: Sequence[Path], target: Path) -> str:
    """Keep the latest row per key, even if it marks the key as deleted.

    The old segments stay for a while, and their rows must not reappear. Only keys and positions are
    held in memory: the rows stream through in the order of the files, unsorted.
    """
    listing = ", ".join(quoted(literal_glob(path.as_posix())) for path in files)
    rows = f"FROM read_parquet([{listing}])"
    if not table.lasting:
        keys = ", ".join(table.key)
        latest = f"SELECT {keys}, max(position) AS position {rows} GROUP BY {keys}"
        rows += f" SEMI JOIN ({latest}) USING ({keys}, position)"
    options = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {GROUP_ROWS})"
    return f"COPY ({rows}) TO {quoted(str(target))} {options}"


def retire(folder: Path, effect: Effect, *, grace: float = GRACE_SECONDS) -> None:
    """Remove segments that were replaced at least `grace` seconds ago."""
    segments = [segment for segment in listed(folder) if segment.end > 0]
    chosen, _ = chain(segments)
    for segment in set(segments).difference(chosen):
        covers = next(
            (s for s in chosen if s.start <= segment.start and segment.end <= s.end), None
        )
        if covers is not None and time.time() - covers.path.stat().st_mtime >= grace:
            effect("segment:retired")
            remove(segment.path)
