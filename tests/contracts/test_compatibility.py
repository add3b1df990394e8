"""A schema may only grow: each way to break its readers or writers is found."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.contracts.compatibility import incompatibilities

Schema = dict[str, Any]


def record(required: tuple[str, ...] = (), **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def optional(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer"}
BREAKS: list[tuple[Schema, Schema, str]] = [
    (record(a=TEXT), record(), "$.a: property removed"),
    (record(), record(("a",), a=TEXT), "$.a: new required property"),
    (record(a=TEXT), record(("a",), a=TEXT), "$.a: now required"),
    (record(a=TEXT), record(a=COUNT), "$.a: type narrowed from string to integer"),
    (record(a={}), record(a=TEXT), "$.a: type narrowed from anything to string"),
    (
        record(a={"type": "number"}),
        record(a=COUNT),
        "$.a: type narrowed from number to integer",
    ),
    (record(a=optional(TEXT)), record(a=TEXT), "$.a: null is refused"),
    (
        record(a={"type": ["string", "null"]}),
        record(a=TEXT),
        "$.a: type narrowed from null, string to string",
    ),
    (record(a={"enum": ["x", "y"]}), record(a={"enum": ["x"]}), "$.a: values removed: y"),
    (record(a=TEXT), record(a=TEXT | {"enum": ["x"]}), "$.a: narrowed to the values x"),
    (
        record(a={"const": "v1"}),
        record(a={"const": "v2"}),
        "$.a: constant changed from v1 to v2",
    ),
    (
        record(a=TEXT),
        record(a=TEXT | {"maxLength": 5}),
        "$.a: maxLength narrowed from None to 5",
    ),
    (
        record(a=COUNT | {"minimum": 0}),
        record(a=COUNT | {"minimum": 1}),
        "$.a: minimum narrowed from 0 to 1",
    ),
    (record(a=TEXT), record(a=TEXT | {"pattern": "^a"}), "$.a: pattern changed from None to ^a"),
    (
        record(a=TEXT),
        record(a=TEXT) | {"additionalProperties": False},
        "$: other properties are refused",
    ),
    (
        record(a=TEXT) | {"additionalProperties": TEXT},
        record(a=TEXT) | {"additionalProperties": False},
        "$: other properties are refused",
    ),
    (
        {"type": "object"},
        {"type": "object", "additionalProperties": TEXT},
        "$.*: type narrowed from anything to string",
    ),
    (
        {"type": "array", "items": TEXT},
        {"type": "array", "items": COUNT},
        "$[]: type narrowed from string to integer",
    ),
    (
        record(a=record(b=TEXT)),
        record(a=record()),
        "$.a.b: property removed",
    ),
    (
        {"$ref": "#/$defs/A", "$defs": {"A": record(a=TEXT)}},
        {"$ref": "#/$defs/B", "$defs": {"B": record()}},
        "$.a: property removed",
    ),
    (
        {"oneOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": record(("t",), t={"const": "a"})}},
        {"oneOf": [{"$ref": "#/$defs/B"}], "$defs": {"B": record(("t",), t={"const": "b"})}},
        "$: A is refused",
    ),
    (
        {"oneOf": [{"$ref": "#/$defs/A"}, TEXT], "$defs": {"A": record(a=TEXT)}},
        {"oneOf": [TEXT, {"$ref": "#/$defs/A"}], "$defs": {"A": record(a=COUNT)}},
        "$.a: type narrowed from string to integer",
    ),
]
GROWTH: list[tuple[Schema, Schema]] = [
    (record(a=TEXT), record(a=TEXT)),
    (record(a=TEXT), record(a=TEXT, b=COUNT)),
    (record(("a",), a=TEXT), record(a=TEXT)),
    (record(a=COUNT), record(a={"type": "number"})),
    (record(a=TEXT), record(a=optional(TEXT))),
    (record(a=TEXT), record(a={})),
    (record(a={"const": "x"}), record(a={"enum": ["x", "y"]})),
    (record(a={"enum": ["x"]}), record(a={"enum": ["y", "x"]})),
    (record(a={"enum": ["x"]}), record(a=TEXT)),
    (record(a=TEXT | {"maxLength": 5}), record(a=TEXT | {"maxLength": 6})),
    (record(a=TEXT) | {"additionalProperties": False}, record(a=TEXT, b=TEXT)),
    (
        {"oneOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": record(a=TEXT)}},
        {"oneOf": [TEXT, {"$ref": "#/$defs/B"}], "$defs": {"B": record(a=TEXT)}},
    ),
    (
        {"$ref": "#/$defs/T", "$defs": {"T": record(next=optional({"$ref": "#/$defs/T"}))}},
        {"$ref": "#/$defs/T", "$defs": {"T": record(next=optional({"$ref": "#/$defs/T"}))}},
    ),
]


@pytest.mark.parametrize(("old", "new", "told"), BREAKS)
def test_a_break_is_found(old: Schema, new: Schema, told: str) -> None:
    assert incompatibilities(old, new) == [told]


@pytest.mark.parametrize(("old", "new"), GROWTH)
def test_growth_breaks_nothing(old: Schema, new: Schema) -> None:
    assert incompatibilities(old, new) == []


def test_every_break_is_reported() -> None:
    old = record(a=TEXT, b=COUNT, c={"const": 1})
    new = record(("d",), b=TEXT, c={"const": 2}, d=TEXT)
    assert incompatibilities(old, new) == [
        "$.d: new required property",
        "$.a: property removed",
        "$.b: type narrowed from integer to string",
        "$.c: constant changed from 1 to 2",
    ]
