"""The texts of a newcomer's frame, whatever their cosine (docs/guard.md, Frames)."""

from __future__ import annotations

from palimpsest.contracts.events import Content
from palimpsest.streams.core.ledger import Distinct, Scope
from palimpsest.streams.core.neighbour_lookup import reading_of
from palimpsest.streams.guard import Reading, frame, opening

MOST_VALUES = 5
"""A frame with more values, the newcomer's included, is a series, such as a diary of a weight."""


class FrameIndex:
    """The distinct texts of a scope by their openings, which all texts of a frame share."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._by_opening: dict[tuple[str, ...], list[Distinct]] = {}
        self._seen = 0
        self._names: tuple[str, ...] = ()

    def of(self, content: Content, names: tuple[str, ...]) -> list[Distinct]:
        """The current texts of a newcomer's frame, those said last first; none of a series.

        `names` are the owner's: under others, texts have other openings.
        """
        if names != self._names:
            self._by_opening.clear()
            self._seen, self._names = 0, names
        self._follow()
        newcomer = reading_of(content.text, content.vector, names)
        found: list[Distinct] = []
        for distinct in reversed(self._by_opening.get(opening(newcomer) or (), [])):
            if distinct.current is not None and frame(self._reading(distinct), newcomer):
                found.append(distinct)
                if len(found) == MOST_VALUES:
                    return []
        return sorted(found, key=lambda distinct: distinct.members[-1].place, reverse=True)

    def _follow(self) -> None:
        """Index what is new; a text that is retracted is passed over when it is met."""
        for distinct in self._scope.rows[self._seen :]:
            opened = opening(self._reading(distinct))
            if opened is not None:
                self._by_opening.setdefault(opened, []).append(distinct)
        self._seen = len(self._scope.rows)

    def _reading(self, distinct: Distinct) -> Reading:
        return reading_of(distinct.members[0].text, distinct.vector, self._names)
