"""mem0's filters: `{"AND": [{"user_id": "ada"}, {"created_at": {"gte": "2026-01-01"}}]}`.

They must name exactly one user, at the top or in an `AND`: other conditions can only narrow that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from palimpsest.contracts.errors import UsageError

Row = Mapping[str, Any]
Condition = Callable[[Row], bool]

SAID_BY = ("agent_id", "app_id", "run_id")
"""Ids of other participants, which are kept in the candidate's metadata."""
FIELDS = {
    "id": "id",
    "keywords": "memory",
    "created_at": "created_at",
    "updated_at": "updated_at",
    **{name: name for name in SAID_BY},
}
"""The fields of a filter, and the fields of a row that they test."""
TIMES = ("created_at", "updated_at")
ANY = "*"
MOST_CONDITIONS = 500
"""Maximum number of conditions: each is compared with every memory of the user."""
MOST_LISTED_VALUES = 10_000
"""Maximum number of values in all lists of `in`: they are looked up, not compared one by one."""


@dataclass(frozen=True)
class Filters:
    """The owner of the memories, and the conditions that they must meet.

    `metadata`: one member of the memory must have all these values. All other conditions apply to
    the memory as it is shown, with the metadata of its latest member.
    """

    user_id: str
    metadata: Mapping[str, Any]
    conditions: tuple[Condition, ...]

    def keep(self, row: Row) -> bool:
        """Whether a memory passes."""
        return all(fulfilled(row) for fulfilled in self.conditions)


def parse_filters(*given: Mapping[str, Any]) -> Filters:
    """Combine filters that must all hold; UsageError if one is malformed, or names no user."""
    _require_few(given)
    parts = [part for some in given for part in _parts(some)]
    users = [asked for name, asked in parts if name == "user_id"]
    if len(set(map(str, users))) != 1 or not isinstance(users[0], str) or users[0] == ANY:
        raise UsageError(
            "name one user_id, in the filters or their AND, and in `add` as a field: all users at"
            " once are not allowed"
        )
    left = [(name, asked) for name, asked in parts if name != "user_id"]
    metadata: dict[str, Any] = {}
    conditions = [_condition(*part) for part in left if not _take_plain(part, metadata)]
    return Filters(users[0], metadata, tuple(conditions))


def _require_few(given: Iterable[Mapping[str, Any]]) -> None:
    """UsageError for too many conditions: other requests wait while these are compared."""
    conditions = listed = 0
    unread: list[Any] = [*given]
    while unread:
        part = unread.pop()
        if isinstance(part, list):
            conditions += len(part)
            unread += part
        elif isinstance(part, dict):
            conditions += len(part)
            for name, inner in part.items():
                if name in ("in", "nin") and isinstance(inner, list) and not _nested(inner):
                    listed += len(inner)
                else:
                    unread.append(inner)
    if conditions > MOST_CONDITIONS or listed > MOST_LISTED_VALUES:
        raise UsageError(
            f"filters have at most {MOST_CONDITIONS} conditions, and {MOST_LISTED_VALUES} values in"
            " lists of `in`"
        )


def _nested(values: list[Any]) -> bool:
    return any(isinstance(value, list | dict) for value in values)


def _take_plain(part: tuple[str, Any], metadata: dict[str, Any]) -> bool:
    """Add a part to `metadata` if it asks for single values; returns whether it does."""
    name, asked = part
    asks = {name: asked} if name in SAID_BY else asked if name == "metadata" else None
    if not isinstance(asks, dict) or metadata.keys() & asks.keys():
        return False
    if any(isinstance(condition, dict | list) or condition == ANY for condition in asks.values()):
        return False
    metadata.update(asks)
    return True


def _parts(given: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """All parts that must hold together, from every `AND`."""
    for name, asked in given.items():
        if name == "AND":
            for part in parts_of(asked):
                yield from _parts(part)
        else:
            yield name, asked


def parts_of(asked: Any) -> list[Mapping[str, Any]]:
    """The conditions of an `AND`, `OR` or `NOT`; UsageError if they are not a list of them."""
    if not isinstance(asked, list) or not all(isinstance(part, dict) for part in asked):
        raise UsageError("AND, OR and NOT need a list of conditions")
    return asked


def _condition(name: str, asked: Any) -> Condition:
    if name in ("AND", "OR", "NOT"):
        return _combined(name, [_of_part(part) for part in parts_of(asked)])
    if name == "metadata" and isinstance(asked, dict):
        return _all_of([_of_metadata(key, value) for key, value in asked.items()])
    if name not in FIELDS:
        raise UsageError(
            f"the filters have {', '.join(FIELDS)}, metadata, AND, OR, NOT and one user_id"
        )
    field = FIELDS[name]
    test = _test(_time if name in TIMES else _as_it_is, asked)
    return lambda row: test(row[field])


def _of_part(part: Mapping[str, Any]) -> Condition:
    return _all_of([_condition(name, asked) for name, asked in part.items()])


def _combined(name: str, inner: list[Condition]) -> Condition:
    match name:
        case "AND":
            return _all_of(inner)
        case "OR":
            return lambda row: any(test(row) for test in inner)
        case _:
            return lambda row: not any(test(row) for test in inner)


def _of_metadata(key: str, asked: Any) -> Condition:
    test = _test(_as_it_is, asked)
    return lambda row: test(row["metadata"].get(key))


def _all_of(conditions: list[Condition]) -> Condition:
    return lambda row: all(condition(row) for condition in conditions)


# -- one value -----------------------------------------------------------------------------------

Test = Callable[[Any], bool]
Read = Callable[[Any], Any]


def _test(read: Read, asked: Any) -> Test:
    """The test of a value. If that is a list, one element must pass; for `ne` and `nin`, all.

    A list in the filter, except that of `in` or `nin`, is compared with the whole value.
    """
    if asked == ANY:
        return lambda value: value not in (None, [], ())
    if not isinstance(asked, dict):
        return _of_one_or_more("eq", read, asked)
    tests = [_of_one_or_more(name, read, other) for name, other in asked.items()]
    return lambda value: all(test(value) for test in tests)


def _of_one_or_more(name: str, read: Read, asked: Any) -> Test:
    if name not in COMPARISONS or (name in ("in", "nin") and not isinstance(asked, list)):
        raise UsageError(
            f"a condition is a value, or has {', '.join(COMPARISONS)}; `in` has a list"
        )
    other = _listed(read, asked) if name in ("in", "nin") else read(asked)
    every = all if name in ("ne", "nin") else any
    whole = isinstance(asked, list) and name not in ("in", "nin")

    def test(value: Any) -> bool:
        values = value if isinstance(value, list | tuple) and not whole else (value,)
        return every(_compared(COMPARISONS[name], value, read, other) for value in values)

    return test


def _listed(read: Read, asked: list[Any]) -> Any:
    values = [read(value) for value in asked]
    return values if _nested(values) else frozenset(values)


def _compared(compare: Callable[[Any, Any], bool], value: Any, read: Read, other: Any) -> bool:
    try:
        return compare(read(value), other)
    except (TypeError, AttributeError):  # values without an order, or that are not texts
        return False


def _is_in(value: Any, listed: Any) -> bool:
    try:
        return value in listed
    except TypeError:  # a dict or a list, which is in no set
        return False


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "in": _is_in,
    "nin": lambda value, other: not _is_in(value, other),
    "contains": lambda value, other: other in value,
    "icontains": lambda value, other: other.casefold() in value.casefold(),
}


def _as_it_is(value: Any) -> Any:
    return value


def _time(value: Any) -> datetime:
    """A time or a date in ISO 8601; UTC if it names no zone."""
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise UsageError("a filter's times must be in ISO 8601") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
