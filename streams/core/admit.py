"""A candidate's first decision (docs/design.md, Decisions)."""

from __future__ import annotations

from datetime import datetime

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.events import (
    AnyEvent,
    Content,
    Decided,
    DecidedData,
    FirstDecision,
    Invalid,
    InvalidData,
    Join,
)
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.identity import decision_id_of, invalid_id
from palimpsest.contracts.model import unchecked
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.checks import exact_decision, run_checks
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.looking import Looking
from palimpsest.streams.core.moment import happened


def admit_candidate(
    command: Admit, ledger: Ledger, policy: Policy, now: datetime
) -> list[AnyEvent]:
    """One `decided` event; none for a known candidate; `invalid` for its id with other content."""
    known = ledger.entries.get(command.candidate_id)
    if known is not None:
        return _known_again(command, known, ledger, now)
    distinct = ledger.distinct(command.candidate.namespace, command.content.hash)
    target = distinct.target if distinct else None
    if target is not None:
        return [_exact(command, target, ledger, policy, now)]
    return [_compared(command, ledger, policy, now)]


def _known_again(command: Admit, known: Entry, ledger: Ledger, now: datetime) -> list[AnyEvent]:
    if command.content.fingerprint == known.fingerprint:
        return []
    event_id = invalid_id(command.digest)
    if event_id in ledger.events:
        return []
    data = InvalidData(
        reason="id_conflict",
        detail=f"candidate {command.candidate_id} is known with other content",
        digest=command.digest,
        origin=command.candidate.source,
    )
    return [
        Invalid(
            id=event_id,
            subject=command.candidate_id,
            time=now,
            partitionkey=command.candidate.owner_id,
            data=data,
        )
    ]


def _exact(command: Admit, target: Entry, ledger: Ledger, policy: Policy, now: datetime) -> Decided:
    decision = exact_decision(policy, ledger, target, now)
    content = command.content
    if content.vector is not None:
        content = content.model_copy(update={"vector": None})
    join = unchecked(Join, to=target.id, face="repeat", similarity=1.0)
    evidence = unchecked(Evidence, policy=policy.hash, check="exact")
    return _decided(command, decision, content, join, evidence, now)


def _compared(command: Admit, ledger: Ledger, policy: Policy, now: datetime) -> Decided:
    looking = Looking(ledger, command, policy)
    outcome = run_checks(ledger, command, policy, looking)
    choice = outcome.choice
    asked = () if choice else looking.gray(outcome.gray, policy.judge.neighbours)
    evidence = unchecked(
        Evidence,
        policy=policy.hash,
        check=choice.check if choice else None,
        neighbours=looking.evidence(),
        asked=asked,
        down=command.down,
        similar=None if choice else looking.similar(policy.similar),
    )
    if choice is None:
        decision: FirstDecision = "pending" if asked else "stored"
        return _decided(command, decision, command.content, None, evidence, now)
    to = choice.neighbour.candidate_id
    join = unchecked(Join, to=to, face=choice.face, similarity=choice.similarity)
    return _decided(command, choice.decision, command.content, join, evidence, now)


def _decided(
    command: Admit,
    decision: FirstDecision,
    content: Content,
    join: Join | None,
    evidence: Evidence,
    now: datetime,
) -> Decided:
    data = unchecked(
        DecidedData,
        decision=decision,
        candidate=command.candidate.fields(),
        content=content,
        join=join,
        evidence=evidence,
        moment=happened(command.candidate.occurred_at, now),
    )
    return unchecked(
        Decided,
        id=decision_id_of(command.candidate_id),
        subject=command.candidate_id,
        time=now,
        partitionkey=command.candidate.owner_id,
        data=data,
    )
