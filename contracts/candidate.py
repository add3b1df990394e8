"""Candidates: what a producer offers, a text and its metadata (docs/design.md, Words)."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetPydanticSchema,
    JsonValue,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from palimpsest.contracts.arguments import Constructed
from palimpsest.contracts.identity import session_of
from palimpsest.contracts.light import Light
from palimpsest.contracts.model import (
    AN_ISO_TIME,
    NOT_UNICODE,
    Model,
    Timestamp,
    WireTime,
    deeper_than,
    has_huge_integer,
    utf8,
)

MAX_TEXT_BYTES = 32 * 1024
MAX_METADATA_DEPTH = 32
DEFAULT_NAMESPACE = "default"


def _utf8_length(value: str) -> int:
    """Length in bytes of UTF-8."""
    return len(value) if value.isascii() else len(utf8(value))


_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters, signs and marks that nobody sees, such as the blank of Braille."""
_SELECTORS = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def is_hidden(character: str) -> bool:
    """Whether it is a filler, or a variation selector, which only changes what is before it."""
    return character in _FILLERS or any(ord(character) in points for points in _SELECTORS)


def _is_blank(value: str) -> bool:
    """Whether nothing is visible: only white space, control and format characters and fillers."""
    return all(
        c.isspace() or unicodedata.category(c) in ("Cc", "Cf") or is_hidden(c) for c in value
    )


def not_blank(value: str) -> str:
    """The text; ValueError if it is blank, has a NUL character or is not valid Unicode."""
    if value.isascii() and value.isprintable() and value and not value.isspace():
        return value  # the usual case; the rest takes a microsecond more
    if "\x00" in value:
        raise ValueError("contains a NUL character")
    _utf8_length(value)
    if _is_blank(value):
        raise ValueError("is blank")
    return value


def _fits(value: str) -> str:
    if _utf8_length(value) > MAX_TEXT_BYTES:
        raise ValueError(f"is over {MAX_TEXT_BYTES} bytes of UTF-8")
    return not_blank(value)


def _keepable(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse what a reader of JSON may refuse or change: the log must stay readable."""
    if deeper_than(value, MAX_METADATA_DEPTH):
        raise ValueError(f"is nested over {MAX_METADATA_DEPTH} levels deep")
    if has_huge_integer(value):
        raise ValueError("has an integer of more than 64 bits: give it as text")
    try:
        orjson.dumps(value)
    except TypeError:
        raise ValueError(NOT_UNICODE) from None
    return value


Text = Annotated[str, StringConstraints(strict=True), AfterValidator(_fits)]
LONGEST_NAME = 512
Name = Annotated[
    str, StringConstraints(strict=True, max_length=LONGEST_NAME), AfterValidator(not_blank)
]
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
Json = GetPydanticSchema(lambda _, handler: handler.generate_schema(JsonValue))
"""For pydantic, `Any` means any JSON value; msgspec decodes nothing else anyway."""
Metadata = Annotated[dict[str, JsonValue], AfterValidator(_keepable)]
Kind = Literal["fact", "perception"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DURATION = re.compile(r"^(\d+(?:\.\d+)?)([smhdw])$")
LONGEST_SECONDS = timedelta(days=36_525).total_seconds()


def seconds_of(value: object) -> object:
    """The seconds of a duration such as `90m`, `12h`, `7d` or `2w`; a number is seconds already.

    Raises ValueError for any other text, and for a duration of zero or of over a hundred years.
    """
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ValueError("must be a number with a unit, such as 60s, 90m, 12h, 7d or 2w")
    try:
        seconds = timedelta(**{_UNITS[found[2]]: float(found[1])}).total_seconds()
    except OverflowError:
        seconds = inf
    if not 0 < seconds <= LONGEST_SECONDS:
        raise ValueError("must be longer than zero, and at most a hundred years")
    return seconds


_Seconds = Annotated[float, Field(strict=True, gt=0.0, le=LONGEST_SECONDS)]
_WithUnit = Annotated[str, Field(pattern=_DURATION.pattern)]
Duration = Annotated[
    _Seconds, BeforeValidator(seconds_of, json_schema_input_type=_Seconds | _WithUnit)
]
"""Seconds, at most a hundred years; a string needs a unit."""


class CandidateFields(Light):
    """A candidate without its text, as the log records it; readable even if the text is sealed.

    Plain types: `Candidate` checked the values when the producer offered them.
    """

    owner_id: str
    source: str
    id: str
    namespace: str = DEFAULT_NAMESPACE
    session_id: str | None = None
    occurred_at: WireTime | None = None
    category: str | None = None
    kind: Kind = "fact"
    confidence: float | None = None
    importance: float | None = None
    intensity: float | None = None
    topics: tuple[str, ...] = ()
    metadata: dict[str, Annotated[Any, Json]] = {}
    expires_at: WireTime | None = None
    ttl: float | None = None


_MOMENT: TypeAdapter[datetime] = TypeAdapter(Timestamp)


def end_of(date: object) -> object:
    """The end of a date without a time, in UTC; anything else is returned unchanged."""
    if not isinstance(date, str) or not _DATE.fullmatch(date):
        return date
    try:
        return datetime.fromisoformat(date).replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        return date


def _moment(value: Any, field: str) -> datetime:
    """A time; the error names the field that the row has, which is not always a candidate's."""
    try:
        return _MOMENT.validate_python(value)
    except ValidationError:
        raise ValueError(f"{field} {AN_ISO_TIME}") from None


_FIELDS = frozenset(CandidateFields.__struct_fields__) | {"text"}
UNDERSTOOD = _FIELDS | {"created_at", "expiration_date", "session_began_at"}
"""The known fields of a row; others are kept in `metadata`."""
EXPIRY = frozenset({"expires_at", "expiration_date", "ttl"})
"""The fields that say when a candidate expires; a row has at most one of them."""


class Candidate(Model, metaclass=Constructed):
    """One text that a producer offers as a memory; immutable.

    `created_at` is accepted for `occurred_at`; `session_began_at`, the time of the session's first
    message, names a session without an id. The candidate expires at `expires_at`, at the end of
    `expiration_date` (a day in UTC), or when `ttl` has passed since it was recorded. Unknown fields
    are kept in `metadata`.
    """

    owner_id: Name
    source: Name
    id: Name
    namespace: Name = DEFAULT_NAMESPACE
    session_id: Name | None = None
    occurred_at: Timestamp | None = None
    category: Name | None = None
    kind: Kind = "fact"
    confidence: Share | None = None
    importance: Share | None = None
    intensity: Share | None = None
    topics: tuple[Name, ...] = ()
    metadata: Metadata = {}
    expires_at: Timestamp | None = None
    ttl: Duration | None = None
    text: Text

    @model_validator(mode="before")
    @classmethod
    def _keep_unknown_fields(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        row = dict(row)
        created = row.pop("created_at", None)
        if created is not None and row.get("occurred_at") is None:
            row["occurred_at"] = _moment(created, "created_at")
        if sum(row.get(name) is not None for name in EXPIRY) > 1:
            raise ValueError("give one of expires_at, expiration_date and ttl")
        ends = row.pop("expiration_date", None)
        if ends is not None:
            row["expires_at"] = _moment(end_of(ends), "expiration_date")
        began = row.pop("session_began_at", None)
        if began is not None and row.get("session_id") is None:
            row["session_id"] = session_of(_moment(began, "session_began_at"))
        if None in row.values():
            for name in _FIELDS - {"owner_id", "text"}:
                if row.get(name, name) is None:
                    del row[name]
        unknown = {name: row.pop(name) for name in row.keys() - _FIELDS}
        if isinstance(row.get("metadata", {}), dict):
            # Set even if empty, because pydantic takes 5 us to copy a default.
            row["metadata"] = unknown | row.get("metadata", {})
        return row

    def fields(self) -> CandidateFields:
        """Everything but the text, without validating it again."""
        fields = dict(self.__dict__)
        del fields["text"]
        return CandidateFields(**fields)
