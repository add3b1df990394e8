"""A raw input row: its bytes, its source, and its number among identical rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

MAX_ROW_BYTES = 1024 * 1024
"""A longer row is invalid: a text has 32 KiB at most."""
MAX_KEPT_BYTES = 16 * MAX_ROW_BYTES
"""Of a longer row this much is kept for the dead letters, so that no input can fill the memory."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row of an input.

    `source` is what the row's `source` is when it names none: the file's name. `repeat` counts the
    equal rows of the input up to this one, from 1: with the hash of the row it makes the id of a
    row that has none. `reading` goes into that id, too: it names one reading of an input that
    cannot be read twice, so that the same row said again is not taken for the one before.
    """

    raw: bytes
    source: str
    repeat: int = 1
    reading: str = ""


class RowCounter:
    """Counts equal rows; it keeps sixteen bytes of each different row."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}

    def count(self, raw: bytes) -> int:
        """How often these bytes came, this time included."""
        key = hashlib.sha256(raw).digest()[:16]
        self._counts[key] = count = self._counts.get(key, 0) + 1
        return count
