"""The rows of decisions and of the judge's answers (docs/design.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal, TypeVar

from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.events import (
    Composed,
    Confirmed,
    Decided,
    DecidedData,
    Invalid,
    InvalidData,
    Join,
    Joined,
    Redecided,
    RedecidedData,
    Refused,
    Reversed,
    Separated,
    Settled,
)
from palimpsest.contracts.evidence import Evidence, Neighbour, Verdict, deciding
from palimpsest.contracts.light import Light
from palimpsest.projections.base.rows import NOBODY_ELSE, Fact, Row
from palimpsest.streams.core.compared import Spoke

SomeLight = TypeVar("SomeLight", bound=Light)
Step = Literal["first", "second"]


def _nothing(kind: type[SomeLight], **but: object) -> SomeLight:
    """A value whose fields are all None except these."""
    nothing = dict.fromkeys(kind.__struct_fields__) | but
    made: SomeLight = type(Light).__call__(kind, **nothing)  # a verdict's constructor would refuse
    return made


NO_FIELDS = _nothing(CandidateFields)
NO_JOIN = _nothing(Join)
NO_NEIGHBOUR = _nothing(Neighbour, cues=())
NO_EVIDENCE = _nothing(Evidence, neighbours=())
NO_VERDICT = _nothing(Verdict)
NO_INVALID = _nothing(InvalidData)
"""Stand-ins for missing data: checking for it in each column took half of the time."""


class DecisionFact(Row, frozen=True):
    """One decision. `nearest` is the neighbour that decided it: joined, asked about or closest.

    `verdict` is the verdict that settled it; missing data is one of `NO_...`.
    """

    position: int
    decision_id: str
    decision: str
    decided_at: datetime
    owner_id: str | None
    candidate_id: str | None
    source: str | None
    fields: CandidateFields = NO_FIELDS
    join: Join = NO_JOIN
    nearest: Neighbour = NO_NEIGHBOUR
    evidence: Evidence = NO_EVIDENCE
    verdict: Verdict = NO_VERDICT
    rank: str | None = None
    actor: str | None = None
    because: str | None = None
    invalid: InvalidData = NO_INVALID
    event: str = "decided"
    cause: str | None = None
    consequence_of: str | None = None
    spoken: Mapping[str, Spoke] = NOBODY_ELSE
    differs: tuple[str, ...] = ()


def decision_row(fact: Fact) -> DecisionFact | None:
    """The row of a decision; None for any other event."""
    event = fact.event
    match event:
        case Decided() | Settled() | Joined() | Redecided():
            data = event.data
            if isinstance(data, DecidedData):
                candidate_id, fields, rank = event.subject, data.candidate, data.rank or "rule"
            else:
                fields = fact.entry.fields if fact.entry is not None else NO_FIELDS
                candidate_id, rank = data.candidate_id, data.rank
            return DecisionFact(
                position=fact.position,
                decision_id=event.id,
                decision=data.decision,
                decided_at=event.time,
                owner_id=event.owner_id,
                candidate_id=candidate_id,
                source=fields.source,
                fields=fields,
                join=data.join or NO_JOIN,
                nearest=_nearest(data.evidence, data.join),
                evidence=data.evidence or NO_EVIDENCE,
                verdict=_verdict(data.evidence, data.join),
                rank=rank,
                actor=data.actor,
                because=data.because,
                event=event.type.split(".")[1],
                cause=data.cause,
                consequence_of=data.consequence_of if isinstance(data, RedecidedData) else None,
                spoken=fact.spoken,
                differs=fact.differs,
            )
        case Invalid():
            return DecisionFact(
                position=fact.position,
                decision_id=event.id,
                decision="invalid",
                decided_at=event.time,
                owner_id=event.owner_id or None,
                candidate_id=None,
                source=event.data.origin,
                invalid=event.data,
                event="invalid",
            )
        case _:
            return None


def _nearest(evidence: Evidence | None, join: Join | None) -> Neighbour:
    if evidence is None:
        return NO_NEIGHBOUR
    wanted = join.to if join is not None else next(iter(evidence.asked), None)
    if wanted is None and evidence.verdicts:
        wanted = evidence.verdicts[0].neighbour_id
    if wanted is None:
        return evidence.neighbours[0] if evidence.neighbours else NO_NEIGHBOUR
    found = (n for n in evidence.neighbours if n.candidate_id == wanted)
    return next(found, None) or Neighbour(candidate_id=wanted)


def _verdict(evidence: Evidence | None, join: Join | None) -> Verdict:
    verdicts = evidence.verdicts if evidence is not None else ()
    if not verdicts:
        return NO_VERDICT
    return deciding(verdicts, join.to if join is not None else None) or NO_VERDICT


def score(neighbour: Neighbour) -> float | None:
    """The neighbour's cosine, or its Jaccard score if only that was computed."""
    return neighbour.cosine if neighbour.cosine is not None else neighbour.jaccard


class VerdictRow(Row, frozen=True):
    """One answer of a judge, even one that settled nothing, because it cost money, too.

    `step` is which of two judges answered; None if there was only one.
    """

    position: int
    ordinal: int
    step: Step | None
    event_id: str
    owner_id: str
    candidate_id: str | None
    answered_at: datetime
    verdict: Verdict


def verdict_rows(fact: Fact) -> list[VerdictRow]:
    """The judge's answers in an event; a first judge's answers come before the second's."""
    event = fact.event
    match event:
        case Refused():
            verdicts, candidate_id = event.data.verdicts, event.data.candidate_id
        case Settled() | Redecided():
            verdicts, candidate_id = event.data.evidence.verdicts, event.data.candidate_id
        case Joined():
            evidence = event.data.evidence
            verdicts = evidence.verdicts if evidence is not None else ()
            candidate_id = event.data.candidate_id
        case Composed():
            verdicts, candidate_id = event.data.evidence.verdicts, None
        case Separated() | Reversed():
            verdicts, candidate_id = event.data.verdicts or (), event.data.candidate_id
        case Confirmed():
            verdicts, candidate_id = event.data.verdicts or (), None
        case _:
            return []
    return [
        VerdictRow(
            fact.position,
            ordinal,
            step,
            event.id,
            event.owner_id,
            candidate_id,
            event.time,
            verdict,
        )
        for ordinal, (step, verdict) in enumerate(
            one for verdict in verdicts for one in _by_step(verdict)
        )
    ]


def _by_step(verdict: Verdict) -> Iterator[tuple[Step | None, Verdict]]:
    """A verdict, preceded by that of the first judge if there are two."""
    if (before := verdict.before) is not None:
        yield "first", before
        yield "second", verdict
    else:
        yield "first" if verdict.certificate is not None else None, verdict
