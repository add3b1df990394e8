"""Batches hold every text once, are not too full, and pay for next to no padding."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.embedder.onnx.batches import ENOUGH, FULL, batches_by_length, padded

LENGTHS = st.lists(st.integers(2, 256), max_size=300)


@given(LENGTHS)
def test_every_text_is_in_one_batch(lengths: list[int]) -> None:
    batches = batches_by_length(lengths)
    assert sorted(text for batch in batches for text in batch) == list(range(len(lengths)))
    assert all(batches)


@given(LENGTHS)
def test_no_batch_is_too_full_or_padded_beyond_what_is_enough(lengths: list[int]) -> None:
    for batch in batches_by_length(lengths):
        inside = [lengths[text] for text in batch]
        assert len(batch) * max(inside) <= FULL
        shorter = [position for position, length in enumerate(inside) if length < max(inside)]
        assert all(position * max(inside) < ENOUGH for position in shorter[:1])


@given(LENGTHS)
def test_the_longest_come_first(lengths: list[int]) -> None:
    order = [lengths[text] for batch in batches_by_length(lengths) for text in batch]
    assert order == sorted(lengths, reverse=True)


def test_a_text_longer_than_a_batch_has_its_own() -> None:
    assert batches_by_length([3, FULL + 1]) == [[1], [0]]


def test_texts_of_one_length_fill_a_batch() -> None:
    assert [len(batch) for batch in batches_by_length([8] * 100)] == [FULL // 8, 100 - FULL // 8]


def test_padding_is_zero_and_masked() -> None:
    ids, mask = padded([[101, 7, 102], [101, 102]])
    assert np.array_equal(ids, [[101, 7, 102], [101, 102, 0]])
    assert np.array_equal(mask, [[1, 1, 1], [1, 1, 0]])
