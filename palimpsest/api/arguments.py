"""Types of the arguments that callers of the facade give, each with its bounds."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import AfterValidator, TypeAdapter, ValidationError

from palimpsest.contracts.candidate import not_blank
from palimpsest.contracts.model import Timestamp, first_rule, utf8


class _Names:
    """Marks arguments that are ids, for which a URN is also accepted."""


NAMES = _Names()
Id = Annotated[str, AfterValidator(not_blank), NAMES]
"""The id of a candidate, a decision or a memory, or its URN."""


def _path(place: str | Path) -> str | Path:
    if "\x00" in str(place):
        raise ValueError("should be a path, without a NUL character")
    if not str(place).strip():
        raise ValueError("is blank: `.` is this folder")
    return place


Place = Annotated[str | Path, AfterValidator(_path)]
"""A file or a folder."""


def _unicode(words: str) -> str:
    utf8(words)
    return words


def moment(when: datetime | str) -> datetime:
    """Convert a time to UTC, which is also the zone of a time that names none.

    Raises ValueError if it is not a time, or is out of range.
    """
    try:
        return _TIMESTAMP.validate_python(when)
    except ValidationError as error:
        raise ValueError(first_rule(error)) from None


def optional_moment(when: datetime | str | None) -> datetime | None:
    """As `moment`, for a time that may be missing."""
    return None if when is None else moment(when)


_TIMESTAMP: TypeAdapter[datetime] = TypeAdapter(Timestamp)
Time = Annotated[datetime | str, AfterValidator(moment)]
"""A time, or its form in ISO 8601, such as `2026-01-31`; without a zone it is UTC."""

Words = Annotated[str, AfterValidator(_unicode)]
"""Any text, however long."""


class Attribution(TypedDict, total=False):
    """The actor of a request and the reason; both are recorded."""

    actor: str | None
    because: str | None
