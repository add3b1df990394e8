"""The texts that the guard finds near-identical to a newcomer's, whatever their cosine.

For owners with names: a different name for the owner can change a vector more than a different
topic does, so the text that says the same may not be among the nearest (docs/guard.md, Names).
"""

from __future__ import annotations

from itertools import islice

from palimpsest.contracts.events import Content
from palimpsest.streams.core.ledger import Distinct, Scope
from palimpsest.streams.core.neighbour_lookup import reading_of
from palimpsest.streams.guard import Reading, Tables, passes

MOST = 5
"""Maximum number of texts returned; later texts are left out."""


class AlikeIndex:
    """The distinct texts of a scope, by the words that no edit changes."""

    def __init__(self, scope: Scope, tables: Tables) -> None:
        self._scope = scope
        self._tables = tables
        self._by_words: dict[int, list[Distinct]] = {}
        self._seen = 0
        self._names: tuple[str, ...] = ()

    def of(self, content: Content, names: tuple[str, ...]) -> list[Distinct]:
        """The current texts that are near-identical to a newcomer's, given the owner's names."""
        if names != self._names:
            self._by_words.clear()
            self._seen, self._names = 0, names
        for distinct in self._scope.rows[self._seen :]:
            self._by_words.setdefault(hash(self._reading(distinct).fixed), []).append(distinct)
        self._seen = len(self._scope.rows)
        newcomer = reading_of(content.text, content.vector, names, self._tables)
        found = (
            distinct
            for distinct in self._by_words.get(hash(newcomer.fixed), ())
            if distinct.current is not None and passes(self._reading(distinct), newcomer)
        )
        return [*islice(found, MOST)]

    def _reading(self, distinct: Distinct) -> Reading:
        text, vector = distinct.members[0].text, distinct.vector
        return reading_of(text, vector, self._names, self._tables)
