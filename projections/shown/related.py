"""The candidates on whose events some memories and their faces depend, and the fold of these. Pure.

A memory's members and its face follow from joins, and from what happened to all that was in one
memory with its members. Questions, answers and statements change neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from heapq import heapify, heappop, heappush
from math import inf

from msgspec import structs

from palimpsest.contracts.events import (
    AnyEvent,
    Composed,
    Decided,
    Erased,
    ExpirySet,
    Joined,
    Redecided,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
    Settled,
)
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger


def related(entries: Iterable[Entry]) -> set[str]:
    """The candidates that were ever in one memory with these, or with such a one until it left.

    With those of the same texts, because a text that ends and is said again begins anew.
    """
    found, texts = set[str](), set[Distinct]()
    # Each with the negative number of the event until which it matters, the latest first.
    left = [(-inf, entry.place, entry) for entry in entries]
    heapify(left)
    while left:
        least, _, entry = heappop(left)
        if entry.id in found:
            continue
        found.add(entry.id)
        texts.add(entry.distinct)
        for edge in (*entry.edges, *entry.distinct.composed_for):
            until = min(-least, inf if edge.reversed_by is None else edge.reversed_by.order)
            if edge.order <= until:
                ends = {edge.newer, edge.older, edge.over or edge.older}
                new = (end for end in ends if end.id not in found)
                for end in new:
                    heappush(left, (-until, end.place, end))
    return found | {other.id for distinct in texts for other in distinct.members}


def fold_related(ledger: Ledger, event: AnyEvent, names: Set[str]) -> None:
    """Fold an event if it changes memories or faces of related candidates.

    A join to any other candidate came after all that is asked of the related one: it is left out.
    """
    match event:
        case Decided() if event.subject in names:
            evolve(ledger, _asking_nobody(event, joins=_knows(ledger, event)))
        case Redecided() if event.subject in ledger.entries:
            evolve(ledger, _asking_nobody(event, joins=_knows(ledger, event)))
        case Settled() | Joined() if event.subject in ledger.entries and _knows(ledger, event):
            evolve(ledger, event)
        case Composed() if event.data.decision_id in ledger.edges and _knows(ledger, event):
            evolve(ledger, event)
        case Reversed() | Reinstated() if event.data.decision_id in ledger.edges:
            evolve(ledger, event)
        case Retracted() | Restored() | ExpirySet() if event.data.candidate_id in ledger.entries:
            evolve(ledger, event)
        case Erased(data=data):
            known = tuple(one for one in data.candidate_ids if one in ledger.entries)
            evolve(ledger, structs.replace(event, data=structs.replace(data, candidate_ids=known)))
        case _:
            pass


def _asking_nobody(event: Decided | Redecided, *, joins: bool) -> Decided | Redecided:
    """A decision without its question, and without its join unless the ledger knows it."""
    data = structs.replace(event.data, evidence=structs.replace(event.data.evidence, asked=()))
    if not joins:
        data = structs.replace(data, join=None, composition=None)
    return structs.replace(event, data=data)


def _knows(ledger: Ledger, event: Decided | Redecided | Settled | Joined | Composed) -> bool:
    """Whether a ledger has the candidates that an event joins, or composes a text of.

    An event that does neither changes no memory.
    """
    join = None if isinstance(event, Composed) else event.data.join
    text = event.data.composition
    ends = () if join is None else (join.to, join.over or join.to)
    named = {*ends, *(() if text is None else text.sources)} - {event.subject}
    return bool(named) and named <= ledger.entries.keys()
