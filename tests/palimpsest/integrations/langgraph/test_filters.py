"""Conditions on a value."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.integrations.langgraph.filters import passes


@pytest.mark.parametrize(
    ("name", "passing"), [("$gt", [2]), ("$gte", [1, 2]), ("$lt", [0]), ("$lte", [0, 1])]
)
def test_a_comparison_at_its_bound(name: str, passing: list[int]) -> None:
    assert [n for n in range(3) if passes({"n": n}, {"n": {name: 1}})] == passing


@pytest.mark.parametrize(
    ("asked", "passing"), [({"$lt": 10**400}, True), ({"$lt": -(10**400)}, False), ({1: 2}, False)]
)
def test_a_huge_number_and_a_field_that_is_no_text_are_compared(
    asked: dict[Any, Any], passing: bool
) -> None:
    assert passes({"n": 1}, {"n": asked}) is passing
