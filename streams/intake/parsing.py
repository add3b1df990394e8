"""Parses a row's bytes as a candidate or a notice (docs/design.md, Words; CloudEvents 1.0)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from types import MappingProxyType
from typing import Any, TypeVar
from uuid import UUID, uuid5

import orjson
from msgspec import structs
from pydantic import ValidationError

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.commands import Access, Compact, EndSession
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.identity import NAMESPACE, digest
from palimpsest.contracts.model import (
    NOT_UNICODE,
    Model,
    has_huge_integer,
    is_not_unicode,
    read_json,
    rule_of,
    write_json,
)
from palimpsest.streams.intake.rows import MAX_KEPT_BYTES, MAX_ROW_BYTES

Notice = Access | EndSession | Compact
"""What producers send besides candidates."""
Row = dict[str, Any]
Parsed = TypeVar("Parsed", bound=Model)

NO_RENAMES: Mapping[str, str] = MappingProxyType({})
_TYPE_OF_OURS = re.compile(r"palimpsest\.[a-z_]{1,40}\.v\d{1,4}")
_TOLD_ERRORS = 4
MOST_USES = 2**31 - 1
"""The highest count in a notice, so that a memory's sum stays a number that a database accepts."""
_BINARY_MODE = ("ce_specversion", "ce-specversion")


def parse(
    raw: bytes,
    *,
    source: str,
    repeat: int = 1,
    reading: str = "",
    renames: Mapping[str, str] = NO_RENAMES,
) -> Candidate | Notice:
    """The meaning of a row: a CloudEvent in structured mode, or a bare row of a candidate's fields.

    A bare row without a `source` gets the one given here; without an `id`, it gets one made from
    its hash, `reading` and `repeat` (see `RawRow`). `renames` maps field names of bare rows to
    ours. Raises InvalidInputError, which says what is wrong and never quotes the row.
    """
    row = _object_of(raw, renames)
    if "specversion" in row:
        return _of_event(row)
    for theirs, value in {name: row.pop(name) for name in renames if name in row}.items():
        ours = renames[theirs]
        if ours in row:
            raise InvalidInputError("field", f"{ours}: it is in the row twice, also as {theirs}")
        row[ours] = value
    row["id"] = _text_id(row.get("id")) or _id_of(raw, reading, repeat)
    if row.get("source") is None:
        row["source"] = source
    return _check(Candidate, row)


def parse_binary(headers: Mapping[str, str], body: bytes) -> Candidate | Notice:
    """The meaning of a CloudEvent in binary mode; its attributes are `ce-…` or `ce_…` headers.

    Raises InvalidInputError like `parse`.
    """
    return _of_event(_event_of(headers, body))


def as_structured(headers: Mapping[str, str], body: bytes) -> bytes:
    """Convert a CloudEvent from binary mode to structured mode.

    Raises InvalidInputError if the body is not a JSON object.
    """
    return write_json(_event_of(headers, body))


def binary_mode(headers: Iterable[tuple[str, bytes | None]]) -> dict[str, str] | None:
    """A record's headers as text if it is a CloudEvent in binary mode; else None.

    Raises InvalidInputError if an attribute is not UTF-8; in other headers, which say nothing of
    the event, such bytes are replaced.
    """
    found = {name: value for name, value in headers if value is not None}
    if not any(name in found for name in _BINARY_MODE):
        return None
    try:
        return {
            name: value.decode(errors="strict" if _is_attribute(name) else "replace")
            for name, value in found.items()
        }
    except UnicodeDecodeError:
        detail = "an attribute of the event, a header `ce_…`, is not UTF-8"
        raise InvalidInputError("not_utf8", detail) from None


def _event_of(headers: Mapping[str, str], body: bytes) -> Row:
    attributes: Row = {
        name[3:].lower(): value for name, value in headers.items() if _is_attribute(name)
    }
    return {"specversion": None} | attributes | {"data": _object_of(body)}


def _is_attribute(header: str) -> bool:
    return header[:3].lower() in ("ce-", "ce_")


def _object_of(raw: bytes, renames: Mapping[str, str] = NO_RENAMES) -> Row:
    if len(raw) > MAX_ROW_BYTES:
        raise InvalidInputError("field", _too_long(len(raw)))
    try:
        row = read_json(raw)
    except orjson.JSONDecodeError as error:
        raise _unreadable(raw, error, renames) from None
    if not isinstance(row, dict):
        raise InvalidInputError("not_an_object", _no_object(row))
    return row


def _no_object(row: object) -> str:
    what = "a row must be a JSON object: {…}"
    if not isinstance(row, list):
        return what
    return f"{what}, and this is a list, which a CSV's line becomes if it has too many cells"


def _too_long(length: int) -> str:
    if length >= MAX_KEPT_BYTES:
        return f"the row has {MAX_KEPT_BYTES} bytes or more; the rest was not kept"
    return f"the row has {length} bytes; {MAX_ROW_BYTES} are allowed"


def _unreadable(
    raw: bytes, error: orjson.JSONDecodeError, renames: Mapping[str, str]
) -> InvalidInputError:
    try:
        text = raw.decode()
    except UnicodeDecodeError as wrong:
        return InvalidInputError("not_utf8", f"byte {wrong.start} is not UTF-8")
    field = _not_finite(text, renames)
    if field is not None:
        rule = "JSON has no NaN and no infinite numbers: leave the field out"
        return InvalidInputError("not_json", f"{field}: {rule}")
    what = f"the row {NOT_UNICODE}" if is_not_unicode(error) else error.msg
    return InvalidInputError("not_json", f"{what} (at character {error.pos})")


def _not_finite(text: str, renames: Mapping[str, str]) -> str | None:
    """Our name of the field with a number that JSON lacks, if nothing else is wrong."""
    try:
        row = json.loads(text)  # Python's parser accepts such numbers
    except (ValueError, RecursionError):
        return None
    is_event = isinstance(row, dict) and "specversion" in row
    values = row.get("data") if is_event else row
    named = values.items() if isinstance(values, dict) else ()
    found = (renames.get(name, name) for name, value in named if not _is_finite(value))
    rest = "data" if is_event else "metadata"
    return next((name if name in Candidate.model_fields else rest for name in found), None)


def _is_finite(value: object) -> bool:
    """Whether all numbers in a value are finite."""
    left = [value]
    while left:
        match left.pop():
            case float(number) if not isfinite(number):
                return False
            case dict(inner):
                left += inner.values()
            case list(inner):
                left += inner
            case _:
                pass
    return True


def _id_of(raw: bytes, reading: str, repeat: int) -> str:
    """The id of a row without one."""
    which = f"{reading}-{repeat}" if reading else str(repeat)
    return f"{digest(raw)[:32]}-{which}"


def _text_id(value: object) -> str | None:
    match value:
        case None | str():
            return value
        case int() if not isinstance(value, bool) and not has_huge_integer(value):
            return str(value)
        case _:
            raise InvalidInputError("field", "id: must be a string or an integer of 64 bits")


def _of_event(event: Row) -> Candidate | Notice:
    reader = _TYPES.get(str(event.get("type")))
    if event["specversion"] != "1.0" or reader is None:
        raise InvalidInputError("unknown_type", _unknown(event))
    for name in ("id", "source"):
        if not isinstance(event.get(name), str):
            raise InvalidInputError("field", f"{name}: a CloudEvent must have it, as a string")
    data = event.get("data")
    if not isinstance(data, dict):
        raise InvalidInputError("not_an_object", "the event's data must be a JSON object: {…}")
    return reader(event, data)


def _unknown(event: Row) -> str:
    """Name the type only if it is one of ours: anything else may be a memory's text."""
    if event["specversion"] != "1.0":
        return "only CloudEvents of specversion 1.0 are known"
    found = str(event.get("type"))
    name = found if _TYPE_OF_OURS.fullmatch(found) else "the event's type"
    return f"{name} is not known; the known types are {', '.join(_TYPES)}"


def _candidate(event: Row, data: Row) -> Candidate:
    for name in ("id", "source"):
        if data.get(name, event[name]) != event[name]:
            raise InvalidInputError("field", f"data/{name}: must be the same as the event's")
    return _check(Candidate, data | {"id": event["id"], "source": event["source"]})


def _access(event: Row, data: Row) -> Access:
    fields = _head(event, data) | {"candidate_id": _candidate_id(data)}
    access = _check(Access, fields | {"uses": data.get("uses")})
    if access.uses is None:
        return access
    if any(use.count > MOST_USES for use in access.uses):
        raise InvalidInputError("field", f"uses: a count is at most {MOST_USES}")
    uses = tuple(
        structs.replace(use, candidate_id=_candidate_id(structs.asdict(use))) for use in access.uses
    )
    return access.model_copy(update={"uses": uses})


def _candidate_id(data: Row) -> str:
    try:
        return str(UUID(data.get("candidate_id")))
    except (ValueError, TypeError, AttributeError):
        raise InvalidInputError("field", "candidate_id: must be a candidate's id") from None


def _of_session(kind: type[Parsed], event: Row, data: Row) -> Parsed:
    return _check(kind, _head(event, data) | {"session_id": data.get("session_id")})


def _head(event: Row, data: Row) -> Row:
    """The owner, and a command id, which makes a repeated event the same command."""
    owner_id = data.get("owner_id")
    name = write_json([event["type"], owner_id, event["source"], event["id"]])
    return {"command_id": str(uuid5(NAMESPACE, name.decode())), "owner_id": owner_id}


_TYPES: dict[str, Callable[[Row, Row], Candidate | Notice]] = {
    "palimpsest.candidate.v1": _candidate,
    "palimpsest.session_ended.v1": partial(_of_session, EndSession),
    "palimpsest.compacted.v1": partial(_of_session, Compact),
    "palimpsest.accessed.v1": _access,
}


def _check(kind: type[Parsed], values: Row) -> Parsed:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        found = error.errors(include_input=False, include_context=False, include_url=False)
        problems = "; ".join(
            f"{_place(wrong['loc'])}: {rule_of(wrong)}" for wrong in found[:_TOLD_ERRORS]
        )
        raise InvalidInputError("field", problems) from None


def _place(location: tuple[int | str, ...]) -> str:
    """The field, and the index in a list; never a key from inside the metadata."""
    field, *inside = location or ("row",)
    return "/".join([str(field), *(str(at) for at in inside[:1] if isinstance(at, int))])
