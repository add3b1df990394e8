"""The texts of a newcomer's frame, whatever their cosine (docs/guard.md, Frames)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from palimpsest.contracts.events import Content
from palimpsest.streams.core.ledger import Distinct, Scope
from palimpsest.streams.guard import Reading, frame, kept_for_frames, kept_frame_keys

MOST_VALUES = 5
"""A frame with more values, the newcomer's included, is a series, such as a diary of a weight."""
_NONE = -1


class FrameIndex:
    """The distinct texts of a scope by the keys of which those of one frame share one.

    Of a key only its hash is kept: texts that share but that are no frame. It has the last of its
    places, and a place its row and the place before it: most keys are of
    one text alone, and a list for each took as much as the text.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._last: dict[int, int] = {}
        self._rows = array("l")
        self._before = array("l")
        self._seen = 0
        self._names: tuple[str, ...] = ()

    def of(self, content: Content, names: tuple[str, ...]) -> list[Distinct]:
        """The current texts of a newcomer's frame, those said last first; none of a series.

        `names` are the owner's: under others, texts have other keys.
        """
        if names != self._names:
            self._last.clear()
            self._rows, self._before = array("l"), array("l")
            self._seen, self._names = 0, names
        self._follow()
        newcomer = kept_for_frames(content.text, names)
        found: list[Distinct] = []
        for row in self._sharing(kept_frame_keys(content.text, names)):
            distinct = self._scope.rows[row]
            if frame(self._reading(distinct), newcomer) and distinct.current is not None:
                found.append(distinct)
                if len(found) == MOST_VALUES:
                    return []
        return sorted(found, key=lambda distinct: distinct.members[-1].place, reverse=True)

    def _sharing(self, keys: Iterable[int]) -> list[int]:
        """The rows that have one of some keys, the latest first."""
        found = set[int]()
        for key in keys:
            place = self._last.get(key, _NONE)
            while place != _NONE:
                found.add(self._rows[place])
                place = self._before[place]
        return sorted(found, reverse=True)

    def _follow(self) -> None:
        """Index what is new; a text that is retracted is passed over when it is met."""
        for row in range(self._seen, len(self._scope.rows)):
            for key in kept_frame_keys(self._scope.rows[row].members[0].text, self._names):
                self._before.append(self._last.get(key, _NONE))
                self._last[key] = len(self._rows)
                self._rows.append(row)
        self._seen = len(self._scope.rows)

    def _reading(self, distinct: Distinct) -> Reading:
        return kept_for_frames(distinct.members[0].text, self._names)
