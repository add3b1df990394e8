"""Files of a segment hold their rows in few groups, however many writes they came in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from palimpsest.projections.duckdb import segments
from palimpsest.projections.duckdb.queries import ensure_views
from palimpsest.projections.duckdb.segments import (
    MANIFEST,
    Segment,
    SegmentWriter,
    chain,
    next_generation,
)
from palimpsest.projections.duckdb.tables import LAYOUT, REVIEWS


def _rows(first: int, count: int) -> pa.Table:
    positions = range(first, first + count)
    columns = [[str(n) for n in positions], ["confirmed"] * count, positions]
    return pa.table([*map(pa.array, columns)], schema=REVIEWS.schema)


def test_small_writes_become_one_group_and_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "GROUP_ROWS", 10)
    with SegmentWriter(tmp_path, 0) as writer:
        for first in range(1, 16, 3):
            writer.write({"reviews": _rows(first, 3)})
        segment = writer.finish(15)
    file = pq.ParquetFile(segment.file("reviews"))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [12, 3]
    assert file.read().column("position").to_pylist() == list(range(1, 16))
    assert segment.damage() is None


def test_rows_that_wait_are_not_written_after_a_failure(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 0)
    writer.write({"reviews": _rows(1, 3)})
    with pytest.raises(RuntimeError, match="disk"), writer:
        raise RuntimeError("disk")
    assert not (writer.beside / "reviews.parquet").exists()


def test_what_an_earlier_attempt_left_is_no_part_of_a_segment(tmp_path: Path) -> None:
    left = SegmentWriter(tmp_path, 0)
    left.write({"reviews": _rows(1, 3)})
    left.close()
    with SegmentWriter(tmp_path, 0) as writer:
        segment = writer.finish(3)
    assert [*segment.manifest()["files"]] == ["position.parquet"]


def test_damaged_empty_tables_are_written_again_and_nothing_else_is_removed(tmp_path: Path) -> None:
    ensure_views(tmp_path)
    [empty] = segments.listed(tmp_path)
    (empty.path / MANIFEST).unlink()
    with SegmentWriter(tmp_path, 0) as writer:
        first = writer.finish(1)
    ensure_views(tmp_path)
    assert [segment.path for segment in segments.listed(tmp_path)] == [empty.path, first.path]
    assert [segment.damage() for segment in segments.listed(tmp_path)] == [None, None]


@pytest.mark.parametrize(
    "change",
    [
        {"layout": LAYOUT - 1},
        {"layout": LAYOUT + 1},
        {"layout": None},
        {"files": {"position.parquet": {"rows": 2}}},
        {"files": {"position.parquet": {"size": 2}}},
    ],
    ids=str,
)
def test_a_segment_that_is_other_than_its_manifest_is_damaged(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    with SegmentWriter(tmp_path, 0) as writer:
        segment = writer.finish(3)
    manifest = segment.manifest()
    for name, entry in change.pop("files", {}).items():
        manifest["files"][name] |= entry
    (segment.path / MANIFEST).write_bytes(orjson.dumps(manifest | change))
    assert segment.damage() is not None


def _segment(start: int, end: int, generation: int = 0) -> Segment:
    return Segment(start, end, generation, Path(f"{start}-{end}.{generation}"))


@pytest.mark.parametrize(
    ("there", "chosen", "gaps"),
    [
        ([], [], []),
        ([(0, 4, 3), (0, 9, 0), (4, 9, 1)], [(0, 9, 0)], []),
        ([(0, 4, 0), (0, 4, 2), (0, 4, 1), (4, 9, 0)], [(0, 4, 2), (4, 9, 0)], []),
        ([(0, 0, 0), (0, 4, 0)], [(0, 4, 0)], []),
        ([(2, 4, 0), (7, 9, 0)], [(2, 4, 0), (7, 9, 0)], [(0, 2), (4, 7)]),
        ([(0, 4, 0), (2, 9, 0)], [(0, 4, 0)], [(4, 9)]),
    ],
)
def test_readers_take_the_fewest_segments_and_of_a_range_the_latest(
    there: list[tuple[int, int, int]],
    chosen: list[tuple[int, int, int]],
    gaps: list[tuple[int, int]],
) -> None:
    assert chain([_segment(*one) for one in there]) == ([_segment(*one) for one in chosen], gaps)


def test_a_generation_is_new_for_its_range() -> None:
    there = [_segment(0, 4, 1), _segment(0, 4, 3), _segment(0, 9, 7), _segment(4, 9)]
    assert next_generation(there, 0, 4) == 4
    assert next_generation(there, 4, 9) == 1
    assert next_generation(there, 0, 2) == 0


def test_the_names_of_segments_have_twelve_figures_or_more() -> None:
    for start, end in ((0, 9), (9, 10**12), (10**12, 10**15)):
        segment = Segment.of(Path(f"{start:012d}-{end:012d}.2"))
        assert segment is not None
        assert (segment.start, segment.end, segment.generation) == (start, end, 2)
    for name in ("0-9.0", "000000000000-000000000009", "copy", "000000000000-000000000009.0.new"):
        assert Segment.of(Path(name)) is None
