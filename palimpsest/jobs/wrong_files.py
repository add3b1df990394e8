"""Diagnoses a file whose first rows are all wrong, and suggests how to read it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.streams.intake import RawRow, parse
from palimpsest.streams.intake.tables import delimiter_of

NEEDED = ("text", "owner_id")
_NAME = re.compile(r"[A-Za-z_][\w .-]{0,40}")
"""A possible field name; anything else may be a memory's text, so it is not shown."""
MOST_NAMED = 8
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def advice(
    rows: Sequence[RawRow],
    renames: Mapping[str, str],
    *,
    table: str = "--format csv reads it",
) -> str:
    """What is wrong with all of these rows, and what to try; never shows their contents.

    `table` is the advice on reading CSV from a file not named `.csv`.
    """
    objects = [row for row in map(_object, rows) if row is not None]
    if len(objects) == len(rows):
        return _lacking(objects, renames) or _first_error(rows[0], renames)
    if rows[0].raw.startswith(_UTF_16):
        return "this looks like UTF-16: convert it to UTF-8"
    if len(objects) + sum(map(_other_encoding, rows)) == len(rows):
        return "the texts are not in UTF-8: convert the file"
    if _looks_like_csv(rows):
        return f"this looks like CSV: {table}"
    if _looks_spread(rows):
        return "this looks like JSON over many lines: write one object per line, or one array"
    if objects:
        are = "is a JSON object" if len(objects) == 1 else "are JSON objects"
        return f"only {len(objects)} of them {are}: {{…}}"
    return "none of them is a JSON object: {…}"


def _other_encoding(row: RawRow) -> bool:
    """Whether this may be an object that is not in UTF-8."""
    try:
        row.raw.decode()
    except UnicodeDecodeError:
        return row.raw.startswith(b"{")
    return False


def _looks_spread(rows: Sequence[RawRow]) -> bool:
    """Whether an object begins on the first line and does not end there."""
    first = rows[0].raw.strip()
    return first.startswith(b"{") and not first.endswith(b"}") and _object(rows[0]) is None


def _object(row: RawRow) -> dict[str, Any] | None:
    try:
        found = orjson.loads(row.raw)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _lacking(objects: Sequence[dict[str, Any]], renames: Mapping[str, str]) -> str | None:
    """The field that all rows lack, and the names under which it may be there."""
    if any("specversion" in row for row in objects):
        return None
    common = set.intersection(*(set(row) for row in objects))
    there = {renames.get(name, name) for row in objects for name in row}
    missing = [name for name in NEEDED if name not in there]
    if not missing:
        return None
    others = sorted(name for name in common - set(NEEDED) if _NAME.fullmatch(name))[:MOST_NAMED]
    fields = " and ".join(f"`{name}`" for name in missing)
    if not others:
        return f"no row has {fields}: --map THEIRS={missing[0]} maps another field to it"
    maps = " ".join(f"--map {_likely(name, others)}={name}" for name in missing)
    return f"no row has {fields}; the rows have {', '.join(others)}: perhaps {maps}"


_USUAL = {
    "text": ("content", "memory", "fact", "message", "body", "value", "sentence"),
    "owner_id": ("user_id", "user", "owner", "agent_id", "tenant", "customer"),
}


def _likely(name: str, others: Sequence[str]) -> str:
    return next((usual for usual in _USUAL[name] if usual in others), "THEIRS")


def _first_error(row: RawRow, renames: Mapping[str, str]) -> str:
    try:
        parse(row.raw, source=row.source, renames=renames)
    except InvalidInputError as error:
        return f"the first one: {error.detail}"
    return "each row is wrong in a different way"


def _looks_like_csv(rows: Sequence[RawRow]) -> bool:
    """Whether the first line names fields, and most lines have as many cells."""
    try:
        first, *others = [row.raw.decode() for row in rows]
    except UnicodeDecodeError:
        return False
    delimiter = delimiter_of(first)
    names = [name.strip().strip('"') for name in first.split(delimiter)]
    wide = [line for line in others if line.count(delimiter) >= len(names) - 1]
    named = len(names) > 1 and all(_NAME.fullmatch(name) for name in names)
    return named and 2 * len(wide) >= len(others)
