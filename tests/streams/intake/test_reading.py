"""Every row of a file comes, once, as the bytes it has; a file that cannot be read is named."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from pyarrow import parquet

from palimpsest.contracts.errors import InvalidInputError, UsageError
from palimpsest.streams.intake import (
    MAX_KEPT_BYTES,
    MAX_ROW_BYTES,
    Prepared,
    RawRow,
    RowReader,
    understand,
)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def raws(*paths: str | Path) -> list[bytes]:
    return [row.raw for row in RowReader(paths)]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"", []),
        (b"\n\r\n  \n", []),
        (b"a", [b"a"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\n\r\nb", [b"a", b"b"]),
        (b" a \n", [b" a "]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", [b"a", b"\xef\xbb\xbfb"]),
        (b"\xff\x00\n{", [b"\xff\x00", b"{"]),
        ("a\u2028b\x0bc\x0cd\x85e".encode(), ["a\u2028b\x0bc\x0cd\x85e".encode()]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_rows(tmp_path: Path, content: bytes, rows: list[bytes], packed: bool) -> None:
    path = written(tmp_path / "rows", gzip.compress(content) if packed else content)
    assert raws(path) == rows


def test_a_row_knows_its_file_and_how_often_it_came(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", b"a\nb\na\na\n")
    two = written(tmp_path / "two.jsonl", b"a\n")
    assert list(RowReader([one, str(two)])) == [
        RawRow(b"a", "one.jsonl", 1),
        RawRow(b"b", "one.jsonl", 1),
        RawRow(b"a", "one.jsonl", 2),
        RawRow(b"a", "one.jsonl", 3),
        RawRow(b"a", "two.jsonl", 1),
    ]


def test_reading_a_file_twice_gives_the_same_candidates(tmp_path: Path) -> None:
    row = b'{"owner_id":"ann","text":"Ann lives in Oslo."}\n'
    path = written(tmp_path / "rows.jsonl", row * 3)
    meanings = [understand(row) for _ in range(2) for row in RowReader([path])]
    ids = [meaning.candidate_id for meaning in meanings if isinstance(meaning, Prepared)]
    assert ids[:3] == ids[3:]
    assert len(set(ids)) == 3


def test_progress_reaches_the_size_of_all_files(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.jsonl", b"row of ten\n" * 100_000)
    packed = written(tmp_path / "b.jsonl.gz", gzip.compress(os.urandom(200_000).hex().encode()))
    reader = RowReader([plain, packed])
    assert reader.total == plain.stat().st_size + packed.stat().st_size
    told = [reader.done for _ in reader]
    assert told == sorted(told)
    assert 0 < told[0] < reader.total
    assert reader.done == reader.total


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb")))
    reader = RowReader(["-"])
    assert list(reader) == [RawRow(b"a", "stdin", 1), RawRow(b"b", "stdin", 1)]
    assert (reader.total, reader.done) == (None, 3)
    assert not sys.stdin.closed


def test_only_what_cannot_be_read_twice_carries_its_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "rows.jsonl", b"a")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a")))
    found = RowReader([file, "-"], reading="this one")
    assert list(found) == [RawRow(b"a", "rows.jsonl"), RawRow(b"a", "stdin", 1, "this one")]


def test_packed_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb"))))
    assert raws("-") == [b"a", b"b"]


def test_rows_of_a_slow_producer_come_as_they_are_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    first_was_read = threading.Event()

    def produce() -> None:
        with pipe.open("wb", buffering=0) as file:
            file.write(b"first\n")
            assert first_was_read.wait(30)
            file.write(b"second\n")

    producer = threading.Thread(target=produce)
    producer.start()
    reader = RowReader([pipe])
    rows = iter(reader)
    assert next(rows).raw == b"first"
    first_was_read.set()
    assert [row.raw for row in rows] == [b"second"]
    assert reader.total is None
    producer.join()


def test_a_long_row_is_whole_and_invalid(tmp_path: Path) -> None:
    long = b"x" * (MAX_ROW_BYTES + 1)
    rows = list(RowReader([written(tmp_path / "rows", b"a\n" + long + b"\nb")]))
    assert [row.raw for row in rows] == [b"a", long, b"b"]
    error = understand(rows[1])
    assert isinstance(error, InvalidInputError)
    assert str(len(long)) in error.detail


@pytest.mark.parametrize("end", [b"", b"\n", b"\nb"])
def test_a_very_long_row_is_cut_and_says_so(tmp_path: Path, end: bytes) -> None:
    path = written(tmp_path / "rows", b"x" * (MAX_KEPT_BYTES + 500_000) + end)
    first, *rest = RowReader([path])
    assert first.raw == b"x" * MAX_KEPT_BYTES
    assert [row.raw for row in rest] == ([b"b"] if end == b"\nb" else [])
    error = understand(first)
    assert isinstance(error, InvalidInputError)
    assert "not kept" in error.detail


# -- files that cannot be read ------------------------------------------------------------------


def test_a_missing_file_is_reported_before_anything_is_read(tmp_path: Path) -> None:
    there = written(tmp_path / "there.jsonl", b"a\n")
    with pytest.raises(UsageError, match=r"missing\.jsonl"):
        RowReader([there, tmp_path / "missing.jsonl"])


def test_a_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        RowReader([tmp_path])


@pytest.mark.parametrize(
    ("name", "told"), [("a.jsonl.gz", "is not a gzip file"), ("a.parquet", "is not a Parquet file")]
)
@pytest.mark.parametrize("content", [b"", b'{"a":1}\n'])
def test_a_file_that_is_not_what_its_name_says(
    tmp_path: Path, name: str, told: str, content: bytes
) -> None:
    with pytest.raises(UsageError, match=f"{name} {told}"):
        raws(written(tmp_path / name, content))


def test_a_cut_gzip_file_is_reported_after_the_rows_that_are_whole(tmp_path: Path) -> None:
    lines = [os.urandom(500).hex().encode() for _ in range(2000)]
    packed = gzip.compress(b"\n".join(lines))
    path = written(tmp_path / "a.gz", packed[: len(packed) * 3 // 4])
    read: list[bytes] = []
    with pytest.raises(UsageError, match=r"a\.gz is cut short or damaged"):
        read.extend(row.raw for row in RowReader([path]))
    rows = iter(RowReader([path]))
    assert [next(rows).raw for _ in range(3)] == lines[:3]


@pytest.mark.parametrize("place", [10, 12, -6])
def test_a_damaged_gzip_file_is_reported(tmp_path: Path, place: int) -> None:
    packed = bytearray(gzip.compress(b"a\n" * 1000))
    packed[place] ^= 0xFF
    with pytest.raises(UsageError, match="cut short or damaged"):
        raws(written(tmp_path / "a.gz", bytes(packed)))


# -- Parquet ------------------------------------------------------------------------------------


def parquet_of(path: Path, columns: dict[str, pa.Array | list[object]]) -> Path:
    parquet.write_table(pa.table(columns), path, row_group_size=700)
    return path


def test_parquet_rows_are_json(tmp_path: Path) -> None:
    at = datetime(2025, 3, 4, 5, 6, 7, 890_000, tzinfo=UTC).replace(tzinfo=None)
    path = parquet_of(
        tmp_path / "rows.parquet",
        {
            "owner_id": pa.array(["ann"]).dictionary_encode(),
            "text": ["Ann lives in Oslo."],
            "created_at": pa.array([at.replace(tzinfo=UTC)], pa.timestamp("ns", "Europe/Oslo")),
            "confidence": [0.5],
            "topics": [["home", "city"]],
            "metadata": [{"at": at, "price": Decimal("1.50"), "raw": b"bytes"}],
            "importance": [float("nan")],
            "category": pa.array([None], pa.string()),
            "day": [date(2025, 3, 4)],
        },
    )
    (row,) = RowReader([path])
    assert orjson.loads(row.raw) == {
        "owner_id": "ann",
        "text": "Ann lives in Oslo.",
        "created_at": "2025-03-04 05:06:07.890000Z",
        "confidence": 0.5,
        "topics": ["home", "city"],
        "metadata": {"at": "2025-03-04 05:06:07.890000", "price": "1.50", "raw": "bytes"},
        "day": "2025-03-04",
    }
    ready = understand(row)
    assert isinstance(ready, Prepared)
    assert ready.candidate.occurred_at == at.replace(tzinfo=UTC)


def test_times_in_the_depths_of_a_parquet_row_are_text_too(tmp_path: Path) -> None:
    at = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)
    deep = [{"seen": {"first": at, "others": [{"at": at, "on": at.date()}]}}]
    path = parquet_of(tmp_path / "rows.parquet", {"metadata": deep})
    (row,) = RowReader([path])
    text = "2025-03-04 05:06:07.000000Z"
    others = [{"at": text, "on": "2025-03-04"}]
    assert orjson.loads(row.raw) == {"metadata": {"seen": {"first": text, "others": others}}}


def test_times_in_maps_and_other_lists_are_text_too(tmp_path: Path) -> None:
    """In the words of older versions if Python can represent all of a row: its hash is the same."""
    late = 2**62
    columns = {
        "map": pa.array([[(1, late)], [(0, 0)]], pa.map_(pa.timestamp("ns"), pa.timestamp("us"))),
        "large": pa.array([[late], [0]], pa.large_list(pa.timestamp("us", "Europe/Berlin"))),
        "pair": pa.array([[0, late], [0, 1]], pa.list_(pa.timestamp("us"), 2)),
        "took": pa.array([1_500_000_001, 1_000], pa.duration("ns")),
    }
    rows = RowReader([parquet_of(tmp_path / "rows.parquet", columns)])
    found, usual = (orjson.loads(row.raw) for row in rows)
    assert found["took"] == "0:00:01.500000"
    assert found["map"][0][0] == "1970-01-01 00:00:00.000000"
    assert found["pair"][0] == "1970-01-01 00:00:00.000000"
    assert {type(found["map"][0][1]), type(found["large"][0]), type(found["pair"][1])} == {str}
    assert usual == {
        "map": [["1970-01-01T00:00:00", "1970-01-01T00:00:00"]],
        "large": ["1970-01-01T01:00:00+01:00"],
        "pair": ["1970-01-01T00:00:00", "1970-01-01T00:00:00.000001"],
        "took": "0:00:00.000001",
    }


def test_times_of_spark_are_read_whatever_their_year(tmp_path: Path) -> None:
    until = pa.array(["9999-12-31", "2026-01-01"]).cast(pa.timestamp("us"))
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"until": until}), path, use_deprecated_int96_timestamps=True)
    assert [orjson.loads(row.raw)["until"][:10] for row in RowReader([path])] == [
        "9999-12-31",
        "2026-01-01",
    ]


def test_two_columns_of_one_name_are_reported(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    parquet.write_table(table, path := tmp_path / "rows.parquet")
    with pytest.raises(UsageError, match=r"rows\.parquet has 2 columns `text`"):
        raws(path)


def test_parquet_rows_come_in_order_with_progress(tmp_path: Path) -> None:
    path = parquet_of(tmp_path / "rows.parquet", {"n": list(range(2500))})
    reader = RowReader([path])
    assert [orjson.loads(row.raw)["n"] for row in reader] == list(range(2500))
    assert reader.done == reader.total == path.stat().st_size


def test_one_bad_value_makes_one_row_invalid(tmp_path: Path) -> None:
    texts = pa.array([b"good", b"bad \xff", b"good too"], pa.binary())
    broken = pa.StringArray.from_buffers(3, texts.buffers()[1], texts.buffers()[2])
    path = parquet_of(
        tmp_path / "rows.parquet",
        {"owner_id": ["ann"] * 3, "text": broken, "when": pa.array([1, 2, 3], pa.timestamp("s"))},
    )
    first, second, third = (understand(row) for row in RowReader([path]))
    assert isinstance(first, Prepared)
    assert isinstance(second, InvalidInputError)
    assert second.reason == "not_utf8"
    assert isinstance(third, Prepared)


def test_a_time_that_python_has_no_number_for_makes_one_row_invalid(tmp_path: Path) -> None:
    times = pa.array([0, 2**60], pa.timestamp("us"))
    columns = {"owner_id": ["ann"] * 2, "text": ["a", "b"], "occurred_at": times}
    path = parquet_of(tmp_path / "rows.parquet", columns)
    first, second = (understand(row) for row in RowReader([path]))
    assert isinstance(first, Prepared)
    assert isinstance(second, InvalidInputError)
    assert second.detail.startswith("occurred_at: ")


def test_a_damaged_parquet_file_is_reported(tmp_path: Path) -> None:
    path = parquet_of(tmp_path / "rows.parquet", {"n": list(range(2500))})
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"rows\.parquet is not a Parquet file, or is damaged"):
        raws(path)
