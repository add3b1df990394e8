"""The tokens that token Jaccard counts."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from palimpsest.streams.guard import tokens
from palimpsest.streams.guard.text import words


def test_words_are_casefolded_and_stopwords_left_out() -> None:
    assert tokens("The Cat, and the HAT!") == {"cat", "hat"}


def test_numbers_versions_and_dates_stay_whole() -> None:
    assert tokens("v0.8.1 and 136.0.1-1 on 2031-04-05 cost 1,200.50") == {
        "v0.8.1", "136.0.1-1", "on", "2031-04-05", "cost", "1,200.50",
    }  # fmt: skip


def test_negation_is_a_token_of_its_own() -> None:
    assert tokens("He doesn't smoke") - tokens("He does smoke") == {"not"}


def test_scripts_without_spaces_give_pairs_of_characters() -> None:
    assert tokens("東京都") == {"東京", "京都"}
    assert tokens("茶") == {"茶"}
    assert tokens("abc東京xyz") == {"abc", "東京", "xyz"}
    assert len(tokens("お茶が好きです") & tokens("お茶が嫌いです")) > 0


def test_a_text_without_words_has_no_tokens() -> None:
    assert tokens("... the !") == frozenset()


@given(st.text(st.sampled_from("abcmpvehtrsndACV .,;:!'?-()\"1é\n")))
@example("I can't, and \"don't\" (won't) - cannot")
@example("'tis rock'n'roll dogs' it''s")
@example("a.m. and p.m.")
@example("release v2. ver 3. Version four. ")
@example("cannot. won't")
def test_plain_texts_take_a_shorter_way_to_the_same_tokens(text: str) -> None:
    short = tokens(text)
    with patch.object(words, "_plain_words", lambda _: None):
        assert tokens(text) == short


PARTS = (
    "version Version ver ver. VER. release v V v2 2 2.0 1.2.3 -5 x over 3version _version ' 's `s"
    " a.m. a. C++ c# https:// https://x 2026-01-02 1/2/2026 10:30 , . ! - 1,200.5 don't é ” ２ ｖ ´"
).split()


@given(st.lists(st.sampled_from([*PARTS, " ", "\n", "\u00a0"])).map("".join))
@example("Ver. 2 of version 2.0, not over 2")
@example("release - 2")
def test_a_text_is_split_by_its_spaces_first(text: str) -> None:
    assert words.split(text) == words._WORD.findall(words._folded(text))
