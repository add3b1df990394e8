"""Finds the texts that share a newcomer's frame, whatever their cosine (docs/guard.md, Frames)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from palimpsest.contracts.events import Content
from palimpsest.streams.core.ledger import Distinct, Memory, Scope
from palimpsest.streams.guard import (
    frame,
    kept_for_frames,
    kept_frame_keys,
    kept_saying,
    kept_statements,
    shares_a_word,
)

MOST_VALUES = 5
"""A frame with more values, the newcomer's included, is a series, such as a diary of a weight.

Wordings that read alike, because they only call the owner by another name, have one value.
"""
_NONE = -1


class FrameIndex:
    """The distinct texts of a scope by their keys; texts of one frame share at least one key.

    The gist of a text about an owner with names is a key, too.

    Only the hash of a key is kept: `frame` rejects texts that share nothing else. The places of a
    key are a linked list: each place has its row and the previous place. Most keys belong to a
    single text, and a Python list for each key took as much memory as the text.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._last: dict[int, int] = {}
        self._rows = array("l")
        self._before = array("l")
        self._seen = 0
        self._names: tuple[str, ...] = ()

    def of(self, content: Content, names: tuple[str, ...]) -> list[Distinct]:
        """The current texts of a newcomer's frames, latest said first, without those of a series.

        `names` are the owner's: with other names, texts have other keys.
        """
        if names != self._names:
            self._last.clear()
            self._rows, self._before = array("l"), array("l")
            self._seen, self._names = 0, names
        for row in range(self._seen, len(self._scope.rows)):
            text = self._scope.rows[row].members[0].text
            said = kept_saying(text, names).gist if names else ()
            for key in (*kept_frame_keys(text, names), *([hash(said)] if said else ())):
                self._before.append(self._last.get(key, _NONE))
                self._last[key] = len(self._rows)
                self._rows.append(row)
        self._seen = len(self._scope.rows)
        found = dict.fromkeys(
            distinct
            for statement in kept_statements(content.text, names)
            for distinct in self._of_statement(statement, names)
        )
        return sorted(found, key=lambda distinct: distinct.members[-1].place, reverse=True)

    def of_one_gist(self, content: Content, names: tuple[str, ...]) -> list[Distinct]:
        """The current texts that state a newcomer's numbers or words, one of each memory.

        Latest said first; empty if there are as many as in a series.
        """
        said = kept_saying(content.text, names).gist
        newcomer = kept_for_frames(content.text, names)
        found: dict[Memory, Distinct] = {}
        for row in self._sharing([hash(said)] if said else ()):
            distinct = self._scope.rows[row]
            if (
                distinct.current is not None
                and kept_saying(distinct.members[0].text, names).gist == said
                and shares_a_word(kept_for_frames(distinct.members[0].text, names), newcomer, names)
            ):
                found.setdefault(distinct.current.memory, distinct)
                if len(found) == MOST_VALUES:
                    return []
        return [*found.values()]

    def _of_statement(self, statement: str, names: tuple[str, ...]) -> list[Distinct]:
        """The current texts of a statement's frame; empty if they are a series."""
        newcomer = kept_for_frames(statement, names)
        found: list[Distinct] = []
        values = set[tuple[str, ...]]()
        for row in self._sharing(kept_frame_keys(statement, names)):
            distinct = self._scope.rows[row]
            if distinct.current is not None:
                reading = kept_for_frames(distinct.members[0].text, self._names)
                if frame(reading, newcomer):
                    found.append(distinct)
                    values.add(reading.statement.lows)
                    if len(values) == MOST_VALUES:
                        return []
        return found

    def _sharing(self, keys: Iterable[int]) -> list[int]:
        """The rows that have any of these keys, latest first."""
        found = set[int]()
        for key in keys:
            place = self._last.get(key, _NONE)
            while place != _NONE:
                found.add(self._rows[place])
                place = self._before[place]
        return sorted(found, reverse=True)
