"""Files of a segment hold their rows in few groups, however many writes they came in."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from palimpsest.projections import segments
from palimpsest.projections.segments import SegmentWriter
from palimpsest.projections.tables import REVIEWS


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
