"""Events as bytes: CloudEvents 1.0, structured JSON, one line (docs/design.md, Two runtimes).

The type carries the major version. Lines of an older version are upcast when they are read, and
never rewritten; an unknown version is refused, never guessed. An event that an older version of
Palimpsest would not know or would misread names the version that it `requires`.

msgspec reads lines as this version writes them; pydantic writes them, and reads all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import orjson
from msgspec import MsgspecError, json
from pydantic import BaseModel, ValidationError

from palimpsest.contracts.errors import NewerError, StoreError
from palimpsest.contracts.events import EVENT, AnyEvent
from palimpsest.contracts.light import serializer

VERSION = "0.1.0"
"""This version of Palimpsest: an event that requires a newer one is refused."""
Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[str, Upcaster] = {}
"""For each old type, a function that returns the envelope of the next version."""
UNKNOWN = "union_tag_invalid"
VALUE = "literal_error"
NEWER = frozenset({UNKNOWN, VALUE, "extra_forbidden"})
"""pydantic's error types for a request or question that a newer version may have written."""
PLAINLY = {
    "json_invalid": "it is not JSON",
    "dict_type": "it is not a JSON object",
    "model_type": "it is not a JSON object",
    "union_tag_not_found": "it has no `type`",
    UNKNOWN: "its `type` is not known to this version",
}
"""Messages, by pydantic's error type, for a line that is not an event at all."""
TYPES = frozenset(kind.type for kind in get_args(AnyEvent))
_OWN: json.Decoder[AnyEvent] = json.Decoder(AnyEvent)
"""Reads what `encode` writes, in a fifth of the time that pydantic takes."""


class Recorded(NamedTuple):
    """An event and where the log holds it; positions grow, with gaps allowed."""

    position: int
    event: AnyEvent


class Envelope(BaseModel):
    """The fields of an event that a log stores it by, without its data."""

    id: str
    type: str
    partitionkey: str
    requestid: str | None = None
    requires: str | None = None

    @property
    def owner_id(self) -> str:
        """As `Event.owner_id`."""
        return self.partitionkey


def encode(event: AnyEvent) -> bytes:
    """One line without its line feed; the same event gives the same bytes."""
    return serializer(type(event)).to_json(event, exclude_none=True)


def decode(line: bytes, position: int | None = None) -> AnyEvent:
    """Parse an event. Raises StoreError, with the position, if the line is not a valid event.

    Raises NewerError, naming the version, if it requires a newer version than this.
    """
    place = "an event" if position is None else f"the event at position {position}"
    try:
        event = _read(line)
    except ValidationError as error:
        require_known(line, place)
        raise StoreError(f"{place} {_describe(error, position)}") from None
    if event.requires is not None:
        _require_version(event.requires, event.type, place)
    return event


def decode_exported(line: bytes, number: int) -> AnyEvent:
    """Parse a line of a file. Raises StoreError, with the line's number, if it is malformed.

    Raises NewerError like `decode`.
    """
    place = f"the event of line {number}"
    try:
        event = _parsed(line)
    except ValidationError as error:
        require_known(line, place)
        raise StoreError(
            f"line {number} is not an event of Palimpsest ({_what(error)}): only the"
            " output of `log export` can be imported"
        ) from None
    if event.requires is not None:
        _require_version(event.requires, event.type, place)
    return event


def envelope_of(line: bytes) -> Envelope:
    """Parse only an event's envelope, in a fifth of the time of `decode`; its data is not checked.

    Raises StoreError if the envelope is malformed, NewerError like `decode`.
    """
    try:
        found = Envelope.model_validate_json(line)
    except ValidationError as error:
        require_known(line, "an event")
        raise StoreError(f"an event {_describe(error, None)}") from None
    if found.requires is not None:
        _require_version(found.requires, found.type, "an event")
    if found.type in TYPES:
        return found
    return Envelope.model_validate(decode(line), from_attributes=True)


class _Required(BaseModel):
    """The version that an event or a question requires, whatever else is in it."""

    type: str = ""
    requires: str


def require_known(line: bytes, place: str) -> None:
    """Raise NewerError if the bytes name a newer version as required, whatever else they are."""
    try:
        required = _Required.model_validate_json(line)
    except ValidationError:
        return
    _require_version(required.requires, required.type, place)


def _require_version(requires: str, kind: str, place: str) -> None:
    """Raise NewerError if this version is older, or if the two cannot be compared."""
    try:
        is_newer = _numbers(requires) > _numbers(VERSION)
    except ValueError:
        is_newer = True
    if is_newer:
        raise NewerError(
            f"{place}{kind and f' ({kind})'} needs Palimpsest {requires} or newer, and this is"
            f" {VERSION}: upgrade this one"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _read(line: bytes) -> AnyEvent:
    """Parse an event of any version. If the decoder refuses it, pydantic reads it or explains."""
    try:
        return _OWN.decode(line)
    except (MsgspecError, ValueError, RecursionError):
        return _parsed(line)


def _parsed(line: bytes) -> AnyEvent:
    """Parse an event of any version with pydantic. Raises ValidationError if it is malformed."""
    try:
        return EVENT.validate_json(line)
    except ValidationError:
        upcast = _upcast(line)
        if upcast is None:
            raise
    return EVENT.validate_json(upcast)


def _upcast(line: bytes) -> bytes | None:
    try:
        envelope = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(envelope, dict) or str(envelope.get("type")) not in UPCASTERS:
        return None
    while envelope["type"] in UPCASTERS:
        envelope = UPCASTERS[envelope["type"]](envelope)
    return orjson.dumps(envelope)


def _describe(error: ValidationError, position: int | None) -> str:
    """The end of a message about a malformed event, after its place."""
    what = f"cannot be read ({_what(error)})"
    restore = "restore log.sqlite from a copy"
    kind = error.errors()[0]["type"]
    if kind in (UNKNOWN, VALUE):
        what += "; if a newer version of Palimpsest wrote it, upgrade this one"
        return what if kind == UNKNOWN or position is None else f"{what}; else {restore}"
    return what if position is None else f"{what}; {restore}"


def _what(error: ValidationError) -> str:
    """What is wrong and where, without the event's content."""
    first = error.errors(include_input=False, include_context=False, include_url=False)[0]
    if not first["loc"]:
        return PLAINLY.get(first["type"], f"{first['type']} in envelope")
    return f"{first['type']} in {'/'.join(str(part) for part in first['loc'])}"
