"""The cosine search against a plain loop, at every size at which its method changes."""

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from palimpsest.streams.search import SearchHit, SearchVector, VectorIndex, cosine
from palimpsest.streams.search.cosine import index as vectors
from palimpsest.streams.search.cosine import kernels, rows, scans
from palimpsest.streams.search.cosine.queries import Queries
from palimpsest.streams.search.cosine.rows import VectorRows
from tests.long import examples
from tests.tables import each

Vectors = NDArray[np.float16]

METHODS = {
    "exactly": {"few": 10_000, "segment": 16, "small": 256, "crowded": 1.0, "scores": 1},
    "by product": {"few": 0, "segment": 10_000, "small": 0, "crowded": 1.0, "scores": 1},
    "by codes": {"few": 0, "segment": 16, "small": 20, "crowded": 1.0, "scores": 1},
    "by codes, many segments at once": {
        "few": 0,
        "segment": 8,
        "small": 20,
        "crowded": 1.0,
        "scores": 10_000,
    },
    "by codes, then by product": {
        "few": 0,
        "segment": 16,
        "small": 0,
        "crowded": 0.0,
        "scores": 500,
    },
    "all": {"few": 5, "segment": 16, "small": 256, "crowded": 0.1, "scores": 100},
}
"""Sizes at which the search goes another way, so small that these tests go every way."""


@pytest.fixture(autouse=True, scope="module", params=list(METHODS.values()), ids=list(METHODS))
def _method(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "FEW_ROWS", request.param["few"])
        patch.setattr(scans, "CROWDED", request.param["crowded"])
        patch.setattr(scans, "TOGETHER", 7)
        patch.setattr(vectors, "SEGMENT_ROWS", request.param["segment"])
        patch.setattr(rows, "SMALL", request.param["small"])
        patch.setattr(kernels, "_AT_ONCE", 7)
        patch.setattr(vectors, "SCORES", request.param["scores"])
        patch.setattr(vectors, "TOGETHER", 5)
        patch.setattr(vectors, "WAITING", 3)
        patch.setattr(kernels, "NUMPY_WIDENS_FASTER_UP_TO", 100)
        patch.setattr(kernels, "BLAS_SHARES_FROM", 100)
        yield


def unit(rows: NDArray[np.float64]) -> Vectors:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float16)


def clustered(seed: int, n: int, dimension: int) -> Vectors:
    """Vectors in tight groups, with exact duplicates among them, as near-duplicate texts give."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, n // 6), dimension))
    rows = centres[random.integers(0, len(centres), n)]
    spread = random.choice([0.0, 0.1, 0.4], n)[:, None]
    return unit(rows + spread * random.standard_normal((n, dimension)))


def exact_cosine(a: Vectors, b: Vectors) -> float:
    """By fractions: nothing is rounded before the square root."""
    x = [Fraction(float(value)) for value in a]
    y = [Fraction(float(value)) for value in b]
    dot = sum(p * q for p, q in zip(x, y, strict=True))
    squared = float(sum(p * p for p in x)) * float(sum(q * q for q in y))
    return round(float(dot) / sqrt(squared), 4) if squared else 0.0


def brute(rows: dict[int, Vectors], query: Vectors, floor: float, limit: int) -> list[SearchHit]:
    hits = [SearchHit(row, cosine(query, vector)) for row, vector in rows.items()]
    near = [hit for hit in hits if hit.score >= floor]
    return sorted(near, key=lambda hit: (-hit.score, hit.row))[:limit]


def filled(rows: Vectors) -> VectorIndex:
    """Some one by one, the others at once, across the ends of segments."""
    index, few = VectorIndex(rows.shape[1]), len(rows) // 3
    for row, vector in enumerate(rows[:few]):
        assert index.append(SearchVector.of(vector)) == row
    assert index.extend(rows[few:]) == few
    return index


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_cosine_is_exact(seed: int) -> None:
    a, b = clustered(seed, 2, 48)
    assert cosine(a, b) == exact_cosine(a, b)


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([0.03, 1.0, 4.0]))
@settings(max_examples=examples(15))
def test_the_order_of_the_dimensions_changes_no_bit(seed: int, scale: float) -> None:
    random = np.random.default_rng(seed)
    faces = (clustered(seed, 40, 384) * np.float16(scale)).astype(np.float16)
    order = random.permutation(384)
    assert cosine(faces[0], faces[1]) == cosine(faces[0][order], faces[1][order])
    straight = filled(faces).above(faces[:3], -1.0, limit=40)
    assert straight == filled(faces[:, order]).above(faces[:3][:, order], -1.0, limit=40)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(0, 60),
    floor=st.one_of(st.floats(-1.0, 1.0), st.sampled_from([0.0, 1.0, -1.0])),
    limit=st.integers(1, 70),
)
@settings(max_examples=examples(200))
def test_it_finds_what_a_plain_loop_finds(seed: int, n: int, floor: float, limit: int) -> None:
    faces = clustered(seed, n + 3, 24)
    index, rows = filled(faces[:n]), dict(enumerate(faces[:n]))
    expected = [brute(rows, query, floor, limit) for query in faces[n:]]
    assert index.above(faces[n:], floor, limit=limit) == expected


@given(seed=st.integers(0, 10_000), n=st.integers(0, 60), floor=st.floats(0.0, 1.0))
@settings(max_examples=examples(200))
def test_the_best_comes_even_under_the_floor(seed: int, n: int, floor: float) -> None:
    faces = clustered(seed, n + 7, 24)
    index, rows = filled(faces[:n]), dict(enumerate(faces[:n]))
    expected = [brute(rows, q, floor, 3) or brute(rows, q, -1.0, 1) for q in faces[n:]]
    assert index.above(faces[n:], floor, limit=3, best=True) == expected
    ready = map(SearchVector.of, faces[n:])
    assert [index.near(query, floor, limit=3, best=True) for query in ready] == expected


@given(seed=st.integers(0, 10_000), floor=st.floats(-0.5, 1.0))
@settings(max_examples=examples(25))
def test_batches_change_no_answer(seed: int, floor: float) -> None:
    faces = clustered(seed, 50, 32)
    index = filled(faces)
    together = index.above(faces[:7], floor, limit=5)
    assert together == [index.above(query[None], floor, limit=5)[0] for query in faces[:7]]


@given(bits=st.lists(st.integers(0, 0x57FF), min_size=24, max_size=600), seed=st.integers(0, 99))
@settings(max_examples=examples(200))
@example(bits=[0, 1, 0x3FF, 0x400, 0x57FF] * 5, seed=1)
def test_products_without_widening_have_every_bit_of_those_with(bits: list[int], seed: int) -> None:
    """Also of the smallest numbers, and of nothing."""
    random = np.random.default_rng(seed)
    signed = np.array(bits, np.uint16) | (random.integers(0, 2, len(bits), np.uint16) << 15)
    vectors = signed[: len(bits) // 24 * 24].astype(np.uint16).view(np.float16).reshape(-1, 24)
    single = clustered(seed, 1, 24)[0].astype(np.float32)
    expected = np.vecdot(vectors.astype(np.float32), single)
    assert np.array_equal(kernels.products_with(vectors, single), expected)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(50))
def test_a_floor_at_the_score_itself_is_reached(seed: int) -> None:
    """Of rows at the ends of segments and between."""
    faces = clustered(seed, 30, 16)
    index, ready = filled(faces), SearchVector.of(faces[0])
    for row in (2, 9, 15, 16, 23, 29):
        score = cosine(faces[0], faces[row])
        over = float(np.nextafter(score, 2))
        [at], [beyond] = (index.above(faces[:1], floor, limit=30) for floor in (score, over))
        assert SearchHit(row, score) in at
        assert row not in [hit.row for hit in beyond]
        assert [index.near(ready, floor, limit=30) for floor in (score, over)] == [at, beyond]
        assert index.among(ready, [row], score) == [SearchHit(row, score)]
        assert index.among(ready, [row], over) == []


def test_a_score_that_rounds_up_to_the_floor_reaches_it() -> None:
    a = np.array([1, 0, 0], np.float16)
    b = np.array([1, 1, 1], np.float16)
    assert cosine(a, b) == 0.5774 > 1 / sqrt(3)
    index, ready = filled(b[None]), SearchVector.of(a)
    assert index.above(a[None], 0.5774, limit=1) == [[SearchHit(0, 0.5774)]]
    assert index.near(ready, 0.5774, limit=1) == [SearchHit(0, 0.5774)]
    assert index.among(ready, [0], 0.5774) == [SearchHit(0, 0.5774)]


def test_of_equal_scores_the_earlier_rows_stay() -> None:
    faces = np.repeat(clustered(1, 2, 16)[:1], 40, axis=0)
    hits = filled(faces).above(faces[:1], 0.5, limit=3)
    assert hits == [[SearchHit(0, 1.0), SearchHit(1, 1.0), SearchHit(2, 1.0)]]


@given(seed=st.integers(0, 10_000), steps=st.lists(st.integers(0, 2), max_size=40))
@settings(max_examples=examples(25))
def test_removed_rows_stay_away_and_replaced_rows_are_what_they_became(
    seed: int, steps: list[int]
) -> None:
    random = np.random.default_rng(seed)
    faces = clustered(seed, 2 * len(steps) + 21, 16)
    index, rows, size = filled(faces[:20]), dict(enumerate(faces[:20])), 20
    for vector, step in zip(faces[21:], steps, strict=False):
        row, ready = int(random.integers(0, size)), SearchVector.of(vector)
        if step == 0:
            rows[index.append(ready)] = vector
            size += 1
        elif step == 1:
            index.replace(row, vector)
            rows[row] = vector
        else:
            index.remove(row)
            rows.pop(row, None)
        assert index.above(vector[None], 0.3, limit=4) == [brute(rows, vector, 0.3, 4)]
        assert index.near(ready, 0.3, limit=4) == brute(rows, vector, 0.3, 4)
        best = brute(rows, vector, 0.3, 4) or brute(rows, vector, -1.0, 1)
        assert index.above(vector[None], 0.3, limit=4, best=True) == [best]
        assert index.near(ready, 0.3, limit=4, best=True) == best
        some = random.integers(0, size, 5).tolist()
        scores = [cosine(vector, rows[place]) if place in rows else None for place in some]
        assert index.cosines(ready, some) == scores
        living = zip(some, scores, strict=True)
        near = [
            SearchHit(place, score) for place, score in living if score is not None and score >= 0.3
        ]
        assert index.among(ready, some, 0.3) == near
    assert len(index) == size


def test_a_zero_vector_is_like_nothing() -> None:
    zero = np.zeros(4, np.float16)
    assert cosine(zero, zero) == 0.0
    assert filled(zero[None]).above(zero[None], 0.0, limit=1) == [[SearchHit(0, 0.0)]]
    assert filled(zero[None]).above(zero[None], 0.1, limit=1) == [[]]


def test_nothing_to_search_or_nothing_asked() -> None:
    index = VectorIndex(4)
    assert index.above(np.ones((2, 4), np.float16), -1.0, limit=3) == [[], []]
    assert index.above(np.ones((0, 4), np.float16), -1.0, limit=3) == []


@each(
    "vector",
    [
        np.ones(4, np.float32),
        np.ones(5, np.float16),
        np.full(4, np.nan, np.float16),
        np.full(4, np.inf, np.float16),
        np.full(4, 3.0, np.float16),
    ],
)
def test_what_cannot_be_searched_exactly_is_refused(vector: Vectors) -> None:
    index = filled(np.ones((1, 4), np.float16))
    for attempt in (
        lambda: index.append(SearchVector.of(vector)),
        lambda: index.replace(0, vector),
        lambda: index.above(vector[None], 0.0, limit=1),
        lambda: index.near(SearchVector.of(vector), 0.0, limit=1),
        lambda: index.cosines(SearchVector.of(vector), [0]),
        lambda: index.among(SearchVector.of(vector), [0], 0.0),
    ):
        with pytest.raises(ValueError, match=r"float16|squared norm"):
            attempt()
    assert index.above(np.ones((1, 4), np.float16), 0.5, limit=2) == [[SearchHit(0, 1.0)]]


@each("row", [-1, 1])
def test_a_row_that_is_not_there(row: int) -> None:
    index = filled(np.ones((1, 4), np.float16))
    with pytest.raises(IndexError):
        index.replace(row, np.ones(4, np.float16))
    with pytest.raises(IndexError):
        index.remove(row)


@given(seed=st.integers(0, 10_000), dimension=st.sampled_from([2, 24, 384]))
@settings(max_examples=examples(30))
def test_the_bounds_of_every_scan_hold(seed: int, dimension: int) -> None:
    faces = clustered(seed, 40, dimension)
    random = np.random.default_rng(seed)
    faces[random.integers(0, 40)] = 0
    faces[random.integers(0, 40), 0] = 4
    rows, queries = VectorRows(dimension, 8), Queries(faces[:6], dimension)
    rows.extend(faces)
    found = scans.scan(queries, rows, 0, 40, np.full(6, -np.inf))
    exact = scans.score(queries, rows, found)
    assert len(found.row) == 6 * 40
    assert (found.low <= exact.low).all()
    assert (exact.high <= found.high).all()


def test_the_bounds_hold_also_beside_a_row_that_was_replaced_by_an_even_one() -> None:
    """Its codes leave nothing over, and those of the others as much as before; no query's do."""
    even = np.eye(24, dtype=np.float16)
    rows, queries = VectorRows(24, 8), Queries(even[:6], 24)
    rows.extend(clustered(7, 40, 24))
    for row in range(0, 40, 8):
        rows.replace(row, even[0])
    found = scans.scan(queries, rows, 0, 40, np.full(6, -np.inf))
    exact = scans.score(queries, rows, found)
    assert (found.low <= exact.low).all()
    assert (exact.high <= found.high).all()


def test_the_largest_codes_do_not_overflow() -> None:
    faces = np.full((64, 16), 0.25, np.float16)
    faces[1::2] *= np.float16(-1)
    even, odd = filled(faces).above(faces[:2], 0.9, limit=64)
    assert [hit.row for hit in even] == list(range(0, 64, 2))
    assert [hit.row for hit in odd] == list(range(1, 64, 2))


@each("limit", [0, -1])
def test_a_limit_that_makes_no_sense(limit: int) -> None:
    one = SearchVector.of(np.ones(4, np.float16))
    with pytest.raises(ValueError, match="limit"):
        VectorIndex(4).near(one, 0.5, limit=limit)
    with pytest.raises(ValueError, match="limit"):
        VectorIndex(4).above(np.ones((1, 4), np.float16), 0.5, limit=limit)
