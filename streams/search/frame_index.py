"""The texts of a newcomer's frame, whatever their cosine (docs/guard.md, Frames)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from palimpsest.contracts.events import Content
from palimpsest.streams.core.ledger import Distinct, Scope
from palimpsest.streams.core.neighbour_lookup import reading_of
from palimpsest.streams.guard import Reading, frame, opening, tables_of

MOST_VALUES = 5
"""A frame with more values, the newcomer's included, is a series, such as a diary of a weight."""
_NONE = -1


class FrameIndex:
    """The distinct texts of a scope by their openings, which all texts of a frame share.

    Of an opening it keeps the hash and the last row that has it, and of a row the one before it:
    nearly every text has an opening of its own, and its words took more than its text. Texts that
    share but a hash are no frame either.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._last: dict[int, int] = {}
        self._before = array("l")
        self._names: tuple[str, ...] = ()

    def of(self, content: Content, names: tuple[str, ...]) -> list[Distinct]:
        """The current texts of a newcomer's frame, those said last first; none of a series.

        `names` are the owner's: under others, texts have other openings.
        """
        if names != self._names:
            self._last.clear()
            self._before, self._names = array("l"), names
        self._follow()
        newcomer = reading_of(content.text, content.vector, names, tables_of())
        found: list[Distinct] = []
        for distinct in self._opened(newcomer):
            if distinct.current is not None and frame(self._reading(distinct), newcomer):
                found.append(distinct)
                if len(found) == MOST_VALUES:
                    return []
        return sorted(found, key=lambda distinct: distinct.members[-1].place, reverse=True)

    def _follow(self) -> None:
        """Index what is new; a text that is retracted is passed over when it is met."""
        for distinct in self._scope.rows[len(self._before) :]:
            opened = opening(self._reading(distinct))
            key = hash(opened)
            self._before.append(_NONE if opened is None else self._last.get(key, _NONE))
            if opened is not None:
                self._last[key] = len(self._before) - 1

    def _opened(self, newcomer: Reading) -> Iterator[Distinct]:
        """The texts that begin as a newcomer does, those said last first."""
        opened = opening(newcomer)
        row = _NONE if opened is None else self._last.get(hash(opened), _NONE)
        while row != _NONE:
            yield self._scope.rows[row]
            row = self._before[row]

    def _reading(self, distinct: Distinct) -> Reading:
        text, vector = distinct.members[0].text, distinct.vector
        return reading_of(text, vector, self._names, tables_of())  # only English has frames
