"""Values and their texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

TEXT_FIELDS = ("text", "content", "memory")
Value = Mapping[str, Any]


def text_of_value(value: Value) -> str:
    """A value's text: its `text`, `content` or `memory`, or that of an inner value; else its JSON.

    The text is what is compared and searched.
    """
    return _text_field(value) or orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _text_field(value: Value) -> str | None:
    for name in TEXT_FIELDS:
        found = value.get(name)
        if isinstance(found, Mapping):
            found = _text_field(found)
        if isinstance(found, str) and found.strip():
            return found
    return None
