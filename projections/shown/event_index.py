"""Where the log has the events about each candidate of an owner. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from palimpsest.contracts.events import Reversed
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.shown.timeline import Pair, candidates_of
from palimpsest.streams.core.ledger import Ledger


class EventIndex:
    """The positions of an owner's events by candidate, up to `position`.

    A join that was reversed has those of its reversals, too, by its decision.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.position = 0
        self._positions: dict[str, array[int]] = {}

    def note(self, recorded: Recorded) -> None:
        """Add the next event, which the ledger has, too."""
        event, self.position = recorded.event, recorded.position
        about = candidates_of(event, lambda decision_id: pair_in(self.ledger, decision_id))
        named = {*about, getattr(event.data, "candidate_id", None)}
        if isinstance(event, Reversed):
            named.add(event.data.decision_id)
        for name in named:
            if name is not None:
                self._positions.setdefault(name, array("q")).append(recorded.position)

    def of(self, names: Iterable[str], upto: int) -> list[int]:
        """The positions of the events about any of these candidates, in order."""
        found = {at for name in names for at in self._positions.get(name, ()) if at <= upto}
        return sorted(found)


def pair_in(ledger: Ledger, decision_id: str) -> Pair:
    """The candidates that a decision is about."""
    edge = ledger.edges.get(decision_id)
    if edge is not None:
        return edge.newer.id, edge.older.id
    return ledger.decisions.get(decision_id), None
