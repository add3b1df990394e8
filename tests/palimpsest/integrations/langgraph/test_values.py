"""The text of a value."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.integrations.langgraph.values import text_of_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"text": "a", "content": "b"}, "a"),
        ({"content": "b"}, "b"),
        ({"memory": "c", "text": " "}, "c"),
        ({"kind": "Memory", "content": {"content": "d"}}, "d"),
        ({"b": 1, "a": [True]}, '{"a":[true],"b":1}'),
    ],
)
def test_what_a_value_says(value: dict[str, Any], text: str) -> None:
    assert text_of_value(value) == text
