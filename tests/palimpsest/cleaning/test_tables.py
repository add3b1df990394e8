"""`palimpsest.clean`: rows, and dataframes by Arrow's interface."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import palimpsest
from palimpsest import UsageError
from tests.stub_engine import StubEngine
from tests.tables import each

DOG, LARGE = "Ada has a big dog.", "Ada has a large dog."


def clean(data: Any, **options: Any) -> Any:
    return palimpsest.clean(data, engine=StubEngine(), **options)


def test_texts() -> None:
    found = clean([DOG, LARGE, "Ben sails", DOG])
    assert (found.rows, found.kept) == ([DOG, "Ben sails"], [0, 2])
    assert [(row["row"], row["kept_row"]) for row in found.duplicates] == [(1, 0), (3, 0)]
    assert found.summary["removed"] == 2


def test_rows_stay_what_they_are() -> None:
    rows = [{"memory": DOG, "user": "a", "x": [1]}, {"memory": DOG, "user": "b"}, {"memory": 5}]
    found = clean(iter([*rows, rows[0]]), by="user")
    assert found.rows == rows
    assert found.summary["unreadable_rows"][0]["row"] == 2


class Frame:
    """A dataframe of another library, known only by Arrow's interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_dataframe_gives_an_arrow_table(kind: pa.DataType) -> None:
    """Each library has its own type of strings."""
    texts = pa.array([DOG, LARGE, None, DOG], kind)
    table = pa.table({"text": texts, "n": [1, 2, 3, 4]})
    found = clean(Frame(table), keep="longest")
    assert found.rows.equals(table.slice(1, 2))
    assert found.kept == [1, 2]
    assert clean(Frame(table.slice(0, 0))).rows.num_rows == 0


class OneColumn:
    """A series of another library."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._column.__arrow_c_stream__(requested_schema)


def test_a_series_is_a_table_of_texts() -> None:
    column = pa.array([DOG, LARGE, None])
    for series in (column, OneColumn(pa.chunked_array([column]))):
        found = clean(series)
        assert found.kept == [0, 2]
        assert found.rows.equals(pa.table({"text": [DOG, None]}))


class Unreadable:
    """A dataframe with a column that Arrow cannot express."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise pa.ArrowTypeError(DOG)


@each(
    ("data", "options", "what"),
    [
        (DOG, {}, "several texts"),
        (DOG.encode(), {}, "several texts"),
        ({"text": [DOG, LARGE]}, {}, "several texts"),
        (None, {}, "not NoneType"),
        (Unreadable(), {}, "give its rows instead"),
        ([{1: DOG}], {}, "names of columns should be text"),
        ([{"text": DOG}, {"text": DOG, None: DOG}], {}, "names of columns should be text"),
        ([DOG], {"keep": "oldest"}, "`keep` should be 'first', 'newest' or 'longest'"),
        ([DOG], {"within": 90}, "less than or equal to 1"),
        ([DOG], {"within": float("nan")}, "less than or equal to 1"),
        ([DOG], {"separate": [DOG]}, "pairs of texts"),
        ([DOG], {"separate": [(DOG, 1)]}, "pairs of texts"),
    ],
)
def test_a_wrong_argument_is_named(data: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        clean(data, **options)
    assert DOG not in str(refused.value)


def test_pairs_stay_apart() -> None:
    assert clean([DOG, LARGE], separate=[(LARGE, DOG)]).kept == [0, 1]


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    with pytest.raises(UsageError, match="the table has 2 columns `text`"):
        clean(table)


def test_a_wrong_column_is_named() -> None:
    with pytest.raises(UsageError, match="there is no column body: the columns are text"):
        clean([DOG], text="body")


@pytest.mark.parametrize("values", [[1, 1], [1.5, None], [None, None], [True, False]])
def test_a_table_without_texts_is_not_told_to_name_the_column_that_it_has(
    values: list[Any],
) -> None:
    table = pa.table({"text": pa.array(values)})
    with pytest.raises(UsageError, match="no column has texts in the first 2 rows") as refused:
        palimpsest.clean(table)
    assert "unknown" not in str(refused.value)


def test_the_column_of_texts_that_are_bytes_can_be_named() -> None:
    table = pa.table({"text": pa.array([b"Ada runs.", b"Ada runs."])})
    with pytest.raises(UsageError, match="--text COLUMN"):
        palimpsest.clean(table)
    assert palimpsest.clean(table, text="text").kept == [0]
