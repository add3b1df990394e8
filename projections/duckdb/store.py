"""Writes DuckDB's side: the segments of one store, without gaps from position 0 on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from palimpsest.projections.base.files import remove
from palimpsest.projections.base.source import Effect, EventSource, no_effect
from palimpsest.projections.batch import Batch
from palimpsest.projections.duckdb import compaction
from palimpsest.projections.duckdb.compaction import GRACE_SECONDS, compact, crowded, retire
from palimpsest.projections.duckdb.segments import (
    BUILDING,
    FOLDER,
    Segment,
    SegmentWriter,
    chain,
    listed,
    next_generation,
)
from palimpsest.projections.fold import folded


class DuckStore:
    """Writes segments; used on one thread of one process."""

    def __init__(self, folder: Path, effect: Effect = no_effect) -> None:
        self._folder = folder
        self._effect = effect
        self._chain: list[Segment] = []
        self._damaged: list[Path] = []

    @property
    def position(self) -> int:
        """The position up to which the segments reach."""
        return self._chain[-1].end if self._chain else 0

    @property
    def is_overdue(self) -> bool:
        """Whether the segments are too many to wait for a quiet moment before merging them."""
        return len(self._chain) > compaction.MOST

    def open(self, source: EventSource) -> list[str]:
        """Open the segments, and recreate what is missing between them; returns what was done.

        Damaged segments stay until `remove_damaged`, so that a query fails rather than misses rows.
        """
        remove(self._folder / BUILDING)
        # The views would read folders that are not segments, too.
        folder = self._folder / FOLDER
        strangers = [p for p in folder.iterdir() if Segment.of(p) is None]
        for path in strangers:
            remove(path)
        done = [f"{path.name} is not a segment, and was removed" for path in strangers]
        head = source.head()
        found = [segment for segment in listed(self._folder) if segment.end > 0]
        wrong = {s: why for s in found if (why := s.damage()) is not None}
        wrong |= {s: f"segment {s.path.name} is ahead of the log" for s in found if s.end > head}
        self._damaged = [segment.path for segment in wrong]
        self._chain, gaps = chain([segment for segment in found if segment not in wrong])
        for start, end in gaps:
            self.write(start, end, map(Batch.of, folded(source, start, end)))
            done.append(f"positions {start} to {end} of the segments were recreated")
        self._chain.sort()
        return [*done, *wrong.values()]

    def remove_damaged(self) -> None:
        """Remove the segments that `open` found damaged; their contents have been rewritten."""
        for path in self._damaged:
            remove(path)
        self._damaged.clear()

    def write(self, start: int, end: int, batches: Iterable[Batch]) -> None:
        """Write a range as one segment."""
        with SegmentWriter(self._folder, start, self._effect) as writer:
            for batch in batches:
                writer.write(batch.tables)
            self.add(writer, start, end)

    def add(self, writer: SegmentWriter, start: int, end: int) -> None:
        """Finish a segment of the range."""
        generation = next_generation(listed(self._folder), start, end)
        self._chain.append(writer.finish(end, generation))

    def commit(self, batch: Batch) -> None:
        """Write the rows of the events since the last commit."""
        if batch.upto > self.position:
            self.write(self.position, batch.upto, [batch])

    def replace(self, writer: SegmentWriter, end: int, *, at_once: bool) -> None:
        """Replace all segments by a single one; `at_once` if the existing ones are wrong.

        Otherwise the old ones stay for running queries until they are retired.
        """
        old = [segment for segment in listed(self._folder) if segment.end > 0]
        generation = max((s.generation for s in old if s.start == 0), default=-1) + 1
        # Without events, the empty tables below the views are all there is.
        self._chain = [writer.finish(end, generation)] if end else []
        for segment in old if at_once else ():
            self._effect("segment:retired")
            remove(segment.path)

    def tidy(self) -> bool:
        """Merge small segments if there are many, and remove those merged some time ago."""
        few = crowded(self._chain)
        if few:
            merged = compact(self._folder, few, self._effect)
            self._chain = [*self._chain[: -len(few)], merged]
        retire(self._folder, self._effect, grace=GRACE_SECONDS)
        return bool(few)
