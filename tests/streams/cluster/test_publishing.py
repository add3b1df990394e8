"""What a producer's rows are in the candidates topic: a worker reads the same there."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from palimpsest.streams.cluster.client.client import as_record
from palimpsest.streams.cluster.records import Record, read
from palimpsest.streams.intake import RowReader, understand
from palimpsest.streams.write.inputs import Input

ROW = {"owner_id": "ada", "text": "Ada has a dog"}


@pytest.mark.parametrize("named", [{}, {"source": "a"}, {"id": "1"}, {"source": "a", "id": "1"}])
def test_a_worker_reads_of_a_files_row_what_was_read_of_the_file(
    named: dict[str, str], tmp_path: Path
) -> None:
    """Its id, too, wherever its record comes to be: so the file may be published twice."""
    file = tmp_path / "rows.jsonl"
    file.write_bytes(orjson.dumps(ROW | named))
    [row] = RowReader([file])
    meaning = understand(row)
    key, value = as_record(Input(row, meaning))
    assert key == b"ada"
    for offset in (7, 8):
        record = Record("memory.candidates", 0, offset, value)
        assert read(record, "memory.candidates", 1).meaning == meaning
