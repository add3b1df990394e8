"""Each form of file keeps its form, order and columns, and every row that is not a duplicate."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from palimpsest.cleaning.columns import Columns
from palimpsest.cleaning.files import input_file
from palimpsest.cleaning.texts import ScopedText
from palimpsest.contracts.errors import UsageError
from palimpsest.streams.intake import MAX_KEPT_BYTES

TEXT = Columns("text")


def read(path: Path, columns: Columns = TEXT) -> list[ScopedText]:
    with input_file(str(path), columns) as file:
        return [*file.read(columns, lambda _what, _share: None)]


def texts(path: Path, columns: Columns = TEXT) -> list[str | None]:
    return [row.text for row in read(path, columns)]


def copied(path: Path, removed: Collection[int], columns: Columns = TEXT) -> bytes:
    to = path.with_name("copy" + path.name)
    with input_file(str(path), columns) as file:
        file.copy(to, removed)
    return to.read_bytes()


def written(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


CSV = (
    b'\xef\xbb\xbfid;text;n\r\n1;"a ""quoted"" one;\r\nof two lines";\r\n2;b;0.10\r\n\r\n3;c;1\r\n'
)


def test_a_table_keeps_its_mark_its_line_ends_and_its_cells(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", CSV)
    assert texts(path) == ['a "quoted" one;\r\nof two lines', "b", "c"]
    assert copied(path, {1}) == CSV.replace(b"2;b;0.10\r\n\r\n", b"")
    quoted = written(tmp_path, "b.csv", b'"text", n \n"a",1\n"b", "2"\n\'c\',\xff')
    assert copied(quoted, ()) == quoted.read_bytes()
    assert copied(quoted, {1}) == b'"text", n \n"a",1\n\'c\',\xff'


def test_what_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"text,n\na,1\n\xff,2\n,3\nb,4,5\na,6\n")
    rows = read(path)
    assert [row.problem.partition(":")[0] for row in rows] == [
        *("", "not_utf8", "no_text", "not_an_object", "")
    ]
    assert "iconv" in (rows[1].problem or "")
    assert copied(path, {4}) == b"text,n\na,1\n\xff,2\n,3\nb,4,5\n"


def test_json_lines_keep_their_bytes(tmp_path: Path) -> None:
    lines = [
        b'{"text": "a",   "n": 1.10}',
        b"no json",
        b"[1]",
        b'{"text": "\\u0000"}',
        b'{"text": 5}',
        b'{"text": NaN}',
        b'{"other": 1}',
        b'{"text": " "}',
    ]
    path = written(tmp_path, "a.jsonl", b"\n".join(lines) + b"\n")
    assert [row.problem.partition(":")[0] for row in read(path)] == [
        *("", "not_json", "not_an_object", "field", "field", "not_json", "no_text", "field")
    ]
    assert copied(path, ()) == path.read_bytes()
    assert copied(path, {0}) == path.read_bytes().partition(b"\n")[2]


def test_an_array_and_packed_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", b'[{"text": "a"},\n {"text": "b"}]')
    assert texts(path) == ["a", "b"]
    assert json.loads(copied(path, {0})) == [{"text": "b"}]
    packed = written(tmp_path, "b.jsonl.gz", gzip.compress(b'{"text": "a"}\n{"text": "b"}\n'))
    assert gzip.decompress(copied(packed, {0})) == b'{"text": "b"}\n'


def test_lines_of_text(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfone, two\r\n\r\n[2026] three\n\xff\none, two"
    path = written(tmp_path, "a.txt", content)
    assert [row.text for row in read(path)] == ["one, two", "[2026] three", None, "one, two"]
    assert copied(path, {3}) == content.removesuffix(b"one, two")
    packed = written(tmp_path, "b.txt.gz", gzip.compress(b"a\nb\na\n"))
    assert gzip.decompress(copied(packed, {2})) == b"a\nb\n"
    assert b".txt" not in copied(packed, {2}), "the header of gzip names the file being written"
    bracket = written(tmp_path, "c.log", b"[2026-01-01] started\n{x} failed\n")
    assert texts(bracket) == ["[2026-01-01] started", "{x} failed"]


def test_a_mark_within_lines_of_text_is_part_of_its_line(tmp_path: Path) -> None:
    """As two files with marks, one appended to the other, have it."""
    content = b"\xef\xbb\xbfa\nb\n\xef\xbb\xbf\nb\nc\n"
    path = written(tmp_path, "a.txt", content)
    assert [row.text for row in read(path)] == ["a", "b", None, "b", "c"]
    assert copied(path, {3}) == content.replace(b"\xbf\nb\n", b"\xbf\n")


def test_a_table_whose_first_name_has_a_mark_quotes_and_two_lines(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf"the\nid";text\n1;a\n2;b\n3;b\n4;c\n'
    path = written(tmp_path, "a.csv", content)
    assert texts(path) == ["a", "b", "b", "c"]
    assert copied(path, {2}) == content.replace(b"3;b\n", b"")


def test_an_array_with_a_long_element_stays_an_array(tmp_path: Path) -> None:
    rows = [{"text": text, "image": "x" * size} for text, size in (("a", 2**21), ("b", 1))]
    path = written(tmp_path, "a.json", json.dumps([*rows, rows[1]]).encode())
    assert texts(path) == ["a", "b", "b"]
    assert json.loads(copied(path, {2})) == rows


KIND = pa.map_(pa.int8(), pa.int8())
ROWS: list[dict[str, Any]] = [
    {"text": "a", "inner": {"said": "x", "list": [1, 2]}, "n": float("nan")},
    {"text": None, "inner": None, "n": 1.0},
    {"text": "b", "inner": {"said": "y", "list": []}, "n": None},
]


def test_parquet_keeps_nested_columns(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, path := tmp_path / "a.parquet")
    assert texts(path) == ["a", None, "b"]
    assert texts(path, Columns("inner.said")) == ["x", None, "y"]
    assert pq.read_table(io.BytesIO(copied(path, {0}))).slice(1).equals(table.slice(2))


def test_parquet_has_columns_that_json_has_no_words_for(tmp_path: Path) -> None:
    """Bytes beside a text, views of strings, dictionaries of views."""
    views = pa.array(["a", "b", "a"], pa.string_view())
    table = pa.table(
        {"text": views, "image": [b"\xff\x00"] * 3, "map": pa.array([[(1, 2)]] * 3, KIND)}
    )
    pq.write_table(table, path := tmp_path / "a.parquet")
    assert texts(path) == ["a", "b", "a"]
    assert pq.read_table(io.BytesIO(copied(path, {1}))).to_pylist() == table.to_pylist()[::2]
    names = pa.array(["a", "b"], pa.string_view())
    kind = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.uint32()), names)
    with pa.ipc.new_file(
        str(path := tmp_path / "a.arrow"), pa.schema({"text": kind.type})
    ) as arrow:
        arrow.write_table(pa.table({"text": kind}))
    assert texts(path) == ["a", "b", "a"]


def test_parquet_keeps_its_compression_and_its_row_groups(tmp_path: Path) -> None:
    table = pa.table({"text": [f"text {n}" for n in range(3_000)]})
    for compression in ("zstd", "none"):
        path = tmp_path / f"{compression}.parquet"
        pq.write_table(table, path, row_group_size=1_500, compression=compression)
        copy = pq.ParquetFile(io.BytesIO(copied(path, {0, 2_999})))
        assert copy.read().equals(table.slice(1, 2_998))
        assert [copy.metadata.row_group(n).num_rows for n in range(copy.num_row_groups)] == [
            1_499
        ] * 2
        given = pq.ParquetFile(path).metadata.row_group(0).column(0).compression
        assert copy.metadata.row_group(0).column(0).compression == given


@pytest.mark.parametrize("form", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_keeps_its_schema_and_its_format(tmp_path: Path, form: Any) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    table = pa.table({"text": pa.array(["a", "b", "a"], kind), "n": [1, 2, 3]})
    with form(str(path := tmp_path / "a.arrow"), table.schema) as writer:
        for batch in table.to_batches(max_chunksize=2):
            writer.write_batch(batch)
    assert texts(path) == ["a", "b", "a"]
    copy = copied(path, {1})
    opened = pa.ipc.open_file if form is pa.ipc.new_file else pa.ipc.open_stream
    kept = opened(pa.BufferReader(copy)).read_all()
    assert kept.schema == table.schema
    assert kept.to_pylist() == table.take([0, 2]).to_pylist()


def arrow_stream(text: str) -> bytes:
    sink, table = pa.BufferOutputStream(), pa.table({"text": [text]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.csv", b"text,text\na,b\n", "2 columns `text`"),
        ("a.csv", b'text\n"a\n', "is not closed"),
        ("a.csv", b'id,"text\n1,a\n2,b\n', "is not closed"),
        ("a.csv", "text\na\n".encode("utf-16"), "UTF-16"),
        ("a.txt", "text\na\n".encode("utf-16"), "UTF-16"),
        ("a.csv", b"PK\x03\x04 and no more", "is not text, or is compressed"),
        ("a.txt", b"SQLite format 3\x00 and more", "is not text, or is compressed"),
        ("a.jsonl", b"\x28\xb5\x2f\xfd and more", "is not text, or is compressed"),
        ("a.parquet", b"", "not what its name says"),
        ("a.parquet", b"PAR1 and no more", "not a Parquet file, or is damaged"),
        ("a.arrow", b"ARROW1 and no more", "not an Arrow file, or is damaged"),
        ("a.arrow", arrow_stream("a" * 1000)[:-500], "not an Arrow file, or is damaged"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "a"}\n' * 99, mtime=0)[:-9], "cut short"),
        ("a.txt.gz", gzip.compress(b"a\n" * 99, mtime=0)[:-9], "cut short"),
        ("a.jsonl", b'{"text": "' + b"a" * MAX_KEPT_BYTES + b'"}\n', "16,777,216 bytes or more"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes, what: str
) -> None:
    with pytest.raises(UsageError, match=what):
        texts(written(tmp_path, name, content))


def test_a_copy_that_cannot_be_written_does_not_blame_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "a.arrow", arrow_stream("a"))
    with input_file(str(path), TEXT) as file, pytest.raises(FileNotFoundError):
        file.copy(tmp_path / "none" / "copy.arrow", ())


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(UsageError, match=str(path)):
            texts(path)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.txt", "a"])
def test_an_empty_file_stays_empty(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, b"")
    assert texts(path) == []
    assert copied(path, ()) == b""


# -- columns -------------------------------------------------------------------------------------


def found(rows: list[Any], columns: Columns = TEXT, *, moment: bool = True) -> Columns:
    return columns.found(rows, needs_moment=moment)


def test_the_column_of_the_texts_and_that_of_the_time_are_guessed() -> None:
    rows = [{"id": "1", "Content": "a", "created_at": "2026-01-01"}, b"no json"]
    assert found(rows, Columns()) == Columns("Content", (), "created_at")
    assert found([{"odd": "a", "n": 1}], Columns(), moment=False) == Columns("odd")


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no column nope: the columns are text, n"):
        found([{"text": "a", "n": 1}], Columns("nope"))
    with pytest.raises(UsageError, match="no column user: the columns are text, n"):
        found([{"text": "a", "n": 1}], Columns("text", ("user",)))
    with pytest.raises(UsageError, match=r"\(--text COLUMN\); the columns are a, b"):
        found([{"a": "x", "b": "y"}], Columns())
    with pytest.raises(UsageError, match="; the rows have no columns"):
        found([{}], Columns())


def test_values_of_the_scope_are_told_apart_by_their_type_and_missing_ones_are_equal() -> None:
    columns = Columns("text", ("by",))
    values = [1, "1", 1.0, True, None, float("nan")]
    scopes = [columns.row({"text": "a", "by": value}).scope for value in values]
    assert len({*scopes[:4]}) == 4
    assert scopes[4] == scopes[5] == columns.row({"text": "a"}).scope


def test_long_numbers_of_the_scope_are_told_apart(tmp_path: Path) -> None:
    lines = [f'{{"text": "a", "user": {2**70 + n}}}\n' for n in range(2)]
    path = written(tmp_path, "a.jsonl", "".join(lines).encode())
    assert len({row.scope for row in read(path, Columns("text", ("user",)))}) == 2


def test_times_are_compared_whatever_their_form() -> None:
    columns = Columns("text", (), "at")
    times = ["no time", 0, "1970-01-01T00:00:01", "1970-01-01T02:00:02+02:00", 3.5, "4"]
    times += ["1e9", 1_000_000_000_001, "1700000000", 1_700_000_000_001, "20260315", 20260316]
    times += ["20260316120000", 20260317.0, " 20260318"]
    moments = [columns.row({"text": "a", "at": time}).moment for time in times]
    assert moments == sorted(moments)
    assert len({*moments}) == len(times)
    assert columns.row({"text": "a", "at": "0001-01-01T00:00+02:00"}).moment == ""
