"""Where the wording itself is told, no edit is licensed: quotations, passwords, lists by line."""

from __future__ import annotations

from collections import Counter

import pytest

from palimpsest.streams.guard import passes, read
from palimpsest.streams.guard.edits.moves import MOVE
from palimpsest.streams.guard.edits.table import EDITS, FINAL_STOP
from tests.tables import each

PAIRS = [
    (edit.name, pair) for edit in (*EDITS, MOVE) if edit is not FINAL_STOP for pair in edit.passes
]
"""Every pair that the table licenses, but for the last full stop."""
TOLD = {
    "a passphrase": "Her passphrase is {}",
    "a motto": "{} That is the motto of the house.",
    "a spelling": "This is spelt as she does: {}",
    "in German": "Ada hat ein Passwort: {}",
    "in Spanish": "Mi contraseña es {}",
    "in Chinese": "密码是{}",
    "a title in Chinese": "她喜欢《{}》",
    "a quotation in Chinese": "她说“{}”",
    "a quotation in Japanese": "彼女は「{}」と言った",
    "a quotation": 'The sign on her door says "{}"',
    "typographic marks": "The sign on her door says “{}” in red.",
    "single marks": "The sign on her door says '{}' in red.",
    "French marks": "The sign on her door says «{}» in red.",
}
"""How a text is told word for word."""


def near(one: str, other: str) -> bool:
    """Whether the guard accepts two texts."""
    return passes(read(one, model=MODEL), read(other, model=MODEL))


MODEL = "multilingual-e5-small"
"""It reads every script, so that only the texts decide."""


@each("told", TOLD.values())
def test_no_edit_is_licensed_in_what_is_told_word_for_word(told: str) -> None:
    for _, (one, other) in PAIRS:
        assert not near(told.format(one), told.format(other)), (one, other)


def test_the_pairs_are_of_every_edit_and_are_licensed_as_they_stand() -> None:
    assert {name for name, _ in PAIRS} == {edit.name for edit in (*EDITS, MOVE)} - {"final-stop"}
    assert all(near(one, other) for _, (one, other) in PAIRS)


def test_beside_a_quotation_edits_are_licensed() -> None:
    behind = '"Home", she said. {}'
    alike = Counter(name for name, (a, b) in PAIRS if near(behind.format(a), behind.format(b)))
    assert len(alike) > len({name for name, _ in PAIRS}) / 2


def test_a_line_break_separates_unless_a_mark_stands_before_it() -> None:
    texts = sorted({text for _, pair in PAIRS for text in pair if text.isascii()})
    broken = marked = 0
    for text in texts:
        words = text.split(" ")
        for at in range(1, len(words)):
            lines = " ".join(words[:at]) + "\n" + " ".join(words[at:])
            if words[at - 1][-1] in ".,!?:":
                marked += 1
                assert near(text, lines), lines
            else:
                broken += 1
                assert not near(text, lines), lines
    assert broken > 500
    assert marked > 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The hashtag is favourite color.", "The hashtag is favorite color."),
        ("The css class of it is gray.", "The css class of it is grey."),
        ("The channel is neighbours.", "The channel is neighbors."),
        ("The function is organise in it.", "The function is organize in it."),
        ("The topic is behaviour of them.", "The topic is behavior of them."),
    ],
)
def test_names_of_things_in_programs_keep_their_spelling(one: str, other: str) -> None:
    assert not near(one, other)
