"""A cache of readings: a text is read once, however many texts it is compared with."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from palimpsest.streams.guard.changes import gist, tells_change
from palimpsest.streams.guard.data.tables import BUILT_IN, Tables
from palimpsest.streams.guard.frames import frame, frame_keys, is_note
from palimpsest.streams.guard.names import said_of_owner, subject_of
from palimpsest.streams.guard.present import as_present
from palimpsest.streams.guard.reading import READS_EVERY_SCRIPT, Reading, read
from palimpsest.streams.guard.state import clauses

SHORT = 1_024
"""Maximum number of characters of a short text; nearly all memories are short."""


class Saying(NamedTuple):
    """What a text says of its owner: its words, and the keys of its statements' frames.

    Texts that only call the owner by another name have the `same` words; possessives count as the
    owner's, as for frames. Texts of one `gist` may state the same fact in other words; it is empty
    if there is none.
    """

    same: tuple[str, ...]
    keys: frozenset[int]
    gist: tuple[str, ...]


def kept_reading(
    text: str,
    *,
    truncated: bool = False,
    unknown: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    model: str | None = None,
    tables: Tables = BUILT_IN,
) -> Reading:
    """The reading of a text, as from `read`; the most recently used ones are cached.

    They are those of 4,096 short texts and 32 long ones, in about 30 MB.
    """
    keep = _short if len(text) <= SHORT else _long
    # Models that read the same scripts share a reading, as do comparisons without a model.
    reader = model if model in READS_EVERY_SCRIPT else None
    return keep(text, truncated, unknown, names, reader, tables)


def _read(
    text: str,
    truncated: bool,
    unknown: tuple[str, ...],
    names: tuple[str, ...],
    model: str | None,
    tables: Tables,
) -> Reading:
    return read(text, truncated=truncated, unknown=unknown, names=names, model=model, tables=tables)


_short = lru_cache(maxsize=4_096)(_read)
_long = lru_cache(maxsize=32)(_read)


def kept_for_frames(text: str, names: tuple[str, ...]) -> Reading:
    """A text as frames compare it: what holds now, whichever name of its owner it uses."""
    return kept_reading((_said if len(text) <= SHORT else _said.__wrapped__)(text, names))


def kept_frame_keys(text: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """The hashes of a text's frame keys; it shares one with every text of its frame.

    More are kept than of readings, because they are small, and a recall looks at many texts.
    """
    return (_keys if len(text) <= SHORT else _keys.__wrapped__)(text, names)


def kept_frame(one: str, other: str, names: tuple[str, ...]) -> bool:
    """Whether two texts share a frame; recalls compare the same ones again and again."""
    keep = _frame if max(len(one), len(other)) <= SHORT else _frame.__wrapped__
    return keep(one, other, names)


def kept_subject(text: str, names: tuple[str, ...]) -> str | None:
    """Whom a text is about, as from `subject_of`."""
    return (_subject if len(text) <= SHORT else subject_of)(text, names)


def kept_statements(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A text and, if its owner has names and it tells of a change, its clauses; for frames only."""
    return (text, *_clauses(text)) if names and len(text) <= SHORT else (text,)


def kept_saying(text: str, names: tuple[str, ...]) -> Saying:
    """What a text says of its owner, to compare with what other texts say."""
    return (_saying if len(text) <= SHORT else _saying.__wrapped__)(text, names)


_subject = lru_cache(maxsize=4_096)(subject_of)


@lru_cache(maxsize=4_096)
def _said(text: str, names: tuple[str, ...]) -> str:
    present = as_present(text)
    return said_of_owner(present, names) if names else present


@lru_cache(maxsize=4_096)
def _clauses(text: str) -> tuple[str, ...]:
    found = clauses(text)  # first what needs no reading
    return found if found and tells_change(kept_reading(text)) else ()


@lru_cache(maxsize=32_768)
def _saying(text: str, names: tuple[str, ...]) -> Saying:
    statements = kept_statements(text, names)
    keys = frozenset(key for each in statements for key in kept_frame_keys(each, names))
    reading = kept_for_frames(text, names)
    of_owner = names and (kept_subject(reading.text, names) != "other" or is_note(reading))
    return Saying(reading.statement.lows, keys, gist(reading, names) if of_owner else ())


@lru_cache(maxsize=32_768)
def _keys(text: str, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(map(hash, frame_keys(kept_for_frames(text, names))))


@lru_cache(maxsize=32_768)
def _frame(one: str, other: str, names: tuple[str, ...]) -> bool:
    return frame(kept_for_frames(one, names), kept_for_frames(other, names))
