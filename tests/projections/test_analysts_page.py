"""The analysts' page says what is there: every view and column, and queries that run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from projections.analysts import query
from projections.projector import Projector
from tests.projections.histories import History

PAGE = (Path(__file__).parents[2] / "docs" / "analysts.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projections")
    projector = Projector(folder, History(1).steps(300).log)
    projector.start()
    projector.close()
    return folder


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_of_the_page_finds_something(folder: Path, text: str) -> None:
    assert query(folder, text)


def test_every_view_and_column_is_on_the_page(folder: Path) -> None:
    rows = query(
        folder,
        "SELECT table_name, list(column_name) AS columns FROM information_schema.columns"
        " WHERE table_schema = 'main' GROUP BY table_name",
    )
    for row in rows:
        line = next(
            line for line in PAGE.splitlines() if line.startswith(f"| `{row['table_name']}`")
        )
        said = set(re.findall(r"\w+", line.split("|")[-2]))
        if row["table_name"] != "joins":
            assert set(row["columns"]) <= said, set(row["columns"]) - said
    assert len(rows) == len(re.findall(r"^\| `", PAGE, re.MULTILINE))
