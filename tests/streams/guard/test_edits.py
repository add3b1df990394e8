"""The closed table of edits: what each row licenses, and what no row does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest.streams.guard import compare, differ_at_sight, guard_hash, kept_reading, read
from palimpsest.streams.guard.data.en import CHANGED
from palimpsest.streams.guard.data.tables import BUILT_IN, TABLES
from palimpsest.streams.guard.edits.alignment import MOST_EDITS, explain
from palimpsest.streams.guard.edits.edit import ADDED, FIGURES, Edit
from palimpsest.streams.guard.edits.moves import MOVE
from palimpsest.streams.guard.edits.table import EDITS
from palimpsest.streams.guard.kept import SHORT
from tests.streams.guard.pairs import DIFFERENT
from tests.tables import each

PAGE = Path(__file__).parents[3] / "docs" / "guard.md"
TABLE = (*EDITS, MOVE)
PASSES = [(edit, one, other) for edit in TABLE for one, other in edit.passes]
FAILS = [(edit, one, other) for edit in TABLE for one, other in edit.fails]


def names(one: str, other: str) -> list[str] | None:
    found = explain(read(one), read(other))
    return None if found is None else [edit.name for edit in found]


@each(("edit", "one", "other"), PASSES)
def test_an_edit_explains_its_pairs_in_both_orders(edit: Edit, one: str, other: str) -> None:
    assert edit.name in (names(one, other) or ())
    assert edit.name in (names(other, one) or ())
    assert not differ_at_sight(one, read(other))
    assert not differ_at_sight(other, read(one))
    assert compare(read(one), read(other)).near_identical


@each(("edit", "one", "other"), FAILS)
def test_no_edit_explains_what_looks_like_it(edit: Edit, one: str, other: str) -> None:
    assert names(one, other) is None
    assert names(other, one) is None
    assert not compare(read(one), read(other)).near_identical


@each("edit", TABLE)
def test_each_edit_says_what_it_licenses_and_what_it_does_not(edit: Edit) -> None:
    assert edit.passes
    assert len(edit.fails) >= 2
    assert edit.changes
    assert edit.context


@each("edit", TABLE)
def test_a_word_that_an_edit_begins_with_is_one_that_edits_change(edit: Edit) -> None:
    starts = {word for table in TABLES.values() for word in table.starts}
    assert edit.begins <= CHANGED | BUILT_IN.months | starts | {FIGURES, ADDED}


@each(("one", "other"), DIFFERENT)
def test_two_texts_that_say_two_things_are_never_near_identical(one: str, other: str) -> None:
    assert not compare(read(one), read(other)).near_identical
    assert not compare(read(other), read(one)).near_identical


def test_the_page_has_the_table() -> None:
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    expected = [row(edit) for edit in TABLE]
    assert [line.rsplit(" | ", 1)[0] for line in shown if line.split("`")[1] in ROWS] == expected


ROWS = {edit.name for edit in TABLE}


def row(edit: Edit) -> str:
    """An edit as the page shows it, without what it earned."""
    (passes, passed), (fails, failed) = edit.passes[0], edit.fails[0]
    return (
        f"| `{edit.name}` | {edit.changes} | {edit.context} | {passes} / {passed}"
        f" | {fails} / {failed}"
    ).replace("*,,", "*,")


def test_edits_add_up_to_a_limit() -> None:
    one = "The girl sleeps on the couch. " * MOST_EDITS
    other = "The girl sleeps on the sofa. " * MOST_EDITS
    assert names(one, other) == ["noun"] * MOST_EDITS
    more, another = one + "She sleeps on the couch.", other + "She sleeps on the sofa."
    assert names(more, another) is None


@each(
    ("one", "other", "same"),
    [
        ("She  sings with her dog", "She sings with her dog", True),
        ("She sings.\nHe has a dog", "She sings. He has a dog", True),
        ("Buy for her:\nred,\nwhite", "Buy for her: red, white", True),
        ("Buy for her: ginger\nale", "Buy for her: ginger ale", False),
        ("Invite these\nTom\nPaul", "Invite these\nTom Paul", False),
        ("Nobody has a dog\r\nNo", "Nobody has a dog No", False),
        ("if x:\n    run the dog", "if x:\n  run the dog", False),
        ("x = 1\ny = 2", "x = 1 y = 2", False),
        ("See a.py  for the dog", "See a.py for the dog", False),
        ("She\u200b sings", "She sings", True),
        ("Cafe\u0301 near her", "Café near her", True),
    ],
)
def test_white_space_is_free_where_no_code_is(one: str, other: str, same: bool) -> None:
    assert (names(one, other) is not None) == same


def test_a_long_text_is_read_to_its_end() -> None:
    body = "She walks with her dog near the river. " * 800
    assert names(body + "She is ill", body + "She is ill.") == ["final-stop"]
    assert names(body + "She is ill.", body + "He is ill.") is None


@pytest.mark.parametrize("text", ["Ada has a dog", "Ada has a dog. " * SHORT])
def test_a_text_is_read_once(text: str) -> None:
    first = kept_reading(text)
    assert first == read(text)
    assert kept_reading(text) is first
    assert kept_reading(text, truncated=True) is not first


def test_the_guard_has_the_same_name_in_every_process() -> None:
    assert guard_hash().startswith("sha256:")
    call = "from palimpsest.streams.guard import guard_hash; print(guard_hash())"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", call],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == guard_hash()
