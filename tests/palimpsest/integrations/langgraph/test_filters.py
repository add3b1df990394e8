"""Conditions on a value."""

from __future__ import annotations

import pytest

from palimpsest.integrations.langgraph.filters import passes


@pytest.mark.parametrize(
    ("name", "passing"), [("$gt", [2]), ("$gte", [1, 2]), ("$lt", [0]), ("$lte", [0, 1])]
)
def test_a_comparison_at_its_bound(name: str, passing: list[int]) -> None:
    assert [n for n in range(3) if passes({"n": n}, {"n": {name: 1}})] == passing
