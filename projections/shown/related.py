"""The candidates on whose events some memories and their faces depend, and the fold of these. Pure.

A memory's members and its face follow from joins, and from what happened to the members of all that
was ever joined to it or has the same text. Questions, answers and statements change neither.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from palimpsest.streams.core.ledger import Entry, Ledger


def related(entries: Iterable[Entry]) -> set[str]:
    """The candidates that were ever joined to these, directly or not, or share a text with one."""
    found = {entry.id: entry for entry in entries}
    left = [*found.values()]
    while left:
        entry = left.pop()
        text = entry.distinct
        edges = (*entry.edges, *entry.updates, *text.composed_for)
        ends = (end for edge in edges for end in (edge.newer, edge.older))
        for other in (*text.members, *ends, *(() if text.alias is None else (text.alias,))):
            if other.id not in found:
                found[other.id] = other
                left.append(other)
    return found.keys() | set()


def fold_related(ledger: Ledger, event: AnyEvent) -> None:
    """Fold an event if it changes memories or faces of the ledger, which has related candidates."""
    match event:
        case Decided() | Redecided() if event.data.evidence.asked:
            evidence = structs.replace(event.data.evidence, asked=())
            evolve(
                ledger, structs.replace(event, data=structs.replace(event.data, evidence=evidence))
            )
        case Settled() if event.data.join is None:
            pass
        case Reversed() | Reinstated() if event.data.decision_id not in ledger.edges:
            pass
        case Erased(data=data):
            known = tuple(one for one in data.candidate_ids if one in ledger.entries)
            evolve(ledger, structs.replace(event, data=structs.replace(data, candidate_ids=known)))
        case (
            Decided() | Settled() | Joined() | Redecided() | Reversed() | Reinstated() | Composed()
        ) | (Retracted() | Restored() | ExpirySet()):
            evolve(ledger, event)
        case _:
            pass
