"""The base of every model on the wire: immutable, typed, tolerant of later additions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

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
from pydantic_core import PydanticKnownError

IN_PLAIN_WORDS = {"missing": "it is missing", "extra_forbidden": "there is no such key"}
"""Messages for people in place of pydantic's, by the type of error."""


class Model(BaseModel):
    """Frozen; unknown fields are ignored, because minor versions only add optional ones."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Strict(Model):
    """Like `Model`, but unknown fields are refused: a request is understood whole or not at all."""

    model_config = ConfigDict(extra="forbid")


def wrong_keys(error: ValidationError) -> str:
    """What is wrong with a file, key by key, in plain words, for people."""
    told = []
    for wrong in error.errors():
        what = IN_PLAIN_WORDS.get(wrong["type"], wrong["msg"].removeprefix("Value error, "))
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
    unread = [value]
    count = 0
    while unread and count <= most:
        inner = unread.pop()
        if isinstance(inner, dict | list):
            count += len(inner)
            unread.extend(inner.values() if isinstance(inner, dict) else inner)
    return count > most


def _only_text_or_time(value: Any) -> Any:
    """Refuse numbers: 1700000000 may be seconds or milliseconds, and a guess would be wrong."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if not isinstance(value, str):
        raise ValueError("a time must be an ISO 8601 string")
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("not an ISO 8601 time") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _to_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time outside of the years 1 to 9999") from None


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


def _of_json(kind: type, error: Literal["int_type", "float_type", "bool_type"]) -> BeforeValidator:
    """Refuse other types of JSON that pydantic would convert; a query's values are all text."""

    def check(value: Any, info: ValidationInfo) -> Any:
        is_kind = isinstance(value, bool) is (kind is bool) and not isinstance(value, str)
        if info.mode == "json" and value is not None and not is_kind:
            raise PydanticKnownError(error)
        return value

    return BeforeValidator(check)


WHOLE = _of_json(int, "int_type")
"""For an `int`, after its bounds: in JSON it is a number, which may be written as `3.0`."""

REAL = _of_json(float, "float_type")
"""For a `float`, after its bounds: in JSON it is no text and no boolean."""

Flag = Annotated[bool, _of_json(bool, "bool_type")]
"""True or false; in JSON exactly these."""
