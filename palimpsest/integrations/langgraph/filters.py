"""Conditions on a value, by LangGraph's operators."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Any

from palimpsest.contracts.errors import UsageError
from palimpsest.integrations.langgraph.values import Value

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": lambda a, b: _compared(operator.gt, a, b),
    "$gte": lambda a, b: _compared(operator.ge, a, b),
    "$lt": lambda a, b: _compared(operator.lt, a, b),
    "$lte": lambda a, b: _compared(operator.le, a, b),
}


def passes(value: Value, wanted: Value) -> bool:
    """Whether a value meets all conditions; UsageError for an operator that LangGraph lacks."""
    return all(_fits(value.get(name), asked) for name, asked in wanted.items())


def _fits(value: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(str(name).startswith("$") for name in asked):
            return all(_comparison(name)(value, other) for name, other in asked.items())
        return isinstance(value, Mapping) and passes(value, asked)
    if isinstance(asked, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(asked):
            return False
        return all(_fits(one, other) for one, other in zip(value, asked, strict=True))
    return bool(value == asked)


def _comparison(name: str) -> Callable[[Any, Any], bool]:
    try:
        return _COMPARISONS[name]
    except KeyError:
        raise UsageError(f"a filter's operators are {', '.join(_COMPARISONS)}") from None


def _compared(compare: Callable[[float, float], bool], value: Any, other: Any) -> bool:
    """A comparison of numbers, which may be written as text; anything else does not pass."""
    numbers = [*_numbers((value, other))]
    return len(numbers) == 2 and compare(*numbers)


def _numbers(values: Iterable[Any]) -> Iterator[float]:
    for value in values:
        try:
            yield float(value)
        except OverflowError:
            yield inf if value > 0 else -inf
        except (TypeError, ValueError):
            return
