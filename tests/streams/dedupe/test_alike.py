"""Clusters in which every two sets are alike, against plain loops."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.dedupe.alike import SimilarSets
from palimpsest.streams.search.content import jaccard

WORDS = [f"word{number}" for number in range(7)]
sets = st.lists(st.frozensets(st.sampled_from(WORDS), max_size=6), max_size=14)
floors = st.sampled_from([0.0, 0.25, 0.3333, 0.5, 0.6, 0.75, 1.0])


def greedy(
    some: list[frozenset[str]], above: float, apart: set[frozenset[int]]
) -> Iterator[list[int]]:
    """As the document writes it, with one cluster for each."""
    taken: set[int] = set()
    for first in range(len(some)):
        cluster = [first]
        for other in range(first + 1, len(some)):
            if {first, other} & taken:
                continue
            near = (round(jaccard(some[other], some[one]), 4) > above for one in cluster)
            if all(near) and not any(frozenset({one, other}) in apart for one in cluster):
                cluster.append(other)
        if len(cluster) > 1:
            taken.update(cluster)
            yield cluster


@given(sets, floors, st.sets(st.frozensets(st.integers(0, 13), min_size=2, max_size=2), max_size=6))
def test_it_clusters_as_a_plain_loop_does(
    some: list[frozenset[str]], above: float, apart: set[frozenset[int]]
) -> None:
    alike = SimilarSets(some, above)
    there = {pair for pair in apart if max(pair) < len(some)}
    for a, b in map(sorted, there):
        alike.part(a, b)
    found = [*alike.clusters()]
    assert found == [*greedy(some, above, there)]
    for cluster in found:
        scores = [round(jaccard(some[a], some[b]), 4) for a, b in combinations(cluster, 2)]
        assert [alike.score(a, b) for a, b in combinations(cluster, 2)] == scores
        assert round(alike.total(cluster), 4) == round(sum(scores), 4)


@pytest.mark.parametrize("shared", range(1, 100))
def test_a_score_of_the_threshold_is_not_above_it(shared: int) -> None:
    words = [f"word{number}" for number in range(100)]
    alike = SimilarSets([frozenset(words), frozenset(words[:shared])], shared / 100)
    assert [*alike.pairs_of(0)] == []


def test_two_empty_sets_are_not_alike() -> None:
    assert [*SimilarSets([frozenset(), frozenset()], 0.0).clusters()] == []


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """The most memory that was used at once, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_memory_grows_with_the_similar_pairs_and_not_with_all(traced: Callable[[], int]) -> None:
    some = [frozenset({f"of{number // 2}", "all"}) for number in range(3000)]
    assert sum(1 for _ in SimilarSets(some, 0.5).clusters()) == 1500
    assert traced() < 16_000_000  # the scores of all pairs take 72 MB
