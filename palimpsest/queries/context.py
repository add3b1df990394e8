"""The events about some candidates, with those that they refer to."""

from __future__ import annotations

from collections.abc import Collection

from palimpsest.backends.reader import Reader
from palimpsest.contracts.events import Redecided
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.shown.event_index import pair_in
from palimpsest.projections.shown.timeline import pair_of


def with_context(
    reader: Reader, owner_id: str, names: Collection[str], upto: int | None = None
) -> list[Recorded]:
    """An owner's events about some candidates, in order, up to a position, as a `Timeline` needs.

    What an event answers may be about another candidate of its pair, or a reversal that led to it.
    """
    ledger, found = reader.ledger(owner_id), reader.events_about(owner_id, names, upto)
    more = {*names}
    for recorded in found:
        more.update(filter(None, pair_of(recorded.event, lambda one: pair_in(ledger, one))))
        if isinstance(recorded.event, Redecided):
            more.add(recorded.event.data.consequence_of)
    return found if len(more) == len(names) else reader.events_about(owner_id, more, upto)
