"""Refuses arguments that an operation cannot take, before or while it is carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from langgraph.store.base import Op
from pydantic import TypeAdapter, ValidationError

from palimpsest.contracts.candidate import LONGEST_SECONDS, Metadata, Text
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import first_rule, utf8

Checked = TypeVar("Checked")
VALUES: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)
TEXTS: TypeAdapter[str] = TypeAdapter(Text)
LONGEST_MINUTES = int(LONGEST_SECONDS) // 60


def require_arguments(op: Op) -> None:
    """UsageError for a value or a filter that is not a dict, or a number of a wrong type or range.

    Also for a key or a namespace that is not valid Unicode, and a namespace that is not a tuple: a
    text would count as a tuple of its letters, and a list would match nothing.
    """
    for name in ("namespace", "namespace_prefix"):
        parts = getattr(op, name, ())
        if not isinstance(parts, tuple) or not all(isinstance(part, str) for part in parts):
            raise UsageError(f"`{name}` must be a tuple of texts, such as ('memories', 'ada')")
    names = (getattr(op, "key", ""), *getattr(op, "namespace", ()))
    try:
        utf8("".join(map(str, names)))
    except ValueError as wrong:
        raise UsageError(f"a key or a namespace {wrong}") from None
    for name in ("value", "filter"):
        if not isinstance(getattr(op, name, None), Mapping | None):
            raise UsageError(f"`{name}` must be a dict")
    for name, least in (("limit", 0), ("offset", 0), ("max_depth", 1)):
        number = getattr(op, name, None)
        if number is not None and (type(number) is not int or number < least):
            raise UsageError(f"`{name}` must be a whole number, {least} or more")
    ttl = getattr(op, "ttl", None)
    if ttl is not None and (type(ttl) not in (int, float) or not 0 < ttl <= LONGEST_MINUTES):
        raise UsageError(
            "`ttl` must be a number of minutes, more than 0 (7 days are 10_080) and at most"
            f" {LONGEST_MINUTES:_}, which is a hundred years"
        )


def check_value(kind: TypeAdapter[Checked], found: Any, what: str) -> Checked:
    """A value in the form that the log keeps; UsageError if the log cannot keep it."""
    try:
        return kind.validate_python(found)
    except ValidationError as error:
        raise UsageError(f"{what} breaks a rule: it {first_rule(error)}") from None
