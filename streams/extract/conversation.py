"""Reads conversations: JSON Lines of messages with a role, a content and a time.

An agent's transcript has its messages one level down (`type`, `message`, `timestamp`), their text
in blocks, and other lines between them; messages before its last compaction are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import Timestamp, first_rule, rule_of

TIMES = ("at", "time", "timestamp", "created_at")
"""The accepted names of a message's time."""


INSTRUCTING = ("system", "developer")
"""Roles whose messages are instructions to a model, so they are not remembered."""


_TIME: TypeAdapter[datetime] = TypeAdapter(Timestamp)


def timed(row: Any) -> Any:
    """A message with its time as `at`, whichever of `TIMES` it was called."""
    if not isinstance(row, dict):
        return row
    given = (row[name] for name in TIMES if row.get(name) is not None)
    return {**row, "at": next(given, None)}


def wrong_time(message: Mapping[str, Any]) -> str | None:
    """What is wrong with a message's time, by the name of its field; None if nothing is wrong."""
    for name in TIMES:
        if message.get(name) is not None:
            try:
                _TIME.validate_python(message[name])
            except ValidationError as error:
                return f"`{name}` {first_rule(error)}"
    return None


class Message(BaseModel):
    """One message; `at` is its time, if known."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Annotated[str, Field(min_length=1, max_length=64)]
    content: str
    at: Timestamp | None = None

    _timed = model_validator(mode="before")(timed)


def text_of(content: Any) -> str:
    """The texts of a message's content, which may have parts; an image has no text."""
    pieces = content if isinstance(content, list | tuple) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in pieces)
    return "\n".join(text for text in texts if isinstance(text, str))


def read_conversation(lines: Iterable[bytes]) -> list[Message]:
    """The messages of a file's lines since the last compaction; blank lines are skipped.

    Raises UsageError with the number of a line that is not a message, never its text.
    """
    messages: list[Message] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise UsageError(f"line {number} is not a message: it cannot be parsed") from None
        if not isinstance(row, dict):
            raise UsageError(f"line {number} is not a message: it is not a JSON object")
        if row.get("type") == "system" and row.get("subtype") == "compact_boundary":
            messages.clear()
        elif "role" in row or "type" not in row:
            messages.append(_message(number, row))
        elif (said := _said(row)) is not None:
            messages.append(_message(number, said))
    return messages


def _said(row: dict[str, Any]) -> dict[str, Any] | None:
    """A line of a transcript as a message; None if nobody said anything in it.

    Tool calls and their results, side conversations, summaries and the agent's own notes do not
    count.
    """
    message = row.get("message")
    if row["type"] not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if any(row.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary")):
        return None
    content = message.get("content")
    if isinstance(content, list):
        blocks = (b for b in content if isinstance(b, dict) and b.get("type") == "text")
        content = "\n".join(b["text"] for b in blocks if isinstance(b.get("text"), str))
    if not isinstance(content, str) or not content.strip():
        return None
    return {
        "role": message.get("role", row["type"]),
        "content": content,
        **{name: row[name] for name in TIMES if name in row},
    }


def _message(number: int, row: dict[str, Any]) -> Message:
    own = {name: row[name] for name in ("role", "content", *TIMES) if name in row}
    try:
        return Message.model_validate(own)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise UsageError(f"line {number} is not a message: {where}: {rule_of(first)}") from None


def parts(messages: list[Message], most_bytes: int) -> Iterator[list[tuple[int, Message]]]:
    """The messages, numbered from 1, in parts of at most `most_bytes` of content.

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
