"""The Jaccard search against a plain loop."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.streams.search import SearchHit, TokenIndex
from palimpsest.streams.search import tokens as search
from tests.long import examples

WORDS = [f"word{i}" for i in range(14)]
token_sets = st.frozensets(st.sampled_from(WORDS), max_size=12)
floors = st.one_of(
    st.floats(-0.1, 1.1),
    st.builds(lambda a, b: round(a / (a + b), 4), st.integers(0, 12), st.integers(1, 12)),
)


@pytest.fixture(autouse=True, scope="module", params=[1, 4, 1_000])
def _few(request: pytest.FixtureRequest) -> Iterator[None]:
    """So few rows are scored one by one that common words are looked up too, or are not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "FEW_TO_SCORE", request.param)
        yield


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return round(float(Fraction(len(a & b), len(a | b))), 4) if a or b else 0.0


def brute(
    rows: dict[int, frozenset[str]], query: frozenset[str], floor: float, limit: int
) -> list[SearchHit]:
    hits = [SearchHit(row, jaccard(query, tokens)) for row, tokens in rows.items()]
    near = [hit for hit in hits if hit.score >= floor]
    return sorted(near, key=lambda hit: (-hit.score, hit.row))[:limit]


def filled(sets: list[frozenset[str]]) -> TokenIndex:
    index = TokenIndex()
    for row, tokens in enumerate(sets):
        assert index.append(tokens) == row
    return index


@given(st.lists(token_sets, max_size=40), token_sets, floors, st.integers(1, 40))
@settings(max_examples=examples(80))
def test_it_finds_what_a_plain_loop_finds(
    sets: list[frozenset[str]], query: frozenset[str], floor: float, limit: int
) -> None:
    query |= {"never seen"} if len(query) % 3 == 0 else frozenset()
    expected = brute(dict(enumerate(sets)), query, floor, limit)
    assert filled(sets).above(query, floor, limit=limit) == expected


@given(st.lists(token_sets, min_size=2, max_size=20))
@settings(max_examples=examples(200))
def test_a_floor_at_the_score_itself_is_reached(sets: list[frozenset[str]]) -> None:
    index = filled(sets)
    for row, tokens in enumerate(sets):
        score = jaccard(sets[0], tokens)
        assert SearchHit(row, score) in index.above(sets[0], score, limit=20)
        assert row not in [hit.row for hit in index.above(sets[0], score + 1e-9, limit=20)]


@given(
    st.lists(token_sets, min_size=5, max_size=5),
    st.lists(st.tuples(st.sampled_from("arx"), st.integers(0, 4), token_sets), max_size=30),
    floors,
)
@settings(max_examples=examples(200))
def test_removed_rows_stay_away_and_replaced_rows_are_what_they_became(
    sets: list[frozenset[str]], steps: list[tuple[str, int, frozenset[str]]], floor: float
) -> None:
    index, rows, size = filled(sets), dict(enumerate(sets)), 5
    for step, row, tokens in steps:
        if step == "a":
            rows[index.append(tokens)] = tokens
            size += 1
        elif step == "r":
            index.replace(row, tokens)
            rows[row] = tokens
        else:
            index.remove(row)
            rows.pop(row, None)
        assert index.above(tokens, floor, limit=3) == brute(rows, tokens, floor, 3)
    assert len(index) == size


def test_two_thirds_reaches_what_it_is_rounded_to() -> None:
    index = filled([frozenset("ab")])
    assert index.above(frozenset("abc"), 0.6667, limit=1) == [SearchHit(0, 0.6667)]
    assert index.above(frozenset("abc"), 0.6668, limit=1) == []


@pytest.mark.parametrize("row", [-1, 1])
def test_a_row_that_is_not_there(row: int) -> None:
    index = filled([frozenset("ab")])
    with pytest.raises(IndexError):
        index.replace(row, frozenset("ab"))
    with pytest.raises(IndexError):
        index.remove(row)
