"""Vectors made ready together are what each would be alone, and only the latest are kept."""

from base64 import b64encode

import numpy as np
import pytest
from numpy.typing import NDArray

from palimpsest.streams.search import SearchVector
from palimpsest.streams.search.cosine import prepared
from palimpsest.streams.search.cosine.prepared import SearchVectors


def recorded(vector: NDArray[np.float16]) -> str:
    return b64encode(vector.astype("<f2").tobytes()).decode()


def vectors(count: int, dimension: int = 24) -> list[NDArray[np.float16]]:
    random = np.random.default_rng(count)
    return [*(random.standard_normal((count, dimension)) / 8).astype(np.float16)]


def parts(one: SearchVector) -> tuple[bytes, bytes, float, float]:
    return one.recorded.tobytes(), one.single.tobytes(), one.squared, one.norm


def test_ready_together_as_alone() -> None:
    some = vectors(9)
    together = SearchVectors()
    assert together.kept(recorded(some[0])) is None
    together.prepare(map(recorded, some))
    for vector in some:
        found = together.of(recorded(vector))
        assert together.kept(recorded(vector)) is found
        assert found.single.base is not None, "it was ready: a part of all of them"
        assert parts(found) == parts(SearchVector.of(vector))


def test_what_cannot_be_searched_is_left_out_and_refused_in_its_turn() -> None:
    good, bad = vectors(2)
    bad[3] = np.inf
    both = SearchVectors()
    both.prepare([recorded(bad), recorded(good)])
    assert both.of(recorded(good)).single.base is not None
    with pytest.raises(ValueError, match="squared norm"):
        both.of(recorded(bad))


def test_several_dimensions_are_each_ready_in_their_turn() -> None:
    short, long = vectors(1, 3)[0], vectors(1, 5)[0]
    both = SearchVectors()
    both.prepare([recorded(short), recorded(long)])
    assert [len(both.of(recorded(one)).single) for one in (short, long)] == [3, 5]


def test_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "MOST", 4)
    some, ready = [recorded(vector) for vector in vectors(9)], SearchVectors()
    ready.prepare(some[:8])
    first, last = ready.of(some[0]), ready.of(some[7])
    assert ready.of(some[0]) is first
    ready.of(some[8])
    assert ready.of(some[7]) is last
    assert ready.of(some[0]) is not first
