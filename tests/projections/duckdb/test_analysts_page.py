"""The analysts' page says what is there: every view and column, and queries that run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from palimpsest.projections.duckdb import queries as analysts
from palimpsest.projections.duckdb.queries import ensure_views, query
from palimpsest.projections.projector import Projector
from tests.light import comment_on_columns
from tests.projections.histories import History

PAGE = (Path(__file__).parents[3] / "docs" / "analysts.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("projections")
    with patch.object(analysts, "_comment_on_columns", comment_on_columns):
        ensure_views(folder)
        projector = Projector(folder, History(1).steps(300).log)
        projector.start()
        projector.close()
        yield folder


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_of_the_page_finds_something(folder: Path, text: str) -> None:
    assert query(folder, text)


def test_every_view_and_column_is_on_the_page_and_has_its_comment(folder: Path) -> None:
    views = query(folder, "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal")
    assert len(views) == len(re.findall(r"^\| `", PAGE, re.MULTILINE))
    for view in views:
        name, said = view["view_name"], view["comment"]
        assert f"\n| `{name}` | {said} |\n" in PAGE
        columns = query(
            folder,
            "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ?"
            " ORDER BY column_index",
            [name],
        )
        listed = "".join(
            f"- `{column['column_name']}`: {column['comment']}\n" for column in columns
        )
        section = f"### `{name}`\n\n{listed}\n"
        assert section in PAGE or name == "joins"
        assert all(column["comment"] for column in columns)
