"""What a recorded decision says, as the columns of its row (design sections 3 and 13)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contracts.candidate import CandidateFields
from contracts.events import Decided, DecidedData, Invalid, Join, Joined, Refused, Settled
from contracts.evidence import Evidence, Neighbour, Verdict
from projections.rows import Fact


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision. `nearest`: the neighbour that it turned on, joined, asked about or closest."""

    position: int
    decision_id: str
    decision: str
    decided_at: datetime
    owner_id: str | None
    candidate_id: str | None
    fields: CandidateFields | None
    join: Join | None
    nearest: Neighbour | None
    evidence: Evidence | None
    rank: str | None
    actor: str | None
    because: str | None
    invalid: Invalid | None


def decision_row(fact: Fact) -> DecisionRow | None:
    """The row of a decision; None for an event that is none."""
    event = fact.event
    match event:
        case Decided():
            return _row(fact, event, event.subject, event.data.candidate)
        case Settled() | Joined():
            fields = fact.entry.fields if fact.entry is not None else None
            return _row(fact, event, event.data.candidate_id, fields)
        case Invalid():
            return _invalid_row(fact.position, event)
        case _:
            return None


def _row(
    fact: Fact,
    event: Decided | Settled | Joined,
    candidate_id: str,
    fields: CandidateFields | None,
) -> DecisionRow:
    data = event.data
    later = None if isinstance(data, DecidedData) else data
    return DecisionRow(
        position=fact.position,
        decision_id=event.id,
        decision=data.decision,
        decided_at=event.time,
        owner_id=event.owner_id,
        candidate_id=candidate_id,
        fields=fields,
        join=data.join,
        nearest=_nearest(data.evidence, data.join),
        evidence=data.evidence,
        rank=later.rank if later is not None else "rule",
        actor=later.actor if later is not None else None,
        because=later.because if later is not None else None,
        invalid=None,
    )


def _invalid_row(position: int, event: Invalid) -> DecisionRow:
    return DecisionRow(
        position=position,
        decision_id=event.id,
        decision="invalid",
        decided_at=event.time,
        owner_id=event.owner_id or None,
        candidate_id=None,
        fields=None,
        join=None,
        nearest=None,
        evidence=None,
        rank=None,
        actor=None,
        because=None,
        invalid=event,
    )


def _nearest(evidence: Evidence | None, join: Join | None) -> Neighbour | None:
    if evidence is None:
        return None
    wanted = join.to if join is not None else next(iter(evidence.asked), None)
    if wanted is None and evidence.verdicts:
        wanted = evidence.verdicts[0].neighbour_id
    found = next((n for n in evidence.neighbours if n.candidate_id == wanted), None)
    if found is not None or wanted is None:
        return found or next(iter(evidence.neighbours), None)
    return Neighbour.model_construct(candidate_id=wanted, cosine=None, jaccard=None, cues=())


def score(neighbour: Neighbour | None) -> float | None:
    """The neighbour's cosine, or its Jaccard where only that was looked at."""
    if neighbour is None:
        return None
    return neighbour.cosine if neighbour.cosine is not None else neighbour.jaccard


def verdict_that_counts(row: DecisionRow) -> Verdict | None:
    """The verdict that settled it: on the joined neighbour, else the first."""
    verdicts = row.evidence.verdicts if row.evidence is not None else ()
    wanted = row.join.to if row.join is not None else None
    joined = (verdict for verdict in verdicts if verdict.neighbour_id == wanted)
    return next(joined, None) or next(iter(verdicts), None)


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One answer of the judge: also one that could not settle anything costs money."""

    position: int
    ordinal: int
    event_id: str
    owner_id: str
    candidate_id: str | None
    answered_at: datetime
    verdict: Verdict


def verdict_rows(fact: Fact) -> list[VerdictRow]:
    """The judge's answers that came with an event."""
    event = fact.event
    match event:
        case Refused():
            verdicts, candidate_id = event.data.verdicts, event.data.candidate_id
        case Settled():
            verdicts, candidate_id = event.data.evidence.verdicts, event.data.candidate_id
        case Joined():
            evidence = event.data.evidence
            verdicts = evidence.verdicts if evidence is not None else ()
            candidate_id = event.data.candidate_id
        case _:
            return []
    return [
        VerdictRow(
            fact.position, ordinal, event.id, event.owner_id, candidate_id, event.time, verdict
        )
        for ordinal, verdict in enumerate(verdicts)
    ]
