"""Readings of texts met lately: a text is read once, however many it is compared with."""

from __future__ import annotations

from functools import lru_cache

from palimpsest.streams.guard.data.tables import BUILT_IN, Tables
from palimpsest.streams.guard.reading import Reading, read

SHORT = 1_024
"""Characters of a text that counts as short: nearly all memories are."""


def kept_reading(
    text: str,
    *,
    truncated: bool = False,
    unknown: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    model: str | None = None,
    tables: Tables = BUILT_IN,
) -> Reading:
    """The reading of a text, as `read` gives it; those used last are kept.

    Of short texts some thousands, of long ones a few: memory is bounded by both, some 30 MB.
    """
    keep = _short if len(text) <= SHORT else _long
    return keep(text, truncated, unknown, names, model, tables)


@lru_cache(maxsize=4_096)
def _short(
    text: str,
    truncated: bool,
    unknown: tuple[str, ...],
    names: tuple[str, ...],
    model: str | None,
    tables: Tables,
) -> Reading:
    return read(text, truncated=truncated, unknown=unknown, names=names, model=model, tables=tables)


@lru_cache(maxsize=32)
def _long(
    text: str,
    truncated: bool,
    unknown: tuple[str, ...],
    names: tuple[str, ...],
    model: str | None,
    tables: Tables,
) -> Reading:
    return read(text, truncated=truncated, unknown=unknown, names=names, model=model, tables=tables)
