"""Texts are cut between characters as people see them."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.cli import pictures
from palimpsest.process.cutting import place_to_cut
from palimpsest.server.mcp import bounds, prose
from tests.tables import each

ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
FAMILY = "👨\u200d👩\u200d👧\u200d👦"


@each(
    ("text", "at", "place"),
    [
        ("München", 2, 2),
        (normalize("NFD", "München"), 2, 1),
        (normalize("NFD", "がぎ"), 3, 2),
        (normalize("NFD", "한국"), 2, 0),
        (f"ab{FAMILY}c", 5, 2),
        (f"ab{FAMILY}c", 8, 2),
        (f"ab{FAMILY}c", 9, 9),
        ("a👍🏽b", 2, 1),
        ("a❤\ufe0fb", 2, 1),
        ("🇩🇪🇯🇵", 1, 0),
        ("🇩🇪🇯🇵", 2, 2),
        ("🇩🇪🇯🇵", 3, 2),
        (f"ab{ENGLAND}{ENGLAND}", 5, 2),
        (f"ab{ENGLAND}{ENGLAND}", 8, 2),
        (f"ab{ENGLAND}{ENGLAND}", 9, 9),
        (f"ab{ENGLAND}{ENGLAND}", 10, 9),
        ("ab", 2, 2),
        ("ab", 5, 5),
        ("", 0, 0),
    ],
)
def test_no_character_is_cut_in_two(text: str, at: int, place: int) -> None:
    assert place_to_cut(text, at) == (place or at)


def test_a_heap_of_accents_is_cut_anywhere() -> None:
    assert place_to_cut("a" + "\u0301" * 500, 300) == 300


@given(st.text(f"aü\u0308{FAMILY}🇩🇪", max_size=30), st.integers(0, 30))
def test_a_cut_is_never_later(text: str, at: int) -> None:
    assert 0 <= place_to_cut(text, at) <= at


def test_texts_for_a_model_are_cut_between_characters() -> None:
    text = FAMILY * 100
    shown = prose.fitted([prose.ProseLine(text, "- ")], 1_000)
    [line] = [line for line in shown.splitlines() if line.startswith("- ")]
    cut = line.removeprefix('- "').rpartition('"')[0]
    assert cut
    assert text.startswith(cut)
    assert len(cut) % len(FAMILY) == 0


def test_a_bounded_text_is_cut_between_characters() -> None:
    for longest in range(10, 20):
        shown = bounds._shortened({"face": FAMILY * 9}, longest)["face"]
        assert len(shown.removesuffix("…")) % len(FAMILY) == 0


@pytest.mark.parametrize("spaces", range(len(FAMILY)))
def test_a_text_on_a_page_of_a_file_is_cut_between_characters(spaces: int) -> None:
    text = "x" * spaces + FAMILY * pictures.LONGEST
    for shown in (pictures.text_of(text), *pictures.compared(text, text)):
        assert (len(shown) - spaces) % len(FAMILY) == 0
