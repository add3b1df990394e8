"""Merged segments stay a while: queries that listed them are still reading."""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from palimpsest.projections.base.columns import Table
from palimpsest.projections.base.source import no_effect
from palimpsest.projections.duckdb.compaction import FEWEST, MOST, compact, crowded, retire
from palimpsest.projections.duckdb.segments import Segment, SegmentWriter, chain, listed
from palimpsest.projections.duckdb.tables import TABLES
from palimpsest.projections.projector import Projector
from tests.projections.histories import History


def test_what_was_merged_leaves_when_its_time_is_up(tmp_path: Path) -> None:
    for start, end in ((0, 5), (5, 9)):
        with SegmentWriter(tmp_path, start) as writer:
            writer.finish(end)
    parts = listed(tmp_path)
    for part in parts:  # it is the merged one's age that counts
        os.utime(part.path, (0, 0))
    whole = compact(tmp_path, parts, no_effect)
    assert (whole.start, whole.end) == (0, 9)
    retire(tmp_path, no_effect, grace=3600)
    assert listed(tmp_path) == sorted([*parts, whole])
    retire(tmp_path, no_effect, grace=0)
    assert listed(tmp_path) == [whole]


class Counted(Segment):
    """A segment with a row for each of its generations."""

    def rows(self) -> int:
        """Its number of generations."""
        return self.generation


@pytest.mark.parametrize(
    ("rows", "merged"),
    [
        ([1] * (FEWEST - 1), 0),
        ([1] * FEWEST, FEWEST),
        ([FEWEST] + [1] * FEWEST, FEWEST + 1),
        ([FEWEST + 1] + [1] * FEWEST, FEWEST),
        ([9] + [1] * (FEWEST - 1), FEWEST),
        ([FEWEST] + [1] * (FEWEST - 1), 0),
        ([2 ** (MOST - n) for n in range(MOST)], 0),
        ([2 ** (MOST + 1 - n) for n in range(MOST + 1)], FEWEST),
    ],
)
def test_the_latest_are_merged_from_the_first_that_is_no_larger_than_all_after_it(
    tmp_path: Path, rows: list[int], merged: int
) -> None:
    """Too few wait; and of too many the latest are merged, whatever their sizes."""
    segments = [Counted(at, at + 1, count, tmp_path) for at, count in enumerate(rows)]
    assert list(crowded(segments)) == segments[len(segments) - merged :]


def test_of_one_range_the_latest_generation_is_read(tmp_path: Path) -> None:
    """It was written because the one before it was damaged, or is of another version."""
    earlier, latest, next_one = (
        Segment(start, end, generation, tmp_path)
        for start, end, generation in ((0, 5, 0), (0, 5, 1), (5, 9, 0))
    )
    assert chain([earlier, latest, next_one]) == ([latest, next_one], [])
    assert chain([latest, next_one, earlier]) == ([latest, next_one], [])


def test_of_each_key_the_latest_row_is_kept(tmp_path: Path) -> None:
    """Also where it says that there is none any more."""
    history = History(7)
    projector = Projector(tmp_path, history.log)
    projector.start()
    for _ in range(5):
        history.steps(12)
        projector.submit(history.take())
        projector.flush()
    projector.close()
    parts = sorted(segment for segment in listed(tmp_path) if segment.end > 0)
    written = {table.name: _rows(parts, table) for table in TABLES}
    whole = compact(tmp_path, parts, no_effect)
    repeated = 0
    for table in TABLES:
        by_position = sorted(written[table.name], key=itemgetter("position"))
        latest = {tuple(row[name] for name in table.key): row for row in by_position}
        repeated += len(written[table.name]) - len(latest)
        assert sorted(map(repr, _rows([whole], table))) == sorted(map(repr, latest.values()))
    assert repeated > 10


def _rows(segments: Sequence[Segment], table: Table) -> list[dict[str, Any]]:
    files = [path for segment in segments if (path := segment.file(table.name)).exists()]
    return [row for path in files for row in pq.read_table(path).to_pylist()]
