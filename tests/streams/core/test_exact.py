"""The forms of a text (docs/exact.md): what each of them folds, whatever Python computes it."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest

from palimpsest.streams.core.text import differences, folded, search_form, verbatim
from tests.tables import each

INVISIBLE = "\u200b\ufeff\u00ad\u200e\u200f\u061c"


def test_every_python_gives_every_character_the_same_identity() -> None:
    """The digest was computed with the tables of Unicode 14; newer ones must not change it."""
    digest = hashlib.sha256()
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000:  # surrogates are no text
            digest.update(verbatim(f"x{chr(code)}\u0323\u0301.").encode())
    assert digest.hexdigest() == (
        "c73bcbda685d63eef4a6abe4de0e525bbd94f10608cc933dcedf56439a77453a"
    )


def test_known_characters_are_in_nfc() -> None:
    """The oracle is unicodedata alone, over what Unicode 3.2 has, which no table has changed."""
    old = unicodedata.ucd_3_2_0
    for code in range(0x110000):
        character = chr(code)
        if old.category(character) in ("Cn", "Cs") or character in INVISIBLE:
            continue
        assert verbatim(f"x{character}\u0301.") == unicodedata.normalize(
            "NFC", f"x{character}\u0301."
        )


def test_what_stands_around_a_newer_character_is_in_nfc() -> None:
    newer = "\u0897"  # of Unicode 16
    written = newer.join(["cafe\u0301"] * 3)
    assert verbatim(written) == newer.join(["caf\u00e9"] * 3)


@pytest.mark.parametrize("character", INVISIBLE)
def test_what_nobody_sees_is_left_out(character: str) -> None:
    assert verbatim(f"{character}The al{character}arm.{character}") == "The alarm."
    assert search_form(f"The al{character}arm.") == "the alarm."


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u00a0", "\n", "  ", "\u200d"])
def test_what_changes_how_a_text_reads_stays(character: str) -> None:
    assert verbatim(f"The{character}alarm.") == f"The{character}alarm."


@each(
    ("a", "b", "kinds"),
    [
        ("Tulip7", "tulip7", ("sentence_case",)),
        ("The lamp is Tulip7", "The lamp is tulip7", ("case",)),
        ("Rain. we stay", "rain. We stay", ("sentence_case",)),
        ("5 mW", "5 MW", ("case",)),
        ("two  cats", "two cats", ("white_space",)),
        ("Two  cats", "two cats", ("sentence_case", "white_space")),
        ("10\u2075", "105", ("compatibility",)),
        ("cafe\u0301", "caf\u00e9", ()),
        ("al\u200barm", "alarm", ()),
        ("  tea ", "tea", ()),
    ],
)
def test_what_two_texts_differ_in(a: str, b: str, kinds: tuple[str, ...]) -> None:
    assert differences(a, b) == differences(b, a) == kinds


def test_folding_knows_case_and_white_space_and_nothing_else() -> None:
    assert folded("The  LAMP\nis on") == folded("the lamp is on")
    assert folded("10\u2075") != folded("105")
    assert folded("stra\u00dfe") != folded("strasse")
