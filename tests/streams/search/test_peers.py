"""Newcomers of one window among themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from palimpsest.streams.search import Peers, SearchHit, cosine
from palimpsest.streams.search.cosine import kernels
from palimpsest.streams.search.cosine.peers import CROWD
from tests.long import examples

DIMENSION = 6
numbers = st.lists(
    st.lists(st.integers(-2, 2), min_size=DIMENSION, max_size=DIMENSION), min_size=1, max_size=9
)


@pytest.fixture(autouse=True, scope="module", params=[kernels.BLAS_SHARES_FROM, 0])
def _product(request: pytest.FixtureRequest) -> Iterator[None]:
    """By numpy's product, as for few newcomers, and by the one of a single thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "BLAS_SHARES_FROM", request.param)
        yield


def batch(rows: list[list[int]]) -> NDArray[np.float16]:
    return np.array(rows, np.float16) / np.float16(2)


@given(numbers, st.sampled_from([0.0, 0.5, 0.6667, 0.7071, 0.8, 1.0]))
@example([[1, 1, 1, 0, 0, 0], [2, 2, -1, 0, 0, 0], [1, 1, 0, 1, 0, 0]], 0.6667)  # 2/3 rounds up
@settings(max_examples=examples(200))
def test_each_gets_all_earlier_ones_over_the_floor(rows: list[list[int]], floor: float) -> None:
    vectors = batch(rows)
    expected = [
        [
            SearchHit(earlier, score)
            for earlier in range(later)
            if (score := cosine(vectors[later], vectors[earlier])) >= floor
        ]
        for later in range(len(vectors))
    ]
    assert Peers(vectors).above(floor) == expected


@given(numbers, st.lists(st.sampled_from([0.0, 0.5, 0.6667, 1.0]), min_size=9, max_size=9))
@settings(max_examples=examples(200))
def test_each_has_a_floor_of_its_own(rows: list[list[int]], floors: list[float]) -> None:
    peers, own = Peers(batch(rows)), floors[: len(rows)]
    together = peers.above(np.array(own))
    assert together == [peers.above(floor)[number] for number, floor in enumerate(own)]


@given(numbers)
@example([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]])  # the last is between both
@settings(max_examples=examples(200))
def test_the_nearest_earlier_ones_are_found_together(rows: list[list[int]]) -> None:
    peers = Peers(batch(rows))
    alone = [peers.nearest(number, np.arange(number)) for number in range(len(rows))]
    assert peers.nearest_earlier == [hits[0] if hits else None for hits in alone]


@given(numbers, st.sets(st.integers(0, 8)))
@settings(max_examples=examples(200))
def test_the_nearest_of_some_is_the_earliest_of_the_best(
    rows: list[list[int]], some: set[int]
) -> None:
    vectors = batch(rows)
    number, among = len(rows) - 1, sorted(one for one in some if one < len(rows) - 1)
    scored = [SearchHit(one, cosine(vectors[number], vectors[one])) for one in among]
    best = sorted(scored, key=lambda hit: (-hit.score, hit.row))[:1]
    assert Peers(vectors).nearest(number, np.array(among, np.intp)) == best


def test_a_crowd_gets_none() -> None:
    found = Peers(batch([[1, 0, 0, 0, 0, 0]] * (CROWD + 2))).above(0.9)
    assert found[CROWD] is not None
    assert len(found[CROWD]) == CROWD
    assert found[CROWD + 1] is None


def test_vectors_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="float16"):
        Peers(np.ones((2, DIMENSION), np.float32))
    for number, places in ((np.nan, DIMENSION), (4.0, 2)):  # 4 twice is 32 squared
        long = np.zeros((2, DIMENSION), np.float16)
        long[:, :places] = number
        with pytest.raises(ValueError, match="not below 32"):
            Peers(long)
