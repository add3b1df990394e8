"""Reads conversations: JSON Lines of messages with a role, a content and a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import Timestamp

TIMES = ("at", "time", "timestamp", "created_at")
"""The accepted names of a message's time."""


class Message(BaseModel):
    """One message; `at` is its time, if known."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Annotated[str, Field(min_length=1, max_length=64)]
    content: str
    at: Timestamp | None = None

    @model_validator(mode="before")
    @classmethod
    def _time_by_any_name(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        given = (row[name] for name in TIMES if row.get(name) is not None)
        return {**row, "at": next(given, None)}


def read_conversation(lines: Iterable[bytes]) -> list[Message]:
    """The messages of a file's lines, without blank ones.

    Raises UsageError with the number of a line that is not a message, never its text.
    """
    return [_message(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _message(number: int, line: bytes) -> Message:
    try:
        return Message.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise UsageError(f"line {number} is no message: {where}: {first['msg']}") from None


def parts(messages: list[Message], most_bytes: int) -> Iterator[list[tuple[int, Message]]]:
    """The messages, numbered from 1, in parts of at most so many bytes of content.

    A longer message is a part of its own.
    """
    part: list[tuple[int, Message]] = []
    size = 0
    for number, message in enumerate(messages, start=1):
        own = len(message.content.encode("utf-8", "replace"))
        if part and size + own > most_bytes:
            yield part
            part, size = [], 0
        part.append((number, message))
        size += own
    if part:
        yield part
