"""How much JSON holds, and how deep it is nested."""

from __future__ import annotations

from palimpsest.contracts.model import deeper_than, more_than

HOLDS_FIVE = {"a": [1, 2], "b": {"c": "text"}}


def test_nested_values_are_counted() -> None:
    assert more_than(HOLDS_FIVE, 4)
    assert not more_than(HOLDS_FIVE, 5)
    assert not more_than("text", 0)


def test_levels_are_counted() -> None:
    assert deeper_than(HOLDS_FIVE, 2)
    assert not deeper_than(HOLDS_FIVE, 3)
