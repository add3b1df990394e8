"""Refusals: a stable reason and a sentence that says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from palimpsest.contracts.errors import no_such_id
from palimpsest.contracts.events import Rank
from palimpsest.streams.core.graph import path
from palimpsest.streams.core.ledger import Entry

Reason = Literal[
    "unknown_candidate",
    "unknown_decision",
    "same_candidate",
    "not_a_join",
    "not_standing",
    "standing_already",
    "one_memory",
    "two_namespaces",
    "separated",
    "not_separated",
    "not_a_statement",
    "same_text",
    "supported",
    "pending",
    "not_pending",
    "not_asked",
    "outranked",
    "not_living",
    "moved_on",
    "unchanged",
    "lives_elsewhere",
    "no_update",
    "forgotten",
    "expired",
    "retracted_already",
    "not_retracted",
    "not_a_face",
    "not_needed",
    "unusable_text",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command was refused: a stable `reason`, and a sentence."""

    reason: Reason
    detail: str


def unknown_candidate(candidate_id: str) -> Refusal:
    """No such candidate in this owner's log."""
    return Refusal("unknown_candidate", no_such_id(candidate_id))


def unknown_decision(decision_id: str) -> Refusal:
    """No such decision in this owner's log."""
    return Refusal("unknown_decision", no_such_id(decision_id))


def a_rank(rank: Rank) -> str:
    """A rank with its article, for a message."""
    return f"an {rank}" if rank == "agent" else f"a {rank}"


def chain(start: Entry, end: Entry) -> str:
    """The joins that connect two candidates, in order, for a message; empty for one candidate."""
    return " → ".join(f"{edge.decision} {edge.id}" for edge in path(start, end) or ())
