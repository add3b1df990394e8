"""Rebuilds projections from the log, compares them and swaps them in (docs/design.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.extras import missing_extra
from palimpsest.projections.base.files import remove
from palimpsest.projections.base.source import Effect, EventSource, Progress
from palimpsest.projections.batch import Batch, batches
from palimpsest.projections.compare import ProjectionComparison, compare_lance, compare_segments
from palimpsest.projections.duckdb.segments import SegmentWriter
from palimpsest.projections.duckdb.store import DuckStore
from palimpsest.projections.lancedb.files import is_installed, is_kept, swap
from palimpsest.projections.lancedb.store import FOLDER, LanceStore
from palimpsest.projections.overlap import write_overlapped
from palimpsest.projections.sharing import StartHelper, no_helper, shared_batches

NAMES = ("lancedb", "duckdb")


def kept_projections(folder: Path) -> list[str]:
    """The projections that this process keeps up to date; LanceDB is an extra."""
    return [name for name in NAMES if name != "lancedb" or is_kept(folder)]


class Build:
    """The named projections, built from the log beside the live ones."""

    def __init__(self, folder: Path, names: Sequence[str], end: int, effect: Effect) -> None:
        for name in names:
            if name not in NAMES:
                raise UsageError(f"there is no projection {name}: use {' or '.join(NAMES)}")
        if "lancedb" in names and not is_installed():
            raise missing_extra("the projection lancedb", "lancedb")
        self.end = end
        self.rows = 0
        self.writer = SegmentWriter(folder, 0, effect) if "duckdb" in names else None
        self.lance: LanceStore | None = None
        if "lancedb" in names:
            self.lance = LanceStore(folder / f"{FOLDER}.new", effect)
            self.lance.create()

    def fill(
        self, source: EventSource, progress: Progress, start_helper: StartHelper = no_helper
    ) -> None:
        """Fold the log into the new projections, helped by another process if that pays off."""
        helper = start_helper(self.end)
        if helper is None:
            write_overlapped(batches(source, 0, self.end, progress), self._add)
        else:
            write_overlapped(shared_batches(source, self.end, progress, helper), self._add)
        if self.lance is not None:
            self.lance.index()
            self.lance.commit(self.end)

    def _add(self, batch: Batch) -> None:
        self.rows += batch.count
        if self.writer is not None:
            self.writer.write(batch.tables)
        if self.lance is not None:
            self.lance.apply(batch)

    def compare(self, live: Path, progress: Progress) -> dict[str, ProjectionComparison]:
        """Compare with the live ones, each up to its position."""
        found: dict[str, ProjectionComparison] = {}
        if self.writer is not None:
            progress("comparing duckdb", 0.0)
            found["duckdb"] = ProjectionComparison()
            self.writer.close()
            compare_segments(self.writer.beside, live, self.end, found["duckdb"])
        if self.lance is not None:
            progress("comparing lancedb", 0.5)
            found["lancedb"] = ProjectionComparison()
            compare_lance(self.lance.folder, live, found["lancedb"])
        progress("comparing", 1.0)
        return found

    def drop(self) -> None:
        """Remove what was built."""
        if self.writer is not None:
            self.writer.close()
            remove(self.writer.beside)
        if self.lance is not None:
            self.lance.close()
            remove(self.lance.folder)


def rebuild(
    folder: Path,
    source: EventSource,
    names: Sequence[str],
    duck: DuckStore,
    effect: Effect,
    progress: Progress,
    start_helper: StartHelper = no_helper,
) -> dict[str, Any]:
    """Build, compare and swap. The live projections must be idle, and opened again afterwards.

    Raises UsageError for an unknown name, or if LanceDB is named but not installed.
    """
    build = Build(folder, names, source.head(), effect)
    build.fill(source, progress, start_helper)
    found = build.compare(folder, progress)
    if build.writer is not None:
        duck.replace(build.writer, build.end, at_once=found["duckdb"].differences > 0)
    if build.lance is not None:
        build.lance.close()
        swap(build.lance.folder, folder / FOLDER, effect)
    return {
        name: {"position": build.end, "rows": c.checked, "differences": c.differences}
        for name, c in found.items()
    }
