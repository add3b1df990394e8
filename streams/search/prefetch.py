"""The neighbours of a window's new candidates, searched together before the first decision."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.streams.search import SearchHit
from palimpsest.streams.search.hits import ranked


class Prefetch:
    """Hits for new candidates by id: among the existing rows, and among each other.

    `found` and `peers` have a list per new candidate; a peer's `row` is its number in the window,
    and it counts once it has `arrived` as a row. `limit` is the maximum number of hits.
    """

    def __init__(
        self,
        newcomers: Sequence[str],
        found: Sequence[list[SearchHit]],
        peers: Sequence[list[SearchHit] | None],
        limit: int,
    ) -> None:
        self._number = {candidate_id: number for number, candidate_id in enumerate(newcomers)}
        self._found = found
        self._peers = peers
        self._limit = limit
        self._rows: dict[int, int] = {}
        self._complete = True

    def note_arrived(self, candidate_id: str, row: int) -> None:
        """Note a new row of the scope. After one from outside the window, all must search again."""
        number = self._number.get(candidate_id)
        if number is None:
            self._complete = False
        else:
            self._rows[number] = row

    def hits(self, candidate_id: str) -> list[SearchHit] | None:
        """The best `limit` of all current rows; None if a search is needed."""
        number = self._number.get(candidate_id)
        if number is None or not self._complete:
            return None
        found, peers = self._found[number], self._peers[number]
        if not peers:
            return found if peers is not None else None
        rows = self._rows
        there = [SearchHit(rows[peer.row], peer.score) for peer in peers if peer.row in rows]
        return ranked(found + there, self._limit)
