"""Lets pydantic read the facade's answers: before Python 3.12 it rejects `typing.TypedDict`."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typing_extensions


def readable(kind: Any) -> Any:
    """The same type, with `typing_extensions.TypedDict` in place of `typing.TypedDict`."""
    if is_typeddict(kind):
        return _made(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is None or origin is Literal:
        return kind
    if origin is Annotated:
        return Annotated[(readable(arguments[0]), *arguments[1:])]
    parts = tuple(map(readable, arguments))
    if origin in (Union, UnionType):
        return Union[parts]  # noqa: UP007 - of types that are known when it runs
    return origin[parts[0]] if len(parts) == 1 else origin[parts]


@cache
def _made(kind: Any) -> Any:
    fields = get_type_hints(kind, include_extras=True)
    make: Any = typing_extensions.TypedDict
    readable_fields = {name: readable(hint) for name, hint in fields.items()}
    made = make(kind.__name__, readable_fields, total=kind.__total__)
    made.__doc__ = kind.__doc__
    made.__module__ = kind.__module__
    return made
