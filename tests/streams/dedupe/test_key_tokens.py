"""What a memory is about, and which memories share it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.streams.dedupe.key_tokens import STOPWORDS, key_tokens, sharing_pairs
from tests.long import examples


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The user has two cats and a dog", "cat dog"),
        ("Ada's boats are moored in Bergen", "ada boat moored bergen"),
        ("She will have been there before", "there"),
        ("Stories of 12 glasses", "story 12 glass"),
        ("Bus stops near the class of Ines", "bus stop near class ine"),
        ("", ""),
    ],
)
def test_key_tokens_are_not_stopwords(text: str, tokens: str) -> None:
    assert key_tokens(text) == {*tokens.split()} - STOPWORDS


def test_the_plural_and_the_singular_are_one() -> None:
    assert key_tokens("cities, churches, dishes, boats") == key_tokens("city church dish boat")


def places(*texts: str, most: int = 30) -> list[tuple[int, int]]:
    found = sharing_pairs([key_tokens(text) for text in texts], most)
    return [(int(a), int(b)) for a, b in found]


def test_only_those_that_share_a_token_are_paired() -> None:
    assert places("red boat", "blue boat", "green car", "old car", "one tree") == [(0, 1), (2, 3)]


def test_rare_tokens_count_more_and_ties_go_to_the_earlier() -> None:
    texts = ["sails boat", "boat 1", "boat 2", "boat 3", "sails moored"]
    assert (0, 4) in places(*texts, most=1)
    assert (1, 2) not in places(*texts, most=1)
    assert places("boat 1", "boat 2", "boat 3", most=1) == [(0, 1), (0, 2)]


def test_what_nearly_all_say_pairs_nobody() -> None:
    texts = [f"garden {number}" for number in range(80)]
    assert places(*texts) == []
    assert places(*texts, "garden 7 7a") == [(7, 80)]


@pytest.mark.parametrize(
    ("said", "others", "paired"), [(32, 32, True), (33, 31, False), (63, 0, True), (64, 0, False)]
)
def test_half_of_many_may_say_it_and_all_of_a_few(said: int, others: int, paired: bool) -> None:
    texts = [f"garden {n}" for n in range(said)] + ["x" + "y" * n for n in range(others)]
    assert bool(places(*texts)) is paired


@given(
    st.lists(st.frozensets(st.sampled_from("abcdefgh")), max_size=30),
    st.integers(1, 5),
    st.integers(0, 9),
)
@settings(max_examples=examples(200))
def test_pairs_share_a_token_and_depend_on_no_order_of_sets(
    tokens: list[frozenset[str]], most: int, seed: int
) -> None:
    found = sharing_pairs(tokens, most)
    assert all(tokens[a] & tokens[b] and a < b for a, b in found)
    assert len(found) <= most * len(tokens)
    shuffled = [frozenset(random.Random(seed).sample(sorted(own), len(own))) for own in tokens]
    assert (sharing_pairs(shuffled, most) == found).all()
    everyone = {(a, b) for b in range(len(tokens)) for a in range(b) if tokens[a] & tokens[b]}
    assert {(int(a), int(b)) for a, b in sharing_pairs(tokens, len(tokens) + 1)} == everyone
