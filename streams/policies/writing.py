"""Writes a policy as a file from which `load_policy` reads the same rules."""

from __future__ import annotations

import json
from typing import Any

from palimpsest.contracts.policy import Policy


def write_policy(policy: Policy) -> str:
    """The policy as TOML text, without values that are at their defaults."""
    document = policy.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    return "".join(f"{name} = {_value(value, 0)}\n" for name, value in document.items())


def _value(value: Any, depth: int) -> str:
    """A value as TOML: JSON except for tables; a list of tables has a line for each."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{_key(k)} = {_value(v, 1)}" for k, v in value.items()) + " }"
        case [dict(), *_]:
            start, end = ("\n    ", ",\n") if depth == 0 else ("", ", ")
            inner = [f"{start}{_value(item, 1)}" for item in value]
            return "[" + end.rstrip().join(inner) + (end if depth == 0 else "") + "]"
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else json.dumps(name, ensure_ascii=False)
