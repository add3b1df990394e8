"""The base of every model on the wire: immutable, typed, tolerant of later additions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Literal

import orjson
from msgspec import Meta
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import ErrorDetails, PydanticKnownError

IN_PLAIN_WORDS = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such key",
    "tuple_type": "should be a list",
}
"""Messages about files, in place of pydantic's, by the type of error."""
NOT_UNICODE = (
    "is not valid Unicode: perhaps it is not in UTF-8, or was cut inside a surrogate pair, such as"
    " after \\ud83d"
)
"""What every door says about a text that cannot be encoded in UTF-8."""
NOT_JSON = "holds what JSON does not have: give a date as text, and a tuple or a set as a list"
_RULES = {
    "string_unicode": NOT_UNICODE,
    "invalid-json-value": NOT_JSON,
    "missing": "is missing",
}
"""Rules in place of pydantic's, by the type of error."""
AN_ISO_TIME = "must be an ISO 8601 time, such as 2026-01-31T09:30:00Z"


class Model(BaseModel):
    """Frozen; unknown fields are ignored, because minor versions only add optional ones."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Strict(Model):
    """Like `Model`, but unknown fields are refused: nothing is understood in part."""

    model_config = ConfigDict(extra="forbid")


_ITS_WORDS = re.compile(
    r"^(Value error, |Input |(String|Tuple|List|Dictionary) (?=should))+"
    r"| after validation, not \d+$|, unable to parse string as a.*"
)


def rule_of(problem: ErrorDetails) -> str:
    """The rule that a value breaks, in the words of every door."""
    rule = _RULES.get(problem["type"]) or in_our_words(problem["msg"])
    return f"has a key that {rule}" if problem["loc"][-1:] == ("[key]",) else rule


def in_our_words(message: str) -> str:
    """The rule in a message of pydantic's, in the same words for a value and for its text."""
    return _ITS_WORDS.sub("", message)


def first_rule(error: ValidationError) -> str:
    """The first rule that a single value breaks; never the value."""
    return rule_of(error.errors(include_input=False, include_context=False, include_url=False)[0])


def utf8(text: str) -> bytes:
    """The text in UTF-8; ValueError if it cannot be encoded."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(NOT_UNICODE) from None


def wrong_keys(error: ValidationError) -> str:
    """What is wrong with a file, key by key, in plain words, for people."""
    told = []
    for wrong in error.errors():
        what = IN_PLAIN_WORDS.get(wrong["type"]) or rule_of(wrong)
        told.append(f"{'.'.join(map(str, wrong['loc']))}: {what}" if wrong["loc"] else what)
    return "; ".join(told)


def deeper_than(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested deeper than `levels`."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def more_than(value: Any, most: int) -> bool:
    """Whether lists and objects hold more than `most` values, including nested ones."""
    return any(True for _ in islice(_values(value), most + 1, None))


INT64, UINT64 = 2**63, 2**64
LONG_INTEGER = re.compile(rb"[0-9]{19}")
"""Matches every integer of more than 64 bits, and hardly any row: so it is looked for first."""
_DEEPEST_READ = 500


def read_json(raw: bytes) -> Any:
    """JSON as orjson reads it, but an integer of more than 64 bits stays an integer.

    If the document is nested deeper than 500 levels, such an integer becomes a float. Raises
    orjson.JSONDecodeError.
    """
    found = orjson.loads(raw)
    if LONG_INTEGER.search(raw) and any(
        isinstance(value, float) and abs(value) >= INT64 for value in _values(found)
    ):
        return found if deeper_than(found, _DEEPEST_READ) else json.loads(raw)
    return found


def is_not_unicode(error: orjson.JSONDecodeError) -> bool:
    """Whether JSON cannot be read because an escape in it is half of a surrogate pair."""
    return " surrogate in string" in error.msg


def write_json(
    value: Any, default: Callable[[Any], Any] | None = None, option: int | None = None
) -> bytes:
    """JSON as orjson writes it, with integers of more than 64 bits. TypeError for other types.

    A text that cannot be encoded in UTF-8 gives bytes that every reader refuses.
    """
    try:
        return orjson.dumps(value, default=default, option=option)
    except TypeError:
        sorts = bool((option or 0) & orjson.OPT_SORT_KEYS)
        written = json.dumps(value, default=default, sort_keys=sorts, ensure_ascii=False)
        return written.encode("utf-8", "surrogatepass")


def has_huge_integer(value: Any, most: int = UINT64 - 1) -> bool:
    """Whether a value holds an integer of more than 64 bits, which the log cannot keep."""
    return any(isinstance(one, int) and not -INT64 <= one <= most for one in _values(value))


def _values(value: Any) -> Iterator[Any]:
    """A value, and all that it holds at any depth."""
    unread = [value]
    while unread:
        one = unread.pop()
        yield one
        if isinstance(one, dict):
            unread.extend(one.values())
        elif isinstance(one, list | tuple):
            unread.extend(one)


def _only_text_or_time(value: Any) -> Any:
    """Refuse numbers: 1700000000 may be seconds or milliseconds, and a guess would be wrong."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if not isinstance(value, str):
        raise ValueError("must be an ISO 8601 time, as a string")
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(AN_ISO_TIME) from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _to_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a time in the years 1 to 9999") from None


WireTime = Annotated[datetime, AwareDatetime, Meta(tz=True)]
"""A moment as this system writes it."""

Timestamp = Annotated[WireTime, BeforeValidator(_only_text_or_time), AfterValidator(_to_utc)]
"""A moment in UTC; a string without an offset is read as UTC."""


def same_json(one: object, other: object) -> bool:
    """Whether two values are equal as JSON: 1 equals 1.0, and neither equals true."""
    match one, other:
        case (bool(), _) | (_, bool()):
            return one is other
        case dict(), dict():
            return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
        case ((list() | tuple()), (list() | tuple())):
            return len(one) == len(other) and all(map(same_json, one, other))
        case _:
            return one == other


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def _of_json(kind: type, error: Literal["int_type", "float_type", "bool_type"]) -> BeforeValidator:
    """Refuse other types of JSON that pydantic would convert; a query's values are all text.

    A number in a query is written as in JSON: pydantic would also read `1_0`, ` 10` and `+10`.
    """

    def check(value: Any, info: ValidationInfo) -> Any:
        if kind is not bool and isinstance(value, str) and not _NUMBER.fullmatch(value):
            raise PydanticKnownError(error)
        is_kind = isinstance(value, bool) is (kind is bool) and not isinstance(value, str)
        if info.mode == "json" and value is not None and not is_kind:
            raise PydanticKnownError(error)
        return value

    return BeforeValidator(check)


WHOLE = _of_json(int, "int_type")
"""For an `int`, after its bounds: in JSON it is a number, which may be written as `3.0`."""

REAL = _of_json(float, "float_type")
"""For a `float`, after its bounds: in JSON it is neither a text nor a boolean."""

Flag = Annotated[bool, _of_json(bool, "bool_type")]
"""True or false; in JSON exactly these."""
