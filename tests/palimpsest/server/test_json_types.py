"""What a schema refuses, the door refuses: JSON's types are not converted into each other.

The oracle is the published JSON Schema, read by another library.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import orjson
import pytest
from pydantic import BaseModel, ValidationError

from palimpsest.integrations.mem0 import bodies
from palimpsest.server.http.operations import over_http
from palimpsest.server.mcp.tools import tools_of
from palimpsest.server.operations import OPERATIONS
from tests.tables import each

VALUES: tuple[Any, ...] = (True, 1, 3.0, 2.5, "3", "0.5", "true", "yes", [], {})


def _bodies() -> Iterator[type[BaseModel]]:
    yield from (body for one in OPERATIONS if (body := over_http(one).body) is not None)
    yield from (tool.takes for tool in tools_of("operator").values())
    yield from (bodies.Add, bodies.SearchBody, bodies.GetAll, bodies.UpdateMemory)


BODIES = {body.__name__: body for body in _bodies()}


@each("name", BODIES)
def test_a_value_of_another_type_than_the_schema_has_is_refused(name: str) -> None:
    schema = BODIES[name].model_json_schema()
    for field, value in product(schema["properties"], VALUES):
        part = {**schema["properties"][field], "$defs": schema.get("$defs", {})}
        if not jsonschema.Draft202012Validator(part).is_valid(value):
            assert field in _wrong(BODIES[name], {field: value}), (field, value)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Search", {"query": "tea", "k": 3.0, "fold": True, "min_score": 0}),
        ("Search", {"query": "tea", "k": 3, "hybrid": None, "as_of": "2026-01-31"}),
        ("SearchBody", {"query": "tea", "top_k": 3.0, "threshold": 1}),
    ],
)
def test_a_value_that_the_schema_allows_is_taken(name: str, given: Any) -> None:
    assert not _wrong(BODIES[name], given)


def _wrong(body: type[BaseModel], given: Any) -> set[Any]:
    """The fields with errors."""
    try:
        body.model_validate_json(orjson.dumps(given))
    except ValidationError as error:
        return {wrong["loc"][0] for wrong in error.errors() if wrong["loc"]}
    return set()
