"""A raw input row: its bytes, its source, and its number among identical rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from unicodedata import normalize

from palimpsest.contracts.errors import UsageError

MAX_ROW_BYTES = 1024 * 1024
"""A longer row is invalid: a text has at most 32 KiB."""
MAX_KEPT_BYTES = 16 * MAX_ROW_BYTES
"""This much of a longer row is kept for the dead letters, so that no input can fill the memory."""
FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


def refuse_repeated_names(names: Iterable[str], place: str) -> None:
    """Raise UsageError if two columns have the same name: a row would keep only one value."""
    for name, count in Counter(names).items():
        if name and count > 1:
            raise UsageError(f"{place} has {count} columns `{name}`: give each a name of its own")


def written_as(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are this one, the same first: an é may be one character or two."""
    plain = normalize("NFC", name)
    same = [one for one in known if isinstance(one, str) and normalize("NFC", one) == plain]
    return sorted(same, key=lambda one: one != name)


def in_both_forms(renames: Mapping[str, str]) -> dict[str, str]:
    """Renames that hold for composed letters (NFC) and for decomposed ones (NFD)."""
    found = {normalize(form, name): ours for name, ours in renames.items() for form in FORMS}
    return found | dict(renames)


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row of an input.

    `source`, the file's name, is used if the row has no `source` of its own. `repeat` counts the
    equal rows of the input up to this one, from 1; with the row's hash it forms the id of a row
    without one. `reading` is part of that id, too: it identifies one reading of an input that
    cannot be read twice, so that the same row, sent again, counts as new.
    """

    raw: bytes
    source: str
    repeat: int = 1
    reading: str = ""


class RowCounter:
    """Counts equal rows; it keeps sixteen bytes per different row."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}

    def count(self, raw: bytes) -> int:
        """How often these bytes have occurred, including this time."""
        key = hashlib.sha256(raw).digest()[:16]
        self._counts[key] = count = self._counts.get(key, 0) + 1
        return count
