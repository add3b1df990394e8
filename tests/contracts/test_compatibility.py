"""A schema may only grow: each way to break its readers or writers is found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.compatibility import incompatibilities
from tests.tables import each

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
        {"type": "array"},
        {"type": "array", "items": TEXT},
        "$[]: type narrowed from anything to string",
    ),
    (record(a=True), record(a=TEXT), "$.a: type narrowed from anything to string"),
    ({"anyOf": [{}]}, {"anyOf": [TEXT]}, "$: anything is refused"),
    (
        {"anyOf": [TEXT | {"maxLength": 5}]},
        {"anyOf": [TEXT | {"maxLength": 3, "minLength": 2}, TEXT | {"maxLength": 4}]},
        "$: maxLength narrowed from 5 to 4",
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
    ({"enum": ["x"]}, TEXT | {"enum": ["x"]}),
    ({"additionalProperties": False}, {"additionalProperties": TEXT}),
    ({"additionalProperties": TEXT}, {"additionalProperties": {}}),
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


@each(("old", "new", "told"), BREAKS)
def test_a_break_is_found(old: Schema, new: Schema, told: str) -> None:
    assert incompatibilities(old, new) == [told]


@each(("old", "new"), GROWTH)
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


@each(
    ("name", "narrower", "wider"),
    [
        *((name, 3, 2) for name in ("minimum", "exclusiveMinimum", "minLength")),
        *((name, 3, 2) for name in ("minItems", "minProperties")),
        *((name, 2, 3) for name in ("maximum", "exclusiveMaximum", "maxLength")),
        *((name, 2, 3) for name in ("maxItems", "maxProperties")),
    ],
)
def test_a_bound_may_be_widened_and_left_out_only(name: str, narrower: int, wider: int) -> None:
    assert incompatibilities({name: wider}, {name: narrower}) == [
        f"$: {name} narrowed from {wider} to {narrower}"
    ]
    assert incompatibilities({}, {name: wider}) == [f"$: {name} narrowed from None to {wider}"]
    assert incompatibilities({name: narrower}, {name: wider}) == []
    assert incompatibilities({name: narrower}, {}) == []


@pytest.mark.parametrize("name", ["pattern", "format"])
def test_a_form_may_be_left_out_only(name: str) -> None:
    assert incompatibilities({name: "a"}, {name: "b"}) == [f"$: {name} changed from a to b"]
    assert incompatibilities({}, {name: "b"}) == [f"$: {name} changed from None to b"]
    assert incompatibilities({name: "a"}, {}) == []


def test_a_definition_is_compared_wherever_it_is_used() -> None:
    ref = {"$ref": "#/$defs/A"}
    uses = record(a=ref, b=ref)
    old, new = (uses | {"$defs": {"A": defined}} for defined in (record(t=TEXT), record()))
    assert incompatibilities(old, new) == ["$.a.t: property removed", "$.b.t: property removed"]


def test_a_definition_may_stand_for_another() -> None:
    chain = {"A": {"$ref": "#/$defs/B"}, "B": record(a=TEXT)}
    old = {"$ref": "#/$defs/A", "$defs": chain}
    new = {"$ref": "#/$defs/A", "$defs": chain | {"B": record()}}
    assert incompatibilities(old, new) == ["$.a: property removed"]
