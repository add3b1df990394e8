"""Values for any model of the contracts, drawn from its own annotations."""

from __future__ import annotations

import types
from datetime import UTC
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.light import Light

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    bool: st.booleans(),
    int: st.integers(0, 10**6),
    float: st.floats(0, 1),
    JsonValue: _JSON,
    Any: _JSON,
}
_NAMED = {
    "request_id": st.uuids().map(str),
    "count": st.integers(1, 10**6),
    "requires": st.none() | st.just("0.1"),
}
"""What an annotation alone does not say."""
_TIMES = st.datetimes(timezones=st.just(UTC))


def events() -> st.SearchStrategy[AnyEvent]:
    """Any event of the language."""
    return st.one_of([models(kind) for kind in get_args(AnyEvent)])


def models(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of a model, with or without each of its optional fields."""
    fields = {name: values(annotation) for name, annotation in _annotations(kind).items()}
    fields |= {name: drawn for name, drawn in _NAMED.items() if name in fields}
    return st.fixed_dictionaries(fields).map(lambda given: kind(**given))


def _annotations(kind: type[Any]) -> dict[str, Any]:
    if issubclass(kind, Light):
        hints = get_type_hints(kind, include_extras=True)
        return {name: hints[name] for name in kind.__struct_fields__}
    return {name: field.annotation for name, field in kind.model_fields.items()}


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Any value of an annotation; ValueError for one that the contracts did not use so far."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, type):
        return _of_class(annotation)
    match get_origin(annotation), get_args(annotation):
        case origin, parts if origin in (Union, types.UnionType):
            return st.one_of([values(part) for part in parts])
        case origin, parts if origin is Literal:
            return st.sampled_from(parts)
        case origin, (inner, *_) if origin is Annotated:
            return values(inner)
        case origin, (inner, *_) if origin is tuple:
            return st.lists(values(inner), max_size=2).map(tuple)
        case origin, (_, inner) if origin is dict:
            return st.dictionaries(st.text(max_size=4), values(inner), max_size=2)
    raise ValueError(f"no values for {annotation}")


def _of_class(kind: type[Any]) -> st.SearchStrategy[Any]:
    if kind is type(None):
        return st.none()
    if issubclass(kind, BaseModel | Light):
        return models(kind)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    return _TIMES
