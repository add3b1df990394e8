"""What a model answered, held against what it was asked: the rest is unusable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.contracts.candidate import MAX_TEXT_BYTES

REASON_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Said:
    """An answer about one pair, of those that are allowed, with the reason given for it."""

    answer: str
    reason: str


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True)

    pair: int
    answer: str
    reason: str = ""


def about_pairs(given: Any, allowed: Sequence[str], count: int) -> list[Said | None]:
    """For each of `count` pairs what was said of it; None where that is nothing usable.

    A number that no pair has, such as 0, means that the others may be of other pairs too: then
    nothing is usable. Of two answers about a pair neither is.
    """
    entries = _entries(given)
    numbers = Counter(entry.pair for entry in entries)
    if not all(1 <= number <= count for number in numbers):
        return [None] * count
    usable = {e.pair: e for e in entries if numbers[e.pair] == 1 and e.answer in allowed}
    return [_said(usable.get(number)) for number in range(1, count + 1)]


def _entries(given: Any) -> list[_Entry]:
    listed = given.get("answers") if isinstance(given, dict) else None
    found = (_entry(one) for one in listed) if isinstance(listed, list) else ()
    return [entry for entry in found if entry is not None]


def _entry(one: Any) -> _Entry | None:
    try:
        return _Entry.model_validate(one)
    except ValidationError:
        return None


def _said(entry: _Entry | None) -> Said | None:
    return None if entry is None else Said(entry.answer, _plain(entry.reason))


def _plain(reason: str) -> str:
    """A reason as it may be recorded: without NUL and halves of signs, and not endless."""
    whole = reason.encode("utf-8", "replace").decode().replace("\0", " ")
    return " ".join(whole.split())[:REASON_CHARACTERS]


def composed(given: Any) -> str | None:
    """The text that was composed, or None where there is none that a memory could have.

    A blank one is the empty text: an answer, too.
    """
    text = given.get("text") if isinstance(given, dict) else None
    if not isinstance(text, str) or "\0" in text:
        return None
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return None
    return text.strip() if size <= MAX_TEXT_BYTES else None
