"""A decision as it would have been without joins that were reversed (docs/design.md)."""

from __future__ import annotations

from datetime import datetime

from palimpsest.contracts.commands import Redecide
from palimpsest.contracts.events import Redecided, RedecidedData
from palimpsest.streams.core.envelope import head
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.core.operate import Result, spoken_twice
from palimpsest.streams.core.refusal import Refusal, unknown_candidate
from palimpsest.streams.core.separations import separated_pair
from palimpsest.streams.core.walk import bridges


def arrival_join(entry: Entry) -> Edge | None:
    """The standing join of a candidate's own decision, whose place is the candidate's arrival."""
    own = (edge for edge in entry.edges if edge.newer is entry and edge.place == entry.place)
    return next((edge for edge in own if edge.standing), None)


def redecide(command: Redecide, ledger: Ledger, now: datetime) -> Result:
    """One `redecided` event; refused if separations or other joins prevent it (law L9)."""
    entry = ledger.entries.get(command.candidate_id)
    if entry is None:
        return unknown_candidate(command.candidate_id)
    refusal = _refusal(command, ledger, entry)
    if refusal is not None:
        return refusal
    data = RedecidedData(
        decision=command.decision,
        candidate_id=entry.id,
        consequence_of=command.consequence_of,
        join=command.join,
        composition=command.composition,
        evidence=command.evidence,
        rank=command.rank,
        actor=command.actor,
        because=command.because,
        cause=command.cause,
    )
    redecided = Redecided(**head(command, entry.id, now), data=data)
    return spoken_twice(ledger, redecided) or [redecided]


def _refusal(command: Redecide, ledger: Ledger, entry: Entry) -> Refusal | None:
    edge = arrival_join(entry)
    only_asks = command.join is None and bridges(entry)
    if edge is not None and not only_asks:
        return Refusal("standing_already", f"decision {edge.id} stands: reverse it first")
    if command.join is None:
        return None
    other = ledger.entries.get(command.join.to)
    if other is None:
        return unknown_candidate(command.join.to)
    if other.fields.namespace != entry.fields.namespace:
        return Refusal("two_namespaces", "joins stay inside one namespace")
    if entry.memory is other.memory:
        return Refusal("one_memory", "the pair is one memory already")
    pair = separated_pair(ledger, entry.memory, other.memory)
    if pair is not None:
        return Refusal("separated", f"candidates {pair[0].id} and {pair[1].id} are separated")
    return None
