"""Rows for statements about pairs, for composed texts, and for events that are not decisions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from palimpsest.contracts.events import (
    AnyEvent,
    Composed,
    Composition,
    Decided,
    Invalid,
    Joined,
    JudgeSet,
    Redecided,
    Refused,
    Separated,
    Settled,
)
from palimpsest.contracts.evidence import Verdict
from palimpsest.projections.base.rows import Fact, Row
from palimpsest.projections.duckdb.facts import NO_VERDICT
from palimpsest.streams.core.compared import Spoke
from palimpsest.streams.core.ledger import Statement


class EventRow(Row, frozen=True):
    """An event that is not a decision: its actor, subject, time and reason.

    `other_id` is the other candidate of a pair, and `decision_id` the decision that the event is
    about. A refused answer of the judge is about the pair of its first verdict.
    """

    position: int
    event_id: str
    event: str
    decided_at: datetime
    owner_id: str | None
    candidate_id: str | None
    other_id: str | None
    decision_id: str | None
    session_id: str | None
    separates: bool | None
    withdraws: bool | None
    rank: str | None
    actor: str | None
    because: str | None
    cause: str | None
    consequence_of: str | None
    command: str | None
    reason: str | None
    detail: str | None
    policy: str | None
    similarity: float | None
    verdict: Verdict
    spoken: Mapping[str, Spoke]


def kind_of(event: AnyEvent) -> str:
    """The event's name in the tables: the middle of its type."""
    return event.type.split(".")[1]


def event_row(fact: Fact) -> EventRow | None:
    """The row of an event; None for a decision, which has a table of its own."""
    event = fact.event
    if isinstance(event, Decided | Settled | Joined | Redecided | Invalid):
        return None

    def field(name: str) -> Any:
        return getattr(event.data, name, None)

    verdicts = field("verdicts") or ()
    answered = verdicts[0].neighbour_id if isinstance(event, Refused) and verdicts else None
    if isinstance(event, Composed):
        verdicts = event.data.evidence.verdicts
    return EventRow(
        position=fact.position,
        event_id=event.id,
        event=kind_of(event),
        decided_at=event.time,
        owner_id=event.owner_id or None,
        candidate_id=field("candidate_id") or field("b"),
        other_id=field("other_id") or field("joined_to") or field("a") or answered,
        decision_id=field("decision_id"),
        session_id=field("session_id"),
        separates=field("separates"),
        withdraws=field("withdraws"),
        rank=field("rank"),
        actor=field("actor"),
        because=field("because"),
        cause=field("cause"),
        consequence_of=field("consequence_of"),
        command=field("command"),
        reason=field("reason"),
        detail=field("detail"),
        policy=None if isinstance(event, JudgeSet) else field("hash") or field("policy"),
        similarity=field("similarity"),
        verdict=verdicts[0] if verdicts else NO_VERDICT,
        spoken=fact.spoken,
    )


class StatementRow(Row, frozen=True):
    """A statement about a pair: that the two are the same, or different."""

    position: int
    ordinal: int
    event: str
    event_id: str
    decision_id: str | None
    owner_id: str
    candidate_id: str
    other_id: str
    statement: Statement
    actor: str | None
    because: str | None
    cause: str | None
    reasoning: str | None
    decided_at: datetime


def statement_rows(fact: Fact) -> list[StatementRow]:
    """The statements of an event about pairs, as the fold of its owner's ledger has them."""
    event = fact.event

    def field(name: str) -> Any:
        return getattr(event.data, name, None)

    own = event.id if isinstance(event, Settled | Joined) else None
    verdicts = field("verdicts") or () if isinstance(event, Separated) else ()
    return [
        StatementRow(
            position=fact.position,
            ordinal=ordinal,
            event=kind_of(event),
            event_id=event.id,
            decision_id=own or field("decision_id"),
            owner_id=event.owner_id,
            candidate_id=stated.candidate_id,
            other_id=stated.other_id,
            statement=stated.statement,
            actor=field("actor"),
            because=field("because"),
            cause=field("cause"),
            reasoning=next((v.reasoning for v in (stated.verdict, *verdicts) if v), None),
            decided_at=event.time,
        )
        for ordinal, stated in enumerate(fact.stated)
    ]


class TextRow(Row, frozen=True):
    """A composed text: its event, its join, and its sources."""

    position: int
    event_id: str
    decision_id: str
    owner_id: str
    composed_at: datetime
    composition: Composition


def text_row(fact: Fact) -> TextRow | None:
    """The composed text of an event, if it has one."""
    event = fact.event
    match event:
        case Decided() | Settled() | Joined() | Redecided():
            if event.data.composition is None:
                return None
            composition, decision_id = event.data.composition, event.id
        case Composed():
            composition, decision_id = event.data.composition, event.data.decision_id
        case _:
            return None
    return TextRow(fact.position, event.id, decision_id, event.owner_id, event.time, composition)
