"""Files that are no JSON lines: arrays and CSV give the rows that the same lines would."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.intake import (
    MAX_KEPT_BYTES,
    Form,
    Prepared,
    RawRow,
    RowReader,
    arrays,
    understand,
)
from tests.long import examples, long_but

ROWS: list[dict[str, Any]] = [
    {"owner_id": "ada", "text": "Ada lives in Paris, near the canal"},
    {"owner_id": "ada", "text": 'She says "bonjour"\nevery day'},
    {"owner_id": "ben", "text": "Ben paints"},
]


def raws(path: Path, **how: Any) -> list[bytes]:
    return [row.raw for row in RowReader([path], **how)]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# -- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("begin", [b"", b"\n  ", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_elements_of_an_array_are_rows(
    tmp_path: Path, indent: int | None, begin: bytes, packed: bool
) -> None:
    content = begin + json.dumps(ROWS, indent=indent).encode() + b"\n"
    path = written(tmp_path / "rows.json", gzip.compress(content) if packed else content)
    assert [json.loads(raw) for raw in raws(path)] == ROWS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
@settings(max_examples=examples(200))
def test_an_array_is_read_whatever_is_read_at_once(
    values: list[Any], chunk: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_CHUNK", chunk)
        found = list(arrays.array_rows(_file(text.encode()), _lines))
    assert [json.loads(raw) for raw in found] == values


def _file(content: bytes, sizes: list[int] | None = None) -> Any:
    """A file that is read in pieces of these sizes, in turn."""
    return io.BufferedReader(_Pieces(content, sizes or [len(content)]))


class _Pieces(io.BytesIO):
    def __init__(self, content: bytes, sizes: list[int]) -> None:
        super().__init__(content)
        self._sizes = itertools.cycle(sizes)

    def readinto(self, buffer: Any) -> int:
        piece = self.read(min(next(self._sizes), len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


def _lines(file: Any) -> Any:
    return (line for line in file.read().split(b"\n") if line.strip())


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"[]", []),
        (b"[", []),
        (b"[1, 2]\n{}\n", [b"1", b"2", b"{}"]),
        (b'["a" "b"]', [b'"a"', b'"b"]']),
        (b'[{"a": 1},]', [b'{"a": 1}']),
        (b"[nonsense\n{}", [b"nonsense", b"{}"]),
        (b'["\xff", 1]', [b'"\xff"', b"1"]),
        (b"[" * 100_000, [b"[" * 99_999]),
    ],
)
def test_what_is_behind_an_array_or_in_it_is_not_lost(
    tmp_path: Path, content: bytes, rows: list[bytes]
) -> None:
    assert raws(written(tmp_path / "rows.json", content)) == rows


@pytest.mark.parametrize("shift", [0, 1], ids=["even", "odd"])
def test_no_sign_behind_an_array_is_cut_where_reading_paused(tmp_path: Path, shift: int) -> None:
    """Two bytes each: for one of the two, the first pause falls within one."""
    behind = ("x" * shift + "é" * 200_000).encode()
    path = written(tmp_path / "rows.json", b"[1]\n" + behind + b"\n")
    assert raws(path) == [b"1", behind]


def test_of_noise_that_begins_like_an_array_only_so_much_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "noise", b'["' + b"x" * 3_000_000 + b"\n{}\n")
    noise, row = raws(path)
    assert (len(noise), row) == (3_000_001, b"{}")


@pytest.mark.parametrize("ends", [b"]", b'"\\\\"}]'])
def test_a_long_element_of_an_array_is_one_row_and_no_other(tmp_path: Path, ends: bytes) -> None:
    """All on one line: whatever follows it would be part of it."""
    long = b'{"text": "' + b'[\\"}' * 500_000 + b'", "n": [' + ends + b"}"
    if ends != b"]":
        long = b'["' + b"x" * 2_000_000 + b'", {"a": ' + ends
    path = written(tmp_path / "rows.json", b"[1," + long + b', {"text": "a"}]')
    assert raws(path) == [b"1", long, b'{"text": "a"}']


@given(st.integers(1, 9), st.lists(st.sampled_from(["\\\\", '\\"', "]", "}", "{", "é", "[", ","])))
def test_the_end_of_a_wrong_element_is_found_whatever_is_read_at_once(
    chunk: int, text: list[str]
) -> None:
    """Its brackets and quotes say where it ends, so the elements after it are read."""
    wrong = '{"text": nothing, "of": ["' + "".join(text) + '"]}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_CHUNK", chunk)
        found = list(arrays.array_rows(_file(f"[{wrong}, 5, {wrong}]".encode()), _lines))
    assert [raw.decode() for raw in found] == [wrong, "5", wrong]


@given(
    st.lists(st.sampled_from(["\\\\", '\\"', "]", "}", "{", "é", "xxxx", ","]), min_size=9),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_the_end_of_a_huge_element_is_found_whatever_is_read_at_once(
    text: list[str], sizes: list[int]
) -> None:
    """A pause between a backslash and its quote would turn what is inside a string around."""
    huge = '{"text": nothing, "of": ["' + "".join(text) + '"]}'
    content = f"[{huge}, 5, {huge}]".encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MAX_ROW_BYTES", 1)
        patch.setattr(arrays, "MAX_KEPT_BYTES", 20)
        found = list(arrays.array_rows(_file(content, sizes), _lines))
    kept = huge.encode()[:20]
    assert found == [kept, b"5", kept]


@pytest.mark.parametrize("behind", [b', {"text": "a"}]', b"]", b""], ids=["more", "end", "cut"])
@pytest.mark.parametrize(
    "more_or_less", long_but(MAX_KEPT_BYTES, of=[MAX_KEPT_BYTES, 2 * MAX_KEPT_BYTES])
)
def test_of_a_huge_element_the_beginning_is_kept_and_those_after_it_are_read(
    tmp_path: Path, behind: bytes, more_or_less: int
) -> None:
    """All on one line, as an export writes it."""
    huge = b'{"text": "' + b"x" * more_or_less + b'[\\"}' + b'"}'
    path = written(tmp_path / "rows.json", b"[1," + huge + behind)
    first, kept, *rest = raws(path)
    assert (first, rest) == (b"1", [b'{"text": "a"}'] if b"a" in behind else [])
    assert len(kept) == MAX_KEPT_BYTES
    assert huge.startswith(kept)


def test_a_huge_element_without_an_end_is_kept_from_its_beginning(tmp_path: Path) -> None:
    huge = b'{"text": "' + b"x" * (2 * MAX_KEPT_BYTES)
    first, kept = raws(written(tmp_path / "rows.json", b"[1," + huge))
    assert (first, len(kept)) == (b"1", MAX_KEPT_BYTES)
    assert huge.startswith(kept)


def test_an_element_without_an_end_leaves_the_lines_after_it(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.json", b'[{"text": "a",\n[1}\n{"text": "b"}\n')
    assert raws(path) == [b'{"text": "a",', b"[1}", b'{"text": "b"}']


# -- CSV -----------------------------------------------------------------------------------------


def candidates(path: Path, form: Form | None = None, **renames: str) -> list[Any]:
    """What the rows of a file mean."""
    found = [understand(row, renames) for row in RowReader([path], form=form, renames=renames)]
    return [one.candidate if isinstance(one, Prepared) else one for one in found]


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "ROWS.CSV.gz"])
def test_a_table_is_rows(tmp_path: Path, name: str) -> None:
    sign = "\t" if "tsv" in name else ";"
    lines = [
        sign.join(["owner_id", "text", "confidence", "topics", "mood"]),
        sign.join(["ada", '"Ada lives in Paris; near ""her"" canal\nand bank"', "0.5", "a, b", ""]),
        "",
        sign.join(["ben", "42", "", '"[""c""]"', "calm"]),
    ]
    content = "\ufeff" + "\r\n".join(lines)
    raw = content.encode()
    first, second = candidates(
        written(tmp_path / name, gzip.compress(raw) if name.endswith("gz") else raw)
    )
    assert first.text == 'Ada lives in Paris; near "her" canal\nand bank'
    assert (first.confidence, first.topics, first.metadata) == (0.5, ("a", "b"), {})
    assert (second.text, second.confidence, second.topics) == ("42", None, ("c",))
    assert second.metadata == {"mood": "calm"}


@pytest.mark.parametrize("sign", [";", ",", "|"])
def test_a_first_line_with_the_delimiter_is_no_header(tmp_path: Path, sign: str) -> None:
    """Excel writes `sep=;`, and takes that sign even if another is more frequent."""
    header = sign.join(["owner_id", "text", '"a,b;c|d"'])
    content = f"\ufeffsep={sign}\r\n{header}\r\n{sign.join(['ada', 'Ada paints', '1'])}\r\n"
    path = written(tmp_path / "rows.csv", content.encode())
    wanted = {"owner_id": "ada", "text": "Ada paints", "a,b;c|d": "1"}
    assert [json.loads(raw) for raw in raws(path)] == [wanted]
    with pytest.raises(UsageError, match="line 4 is not closed"):
        raws(written(path, content.encode() + f'ada{sign}"Ada'.encode()))


def test_spaces_around_the_names_of_columns_do_not_count(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", b" owner_id , text\nada,Ada paints\n")
    assert [json.loads(raw) for raw in raws(path)] == [{"owner_id": "ada", "text": "Ada paints"}]


@pytest.mark.parametrize(
    ("field", "cell", "value"),
    [
        ("confidence", "0.5", 0.5),
        ("importance", "0.5", 0.5),
        ("intensity", "0.5", 0.5),
        ("intensity", "high", "high"),
        ("topics", "a | b", ["a | b"]),
        ("topics", '["a"]', ["a"]),
        ("topics", "[a", "[a"),
        ("metadata", '{"a":1}', {"a": 1}),
        ("metadata", "a", "a"),
        ("session_id", "5", "5"),
    ],
)
def test_a_cell_is_read_as_its_field_takes_it(
    tmp_path: Path, field: str, cell: str, value: object
) -> None:
    quoted = cell.replace('"', '""')
    path = written(tmp_path / "rows.csv", f'{field};x\n"{quoted}";1\n'.encode())
    assert [json.loads(raw) for raw in raws(path)] == [{field: value, "x": "1"}]


@pytest.mark.parametrize(
    ("field", "cell"),
    [
        *(("confidence", cell) for cell in ("nan", "inf", "-Infinity", "1e999", "0_1")),
        *(("metadata", cell) for cell in ('{"a": NaN}', '{"a": "\\ud800"}', "[" * 5_000)),
        ("topics", "[NaN]"),
    ],
)
def test_a_cell_that_json_has_no_words_for_stays_text(
    tmp_path: Path, field: str, cell: str
) -> None:
    """So the error names the field, and does not say that a row of a table is not JSON."""
    quoted = cell.replace('"', '""')
    path = written(tmp_path / "rows.csv", f'owner_id;text;{field}\nada;a;"{quoted}"\n'.encode())
    assert [json.loads(raw)[field] for raw in raws(path)] == [cell]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["the\ntext", "the, text", "the\r\ntext, as said"])
def test_a_name_in_quotes_does_not_say_what_is_between_the_cells(
    tmp_path: Path, mark: bytes, name: str
) -> None:
    path = written(tmp_path / "rows.csv", mark + f'"{name}";id\na;1\n"b\nc";2\n'.encode())
    assert [json.loads(raw) for raw in raws(path)] == [
        {name: "a", "id": "1"},
        {name: "b\nc", "id": "2"},
    ]


@pytest.mark.parametrize("last", ['size"', 'si"ze', '"the ""size"""', '5" "size"'])
def test_a_quote_inside_a_name_does_not_say_what_is_between_the_cells(
    tmp_path: Path, last: str
) -> None:
    row = 'a;one, two, three, four" board, x, y, z;5'
    path = written(tmp_path / "rows.csv", f"owner_id;text;{last}\n{row}\n".encode())
    [found] = (json.loads(raw) for raw in raws(path))
    assert list(found.values()) == row.split(";")


@pytest.mark.parametrize("rows", [1, 200])
def test_a_quote_that_is_not_closed_among_the_names_is_reported(tmp_path: Path, rows: int) -> None:
    """All rows would be part of a name."""
    path = written(tmp_path / "rows.csv", b'owner_id,"text\n' + b"ada,Ada paints\n" * rows)
    with pytest.raises(UsageError, match="a quote of the row in line 1 is not closed"):
        raws(path)
    path = written(tmp_path / "rows.csv", b'owner_id,text,5" disk\n' + b'ada,"a"\n' * rows)
    assert len(raws(path)) == rows


def test_a_file_can_be_declared_a_table(tmp_path: Path) -> None:
    path = written(tmp_path / "export.txt", b"user,content,sure\nada,Ada paints,0.5\n")
    [row] = candidates(path, "csv", user="owner_id", content="text", sure="confidence")
    assert (row.owner_id, row.text, row.confidence) == ("ada", "Ada paints", 0.5)


def test_a_line_with_too_many_cells_is_invalid_and_not_cut(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", b"owner_id,text\nada,Ada lives in Paris, France\n")
    [error] = candidates(path)
    assert error.reason == "not_an_object"
    assert b"France" in raws(path)[0]


@pytest.mark.parametrize(("text", "reason"), [(b"caf\xe9", "not_utf8"), (b" ", "field")])
def test_a_cell_that_breaks_a_rule_makes_its_row_invalid(
    tmp_path: Path, text: bytes, reason: str
) -> None:
    path = written(tmp_path / "rows.csv", b"owner_id,text\nada," + text + b"\nben,Ben paints\n")
    error, row = candidates(path)
    assert (error.reason, row.text) == (reason, "Ben paints")


def test_what_no_table_can_be_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", b'a,b\n"' + b"x" * 200_000)
    with pytest.raises(UsageError, match=r"rows\.csv cannot be read as CSV"):
        raws(path)


def test_a_long_cell_makes_its_row_invalid_and_no_other(tmp_path: Path) -> None:
    lines = [b"owner_id,text", b"ada," + b"x" * 200_000, b"ben,Ben paints"]
    error, row = candidates(written(tmp_path / "rows.csv", b"\n".join(lines)))
    assert (error.reason, row.text) == ("field", "Ben paints")


def test_a_table_that_ends_inside_quotes_is_reported_after_its_rows(tmp_path: Path) -> None:
    """Its last cell would have all lines behind the quote that is not closed."""
    lines = [b"owner_id,text", b'ada,"Ada ""paints"""', b'ben,"Ben', b"cy,Cy paints", b""]
    rows = iter(RowReader([written(tmp_path / "rows.csv", b"\n".join(lines))]))
    assert json.loads(next(rows).raw)["text"] == 'Ada "paints"'
    with pytest.raises(UsageError, match=r"rows\.csv .* a quote of the row in line 3 is not"):
        next(rows)


@pytest.mark.parametrize("cell", [b'5" tall', b'"Ben\npaints"', b'"a"b', b'say "x"'])
def test_quotes_that_are_closed_or_in_a_cell_are_read(tmp_path: Path, cell: bytes) -> None:
    [row] = candidates(written(tmp_path / "rows.csv", b"owner_id,text\nada," + cell))
    assert row.owner_id == "ada"


def test_two_columns_of_one_name_are_reported(tmp_path: Path) -> None:
    """One of them would be lost unseen; columns without a name or a cell are no matter."""
    path = written(tmp_path / "rows.csv", b"owner_id,text,text\nada,Ada paints,Ada sings\n")
    with pytest.raises(UsageError, match=r"rows\.csv has 2 columns `text`"):
        raws(path)
    path = written(tmp_path / "more.csv", b"owner_id,text,,\nada,Ada paints,,\n")
    assert len(candidates(path)) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_a_table_in_utf_16_is_told_as_that(encoding: str, tmp_path: Path) -> None:
    """As spreadsheets write it if they are asked for Unicode."""
    begin = "" if encoding == "utf-16" else "\ufeff"
    table = f"{begin}owner_id,text\nada,Ada paints\n".encode(encoding)
    with pytest.raises(UsageError, match=r"rows\.csv is in UTF-16: write it as UTF-8"):
        raws(written(tmp_path / "rows.csv", table))


def test_reading_a_table_or_an_array_twice_gives_the_same_candidates(tmp_path: Path) -> None:
    table = written(tmp_path / "rows.csv", b"owner_id,text\nada,Ada paints\nada,Ada paints\n")
    array = written(tmp_path / "rows.json", json.dumps(ROWS).encode())
    for path in (table, array):
        first, again = ([understand(row) for row in RowReader([path])] for _ in range(2))
        assert first == again


# -- beginnings ----------------------------------------------------------------------------------


def is_right(row: RawRow) -> bool:
    return row.raw == b"right"


def test_the_beginning_of_each_input_is_looked_at_and_all_is_read_after(tmp_path: Path) -> None:
    files = [
        written(tmp_path / "a", b"right\nwrong\n"),
        written(tmp_path / "b", b"wrong\nwrong\nwrong\nright\n"),
        written(tmp_path / "c", b"wrong\nright\nwrong\n"),
    ]
    reader = RowReader(files)
    begun = [(Path(path).name, len(first)) for path, first in reader.beginnings(3, is_right)]
    assert begun == [("a", 1), ("b", 3), ("c", 2)]
    assert reader.done == 0
    assert [row.raw for row in reader] == [row.raw for row in RowReader(files)]
    assert reader.done == reader.total


def test_nothing_of_a_pipe_is_lost_to_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"wrong\nwrong\nright\nb")))
    reader = RowReader(["-"])
    [(_, first)] = reader.beginnings(2, is_right)
    assert len(first) == 2
    assert [row.raw for row in reader] == [b"wrong", b"wrong", b"right", b"b"]


def test_a_file_that_is_cut_short_is_reported_after_its_rows(tmp_path: Path) -> None:
    packed = gzip.compress(b"wrong\n" * 3)
    whole = written(tmp_path / "whole.jsonl", b"wrong\n")
    cut = written(tmp_path / "rows.gz", packed[:-6])
    reader = RowReader([whole, cut])
    assert [len(first) for _, first in reader.beginnings(9, is_right)] in ([1, 0], [1, 3])
    rows = iter(reader)
    assert next(rows).raw == b"wrong"
    with pytest.raises(UsageError, match="cut short"):
        list(rows)


def test_a_file_that_cannot_be_read_at_all_is_reported_at_once(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.gz", b"no gzip")
    with pytest.raises(UsageError, match="is not a gzip file"):
        list(RowReader([path]).beginnings(9, is_right))
