"""Finds the columns that have the texts, the scope and the time of a table's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from math import isnan
from typing import Any

from pydantic import TypeAdapter, ValidationError

from palimpsest.cleaning.texts import ScopedText
from palimpsest.contracts.candidate import Text
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.model import first_rule
from palimpsest.sources.mapping import NAMES, TEXTS, as_moment, guess_mapping, value_of
from palimpsest.streams.intake import written_as

LOOKED_AT = 1_000
"""Number of rows from which columns are guessed."""
TO_UTF_8 = (
    "convert the file first, by iconv -f ENCODING -t utf-8, such as windows-1252, shift_jis,"
    " gb18030 or cp949"
)
_TEXT: TypeAdapter[str] = TypeAdapter(Text)


def is_usual_text(name: str) -> bool:
    """Whether a column of this name usually has texts."""
    return name.casefold() in {*NAMES["text"], *TEXTS}


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of columns, dotted if inside an object; `moment` is that of the rows' times.

    `owner` seems to have the owners of the rows, of whom there are several, and is not in `by`.
    """

    text: str | None = None
    by: tuple[str, ...] = ()
    moment: str | None = None
    owner: str | None = None

    def found(self, rows: Iterable[Any], *, needs_moment: bool) -> Columns:
        """The columns, with missing ones guessed from the first rows.

        UsageError if the column of the texts is not known, these rows lack a named column, or a
        column's name is not a text.
        """
        some = [row for row in islice(rows, LOOKED_AT) if isinstance(row, dict)]
        names = {name for row in some for name in row}
        if not all(isinstance(name, str) for name in names):
            raise UsageError("the names of columns should be text")
        guess, known = guess_mapping(some, {})
        text = self.text or next(iter(guess.fields.get("text", ())), None) or _only(some)
        if some and text is None:
            values = (value for row in some for value in row.values())
            if all(value is None or isinstance(value, int | float) for value in values):
                raise UsageError(
                    f"no column has texts in the first {len(some)} rows, only numbers or nothing:"
                    f" give texts as strings; {_listed(known)}"
                )
            raise UsageError(
                "the column of the texts is unknown: name it as `text` (--text COLUMN);"
                f" {_listed(known)}"
            )
        moment = next(iter(guess.fields.get("occurred_at", ())), None)
        named = replace(self, text=text, moment=moment if needs_moment else None)
        if text is None or not some:
            return named
        by = tuple(_known(name, known) for name in self.by)
        owner = next(iter(guess.fields.get("owner_id", ())), None)
        if owner in by or len({str(value_of(row, owner)) for row in some if owner}) < 2:
            owner = None
        return replace(named, text=_known(text, known), by=by, owner=owner)

    def row(self, values: Any) -> ScopedText:
        """A row's text, scope and time, or the problem if its text cannot be read."""
        if not isinstance(values, dict):
            return ScopedText(None, _problem_of(values))
        text = value_of(values, self.text or "")
        if isinstance(text, bytes):
            try:
                text = text.decode()
            except UnicodeDecodeError as error:
                return ScopedText(
                    None, f"not_utf8: byte {error.start} of the text is not UTF-8; {TO_UTF_8}"
                )
        if _is_missing(text):
            return ScopedText(None, "no_text: the text is missing")
        if not isinstance(text, str):
            return ScopedText(None, "field: the text is not a string")
        try:
            text = _TEXT.validate_python(text)
        except ValidationError as error:
            return ScopedText(None, f"field: the text {first_rule(error)}")
        scope = tuple(
            "" if _is_missing(value) else f"{type(value).__name__}:{value}"
            for value in (value_of(values, name) for name in self.by)
        )
        moment = _moment(value_of(values, self.moment)) if self.moment else ""
        return ScopedText(text, scope=scope, moment=moment)


def _known(name: str, known: Sequence[str]) -> str:
    """The column of this name, as it is written there; UsageError if there is none."""
    found = written_as(name, known)
    if not found:
        raise UsageError(f"there is no column {name}: {_listed(known)}")
    return found[0]


def _listed(known: Sequence[str]) -> str:
    return f"the columns are {', '.join(known)}" if known else "the rows have no columns"


def _only(rows: Sequence[dict[str, Any]]) -> str | None:
    """The only column that has strings."""
    names = {name for row in rows for name, value in row.items() if isinstance(value, str)}
    return next(iter(names)) if len(names) == 1 else None


def _problem_of(values: Any) -> str:
    if isinstance(values, bytes):
        try:
            values.decode()
        except UnicodeDecodeError as error:
            return f"not_utf8: byte {error.start} of the row is not UTF-8; {TO_UTF_8}"
        return "not_json: the row is not JSON"
    if isinstance(values, list):
        return "not_an_object: the row has more cells than the first line, or is a list"
    return "not_an_object: the row is not a JSON object"


def _is_missing(value: Any) -> bool:
    """Whether there is no value, or NaN, which pandas writes for a missing one."""
    return value is None or (isinstance(value, float) and isnan(value))


def _moment(value: Any) -> str:
    """A time in a form that sorts chronologically; anything else sorts first."""
    try:
        moment = datetime.fromisoformat(str(as_moment(value)))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        return ""
