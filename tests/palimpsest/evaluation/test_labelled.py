"""Labelled files in each form, and the errors for wrong ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pyarrow as pa
import pytest
from pyarrow import parquet

from palimpsest.contracts.errors import UsageError
from palimpsest.evaluation.labelled import LabelledMember, LabelledPair, read_clusters, read_pairs

JSON = (
    b'{"id": "1", "a": "x", "b": "y", "label": "duplicate", "lang": "de", "source": "s"}\n\n'
    b'{"a": "x", "b": "z", "label": "contradiction", "probability": 0.25, "model": "m-1"}\n'
)
FOUND = [
    LabelledPair("1", "x", "y", "same", "de", "s"),
    LabelledPair("pairs:2", "x", "z", "different", probability=0.25, model="m-1"),
]


def named(pairs: list[LabelledPair]) -> list[LabelledPair]:
    """The pairs with the ids that a file without ids gives them, whatever its ending."""
    return [pair._replace(id=pair.id.replace(".jsonl", "").replace(".gz", "")) for pair in pairs]


@pytest.mark.parametrize("packed", [False, True])
def test_json_lines(tmp_path: Path, *, packed: bool) -> None:
    file = tmp_path / ("pairs.jsonl.gz" if packed else "pairs.jsonl")
    file.write_bytes(gzip.compress(JSON) if packed else JSON)
    assert named(read_pairs([file], {})) == FOUND


def test_csv_with_other_names_and_texts_over_several_lines(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text('question1,question2,is_duplicate\n"x, with\nx",y,1\nx,z,0\n')
    renames = {"question1": "a", "question2": "b", "is_duplicate": "label"}
    assert read_pairs([file], renames) == [
        LabelledPair("pairs.csv:1", "x, with\nx", "y", "same"),
        LabelledPair("pairs.csv:2", "x", "z", "different"),
    ]


def test_parquet(tmp_path: Path) -> None:
    file = tmp_path / "pairs.parquet"
    table = pa.table({"text_a": ["x", "x"], "text_b": ["y", "z"], "label": [True, False]})
    parquet.write_table(table, file)
    assert [pair.label for pair in read_pairs([file], {})] == ["same", "different"]


Form = Literal["NFC", "NFD"]


@pytest.mark.parametrize(("written", "typed"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_column_is_read_however_its_accents_are_written(
    written: Form, typed: Form, tmp_path: Path
) -> None:
    file = tmp_path / "pairs.jsonl"
    row = {"a": "tea", "b": "Tea", normalize(written, "égalité"): "same"}
    file.write_text(json.dumps(row))
    [pair] = read_pairs([file], {normalize(typed, "égalité"): "label"})
    assert pair.label == "same"


def test_clusters_as_rows_or_as_lists(tmp_path: Path) -> None:
    rows, lists = tmp_path / "rows.jsonl", tmp_path / "lists.jsonl"
    rows.write_text('{"text": "x", "cluster": 7, "owner_id": "ada"}\n{"text": "y", "cluster": 7}\n')
    lists.write_text('{"cluster_id": "c", "texts": ["x", "y"]}\n')
    assert read_clusters([rows, lists], {}) == [
        LabelledMember("ada", "x", "7"),
        LabelledMember("owner", "y", "7"),
        LabelledMember("owner", "x", "c"),
        LabelledMember("owner", "y", "c"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.jsonl", b'{"a": "x",\n', "row 1, column 11: is not JSON"),
        ("p.jsonl", b"[1]\n", "row 1: is not a JSON object"),
        ("p.jsonl", b'\n{"a": "x", "label": 1}\n', "row 1, column b or text_b"),
        ("p.jsonl", b'{"a": "x", "b": " \\n", "label": 1}', "row 1, column b: is blank"),
        ("p.jsonl", b'{"a": "x", "b": 3, "label": 1}', "row 1, column b: should be a valid"),
        ("p.jsonl", b'{"a": "x", "b": "y", "label": "maybe"}', "row 1, column label: should be"),
        (
            "p.jsonl",
            b'{"a": "x", "b": "y", "label": 1, "probability": 1.5}',
            "row 1, column probability: should be a number from 0 to 1",
        ),
        ("p.csv", b"a,b,label\nx,y,1\nx,,0\n", "row 2, column b or text_b"),
        ("p.csv", b"a,b,label\nx,y,1,1\n", "row 1: is not a JSON object, or has more cells"),
        ("p.csv", b"a,b,label\nx,\xff,1\n", "row 1, column 1: is not JSON"),
        ("p.jsonl.gz", b"\x1f\x8bnothing", "is cut short or damaged"),
        ("p.parquet", b"PAR1nothing", "is not a Parquet file, or is damaged"),
    ],
)
def test_an_error_names_file_row_and_column(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        read_pairs([file], {})
    assert str(file) in str(raised.value)
    assert said in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        read_pairs([tmp_path / "nowhere.jsonl"], {})
