"""Compares everything with the fold of the log, and counts each difference (docs/design.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from palimpsest.contracts.errors import StoreError
from palimpsest.projections.base.files import remove, store_errors
from palimpsest.projections.base.source import EventSource, Progress, no_effect, no_progress
from palimpsest.projections.compare import Difference, ProjectionComparison
from palimpsest.projections.duckdb.segments import chain, listed
from palimpsest.projections.lancedb.files import is_kept
from palimpsest.projections.lancedb.store import FOLDER, read_state
from palimpsest.projections.rebuild import Build, kept_projections
from palimpsest.projections.sharing import StartHelper, no_helper


def verify(
    source: EventSource,
    folder: Path,
    progress: Progress | None = None,
    start_helper: StartHelper = no_helper,
) -> dict[str, Any]:
    """Compare the projections with the log; returns `differences`, `checked` and `details`.

    The details are at most 1,000 differences of each projection.

    Files are read to the last byte, and every row of the projections that this installation keeps
    is compared, column by column and vector by vector. No process may write at the same time.
    """
    tell = progress or no_progress
    work = folder / "verifying"
    with store_errors():
        remove(work)
        build = Build(work, kept_projections(folder), source.head(), no_effect)
        try:
            build.fill(source, tell, start_helper)
            total = ProjectionComparison()
            _check_positions(folder, build.end, total)
            for found in build.compare(folder, tell).values():
                total.checked += found.checked
                total.differences += found.differences
                total.details += found.details
        finally:
            build.drop()
            remove(work)
        return total.as_dict()


def _check_positions(folder: Path, head: int, total: ProjectionComparison) -> None:
    chosen, gaps = chain([segment for segment in listed(folder) if segment.end > 0])
    reached = chosen[-1].end if chosen else 0
    for start, end in gaps:
        total.note(Difference("duckdb", "segments", f"{start}-{end}", "missing"))
    if reached != head:
        total.note(Difference("duckdb", "segments", str(reached), f"not at position {head}"))
    if not is_kept(folder):
        return
    try:
        position = read_state(folder / FOLDER)["position"]
    except StoreError as error:
        total.note(Difference("lancedb", "position", "", str(error)))
        return
    if position != head:
        total.note(Difference("lancedb", "position", str(position), f"not at position {head}"))
