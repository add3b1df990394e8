"""The neighbours of a window's new candidates, searched together before the first decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palimpsest.streams.search import Peers, SearchHit
from palimpsest.streams.search.hits import ranked


class Prefetch:
    """Hits for new candidates by id: among the existing rows, and among each other.

    `found` has a list per new candidate, with the nearest row even if it is below the `floor`. A
    peer's `row` is its number in the window; it counts once it has arrived as a row of the scope.
    `limit` is the maximum number of hits.
    """

    def __init__(
        self,
        newcomers: Sequence[str],
        found: Sequence[list[SearchHit]],
        peers: Peers,
        floor: float,
        limit: int,
    ) -> None:
        self._number = {candidate_id: number for number, candidate_id in enumerate(newcomers)}
        self._found = found
        self._peers = peers
        # A candidate with `limit` nearer rows needs no peers below them.
        floors = [hits[limit - 1].score if len(hits) >= limit else floor for hits in found]
        self._near = peers.above(np.maximum(floors, floor))
        self._floor = floor
        self._limit = limit
        self._rows: dict[int, int] = {}
        self._arrived = np.zeros(len(newcomers), np.bool_)
        self._complete = True

    def note_arrived(self, candidate_id: str, row: int) -> None:
        """Record a new row. If it is not from this window, all candidates must search again."""
        number = self._number.get(candidate_id)
        if number is None:
            self._complete = False
        else:
            self._rows[number] = row
            self._arrived[number] = True

    def hits(self, candidate_id: str) -> list[SearchHit] | None:
        """The best `limit` of all current rows, or the nearest one if none reaches the floor.

        None if a new search is needed.
        """
        number = self._number.get(candidate_id)
        if number is None or not self._complete:
            return None
        found, peers = self._found[number], self._near[number]
        if peers is None:
            return None
        if not any(peer.row in self._rows for peer in peers):
            if found and found[0].score >= self._floor:
                return found
            peers, limit = self._nearest(number), 1
        else:
            found, limit = [hit for hit in found if hit.score >= self._floor], self._limit
        rows = self._rows
        there = [SearchHit(rows[peer.row], peer.score) for peer in peers if peer.row in rows]
        return ranked(found + there, limit)

    def _nearest(self, number: int) -> list[SearchHit]:
        """The nearest peer that has arrived (usually all earlier ones have); empty if none has."""
        nearest = self._peers.nearest_earlier[number]
        if nearest is not None and nearest.row in self._rows and not self._arrived[number:].any():
            return [nearest]
        return self._peers.nearest(number, np.flatnonzero(self._arrived))
