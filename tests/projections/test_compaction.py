"""Merged segments stay a while: queries that listed them are still reading."""

from __future__ import annotations

from pathlib import Path

from palimpsest.projections.compaction import compact, retire
from palimpsest.projections.segments import Segment, SegmentWriter, chain, listed
from palimpsest.projections.source import no_effect


def test_what_was_merged_leaves_when_its_time_is_up(tmp_path: Path) -> None:
    for start, end in ((0, 5), (5, 9)):
        with SegmentWriter(tmp_path, start) as writer:
            writer.finish(end)
    parts = listed(tmp_path)
    whole = compact(tmp_path, parts, no_effect)
    assert (whole.start, whole.end) == (0, 9)
    retire(tmp_path, no_effect, grace=3600)
    assert listed(tmp_path) == sorted([*parts, whole])
    retire(tmp_path, no_effect, grace=0)
    assert listed(tmp_path) == [whole]


def test_of_one_range_the_latest_generation_is_read(tmp_path: Path) -> None:
    """It was written because the one before it was damaged, or is of another version."""
    earlier, latest, next_one = (
        Segment(start, end, generation, tmp_path)
        for start, end, generation in ((0, 5, 0), (0, 5, 1), (5, 9, 0))
    )
    assert chain([earlier, latest, next_one]) == ([latest, next_one], [])
    assert chain([latest, next_one, earlier]) == ([latest, next_one], [])
