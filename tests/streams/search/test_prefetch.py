"""A window that is searched at once finds what each newcomer would find in its turn."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from palimpsest.streams.search import Peers, SearchHit, cosine
from palimpsest.streams.search.prefetch import Prefetch

DIMENSION = 4
some_vectors = st.lists(
    st.lists(st.integers(-2, 2), min_size=DIMENSION, max_size=DIMENSION).filter(any), max_size=6
)


def in_its_turn(
    rows: list[NDArray[np.float16]], query: NDArray[np.float16], floor: float, limit: int
) -> list[SearchHit]:
    """The best of the rows by brute force; the nearest if none reaches the floor."""
    scored = [SearchHit(row, cosine(query, vector)) for row, vector in enumerate(rows)]
    scored.sort(key=lambda hit: (-hit.score, hit.row))
    return [hit for hit in scored if hit.score >= floor][:limit] or scored[:1]


@given(
    some_vectors,
    some_vectors.filter(len),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.integers(1, 3),
    st.sets(st.integers(0, 5)),
)
@example([[2, 1, 0, 0]], [[1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], 0.5, 2, set())
def test_as_in_its_turn(
    known: list[list[int]],
    window: list[list[int]],
    floor: float,
    limit: int,
    refused: set[int],
) -> None:
    """Who is `refused` never arrives, and is found by nobody."""
    rows = [*np.array(known, np.float16).reshape(-1, DIMENSION)]
    newcomers = np.array(window, np.float16)
    found = [in_its_turn(rows, newcomer, floor, limit) for newcomer in newcomers]
    names = [f"newcomer {number}" for number in range(len(newcomers))]
    prefetch = Prefetch(names, found, Peers(newcomers), floor, limit)
    for number, (name, newcomer) in enumerate(zip(names, newcomers, strict=True)):
        assert prefetch.hits(name) == in_its_turn(rows, newcomer, floor, limit)
        if number not in refused:
            prefetch.note_arrived(name, len(rows))
            rows.append(newcomer)
