"""Which parts of a text may move, and what each of them follows."""

from __future__ import annotations

import pytest

from palimpsest.streams.guard.order import reordered


@pytest.mark.parametrize(
    ("one", "other", "moved"),
    [
        ("nun = & tea", "nun = tea &", True),
        ("nun = tea", "= nun tea", False),
        ("= nun he", "nun = he", False),
        ("when eat eat &", "when eat & eat", False),
        ("when walking walking =", "when walking = walking", True),
        ("walking like walking", "walking walking like", False),
        ("like he he", "he like he", True),
        ("nun he & walking eat", "nun he walking & eat", False),
        ("in = ing", "ing in =", False),
        ("in = king", "king in =", False),
        ("because because = walking", "because = because walking", True),
        ("eat eat like", "eat like eat", False),
        ("like walking in", "in walking like", True),
        ("sing when sing", "sing sing when", False),
        ("tea = tea tea", "tea tea = tea", True),
        ("tea when walking", "tea walking when", True),
    ],
)
def test_parts_move_unless_they_exchange_what_they_follow(
    one: str, other: str, moved: bool
) -> None:
    assert reordered(tuple(one.split()), tuple(other.split())) is moved
    assert reordered(tuple(other.split()), tuple(one.split())) is moved
