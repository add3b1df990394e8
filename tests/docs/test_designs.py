"""The tables of the designs' pages: every test that stands there as a rule's proof is there."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.docs.pages import ROOT, text_of

PAGES = [f"docs/designs/{name}.md" for name in ("importance", "namespaced", "layered")]
"""Those with a column `test`."""
_TEST = re.compile(r"^(?:async )?def test_(\w+)", re.MULTILINE)


@cache
def every_test() -> frozenset[str]:
    files = (ROOT / "tests").rglob("test_*.py")
    return frozenset(name for file in files for name in _TEST.findall(file.read_text()))


def is_there(named: str) -> bool:
    """Whether it is a file, a test, or the beginning of one; `test_` may be left out."""
    if named.endswith(".py"):
        folder, _, name = named.rpartition("/")
        return any((ROOT / (folder or "tests")).rglob(name))
    name = named.removeprefix("test_")
    if name.endswith("…"):
        return any(test.startswith(name[:-1]) for test in every_test())
    return name in every_test()


def proofs(page: str) -> list[list[str]]:
    """What stands in the column `test` of each rule, in backticks."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text_of(page).splitlines()]
    head = next(number for number, row in enumerate(rows) if "test" in row)
    column, found = rows[head].index("test"), []
    for row in rows[head + 2 :]:
        if len(row) <= column:
            break
        found.append(re.findall(r"`([^`]+)`", row[column]))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_rule_names_is_there(page: str) -> None:
    named = [one for cell in proofs(page) for one in cell if not one.startswith("make ")]
    assert len(named) >= 15
    assert [one for one in named if not is_there(one)] == []


@pytest.mark.parametrize(
    "named", ["no_such_test_is_anywhere", "test_short_circuitry…", "tests/designs/test_nobody.py"]
)
def test_what_is_not_there_is_noticed(named: str) -> None:
    assert not is_there(named)
