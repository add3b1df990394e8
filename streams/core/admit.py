"""A candidate's first decision (docs/design.md, Decisions)."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.events import (
    Again,
    AnyEvent,
    Content,
    Decided,
    DecidedData,
    FaceRule,
    FirstDecision,
    Invalid,
    InvalidData,
    Join,
    Refused,
    RefusedData,
)
from palimpsest.contracts.evidence import Evidence, Neighbour
from palimpsest.contracts.identity import decision_id_of, forgotten_id, invalid_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.checks import (
    CheckOutcome,
    exact_decision,
    in_reach,
    in_zones,
    nearest_of,
    run_checks,
)
from palimpsest.streams.core.exact import (
    FOLDED,
    Twin,
    folded_target,
    forgotten_text,
    forgotten_words,
    verbatim_target,
)
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.moment import expiry_of, happened
from palimpsest.streams.core.neighbour_lookup import NeighbourLookup, similarity
from palimpsest.streams.core.text import identity_of

FORGOTTEN = "forgotten"
"""The reason of a refusal, or the check that makes a candidate wait: its text was forgotten."""


def admit_candidate(
    command: Admit, ledger: Ledger, policy: Policy, now: datetime
) -> list[AnyEvent]:
    """One `decided` event; none for a known candidate; `invalid` for a known id with other content.

    A forgotten text is refused, waits or is allowed, as the forgetting says; a candidate that was
    refused stays refused. If a text waits, so do texts that the policy would take for rewordings.
    """
    expires_at = expiry_of(command.candidate, policy, now)
    return [
        structs.replace(event, data=structs.replace(event.data, expires_at=expires_at))
        if expires_at is not None and isinstance(event, Decided)
        else event
        for event in _admitted(command, ledger, policy, now)
    ]


def _admitted(command: Admit, ledger: Ledger, policy: Policy, now: datetime) -> list[AnyEvent]:
    known = ledger.entries.get(command.candidate_id)
    if known is not None:
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
    if command.candidate_id in ledger.turned_away:
        return []
    namespace, content = command.candidate.namespace, command.content
    target = verbatim_target(ledger, namespace, content)
    if target is not None and target.living:
        return [_exact(command, target, ledger, policy, now)]
    twin = folded_target(ledger, command.candidate, content, policy)
    if twin is not None:
        return [_folded(command, twin, ledger, policy, now)]
    gone = forgotten_text(ledger, namespace, content)
    if gone is not None and (rule := rule_of_again(gone, command.candidate.occurred_at)) != "allow":
        if rule == "refuse":
            return [_refused(command, now)]
        evidence = Evidence(
            policy=policy.hash,
            check=FORGOTTEN,
            neighbours=(Neighbour(candidate_id=gone.id, cosine=1.0),),
            down=command.down,
        )
        return [_withheld(command, gone, evidence, now)]
    if target is not None:
        return [_exact(command, target, ledger, policy, now)]
    return [_compared(command, ledger, policy, now)]


def rule_of_again(gone: Entry, occurred_at: datetime | None) -> Again:
    """What happens to a forgotten text that arrives again and happened at the given time."""
    assert gone.forgotten is not None, "the candidate was forgotten"
    if gone.forgotten.earlier and occurred_at is not None and occurred_at < gone.forgotten.at:
        return "refuse"
    return gone.forgotten.again


def _refused(command: Admit, now: datetime) -> Refused:
    """`refused`, because it was forgotten: records that the candidate came, but not its text."""
    data = RefusedData(
        command="admit",
        reason=FORGOTTEN,
        detail="its text was forgotten, and is refused when it comes again",
        candidate_id=command.candidate_id,
    )
    return Refused(
        id=forgotten_id(command.candidate_id),
        subject=command.candidate_id,
        time=now,
        partitionkey=command.candidate.owner_id,
        data=data,
    )


def _withheld(command: Admit, gone: Entry, evidence: Evidence, now: datetime) -> Decided:
    """`pending`, and not living: a person decides whether the text may come back."""
    assert gone.forgotten is not None, "the candidate was forgotten"
    event = _decided(command, "pending", command.content, None, evidence, now)
    data = structs.replace(event.data, withheld=gone.forgotten.cause)
    return structs.replace(event, data=data)


def _exact(command: Admit, target: Entry, ledger: Ledger, policy: Policy, now: datetime) -> Decided:
    decision = exact_decision(policy, ledger, target, now)
    content = command.content
    if content.vector is not None:
        content = structs.replace(content, vector=None)
    distinct = ledger.distinct(command.candidate.namespace, identity_of(content))
    said = distinct.said if distinct else content.hash
    join = Join(to=target.id, face=_face_of_repeat(target, said), similarity=1.0)
    evidence = Evidence(policy=policy.hash, check="exact")
    return _decided(command, decision, content, join, evidence, now)


def _folded(command: Admit, twin: Twin, ledger: Ledger, policy: Policy, now: datetime) -> Decided:
    decision = exact_decision(policy, ledger, twin.entry, now)
    face = _face_of_repeat(twin.entry, twin.entry.distinct.said)
    join = Join(to=twin.entry.id, face=face, similarity=1.0)
    evidence = Evidence(policy=policy.hash, check=FOLDED, down=command.down, differs=twin.differs)
    return _decided(command, decision, command.content, join, evidence, now)


def _face_of_repeat(target: Entry, said: str) -> FaceRule:
    """`keep` if the repeat would bring back a composed text that lives elsewhere (L6)."""
    memory = target.memory
    back = memory.face.displaced.get(said) if memory.texted else None
    elsewhere = back and back.composed and back.composed.lives_outside({memory})
    return "keep" if elsewhere else "repeat"


def _compared(command: Admit, ledger: Ledger, policy: Policy, now: datetime) -> Decided:
    gone = forgotten_words(ledger, command.candidate.namespace, command.content.text)
    if not (command.neighbours or command.forgotten or gone):
        evidence = Evidence(policy=policy.hash, down=command.down, nearest=command.nearest)
        return _decided(command, "stored", command.content, None, evidence, now)
    lookup = NeighbourLookup(ledger, command, policy)
    outcome = run_checks(ledger, command, policy, lookup)
    choice = outcome.choice
    reworded = _reworded(command, ledger, policy, outcome, gone)
    if reworded:
        first = ledger.entries[reworded[0].candidate_id]
        evidence = _evidence_of(reworded, command, policy, lookup, outcome)
        return _withheld(command, first, evidence, now)
    asked = _asked(command, policy, lookup, outcome)
    evidence = Evidence(
        policy=policy.hash,
        check=choice.check if choice else None,
        neighbours=lookup.evidence(),
        asked=asked,
        down=command.down,
        similar=None if choice else lookup.similar(policy.similar),
        guard=lookup.guard,
        nearest=None if choice or asked else command.nearest,
    )
    if choice is None:
        decision: FirstDecision = "pending" if asked else "stored"
        return _decided(command, decision, command.content, None, evidence, now)
    to = choice.neighbour.candidate_id
    join = Join(to=to, face=choice.face, similarity=choice.similarity)
    return _decided(command, choice.decision, command.content, join, evidence, now)


def _asked(
    command: Admit, policy: Policy, lookup: NeighbourLookup, outcome: CheckOutcome
) -> tuple[str, ...]:
    """The candidates that the judge is asked about, without the one that a rule joins."""
    judge, choice = policy.judge, outcome.choice
    if choice is None:
        asked = (*lookup.gray(outcome.gray, judge.neighbours), *lookup.framed())
    elif judge.bridges and judge.enabled:
        asked = lookup.gray(in_zones(policy, command, lookup), judge.neighbours)
    else:
        return ()
    if judge.enabled and judge.of_owner is not None:
        asked += lookup.of_owner(nearest_of(policy, command, lookup), judge.of_owner)
    joined = choice and choice.neighbour.candidate_id
    return tuple(one for one in dict.fromkeys(asked) if one != joined)


def _reworded(
    command: Admit, ledger: Ledger, policy: Policy, outcome: CheckOutcome, same_words: list[Entry]
) -> tuple[Neighbour, ...]:
    """The forgotten texts that a newcomer rewords, nearest first: `same_words` before all others.

    Empty if a rule joins it to a living candidate that is at least as near.
    """
    near = {
        neighbour.candidate_id: neighbour
        for neighbour in command.forgotten
        if in_reach(policy, ledger, command, neighbour)
    }
    near |= {
        neighbour.id: Neighbour(candidate_id=neighbour.id, cosine=1.0) for neighbour in same_words
    }
    found = list(near.values())
    found.sort(
        key=lambda neighbour: (-similarity(neighbour), ledger.entries[neighbour.candidate_id].place)
    )
    choice = outcome.choice
    if not found or (choice is not None and choice.similarity >= similarity(found[0])):
        return ()
    return tuple(found)


def _evidence_of(
    reworded: tuple[Neighbour, ...],
    command: Admit,
    policy: Policy,
    lookup: NeighbourLookup,
    outcome: CheckOutcome,
) -> Evidence:
    """The evidence of a newcomer that waits: forgotten texts first, and the question to the judge.

    The judge is asked once a person admits the newcomer, about the candidates that live then.
    """
    near = [*outcome.gray, *([outcome.choice.neighbour] if outcome.choice else ()), *reworded]
    return Evidence(
        policy=policy.hash,
        check=FORGOTTEN,
        neighbours=(*reworded, *lookup.evidence()),
        asked=lookup.gray(near, policy.judge.neighbours) if policy.judge.enabled else (),
        down=command.down,
        guard=lookup.guard,
    )


def _decided(
    command: Admit,
    decision: FirstDecision,
    content: Content,
    join: Join | None,
    evidence: Evidence,
    now: datetime,
) -> Decided:
    data = DecidedData(
        decision=decision,
        candidate=command.candidate,
        content=content,
        join=join,
        evidence=evidence,
        moment=happened(command.candidate.occurred_at, now),
    )
    return Decided(
        id=decision_id_of(command.candidate_id),
        subject=command.candidate_id,
        time=now,
        partitionkey=command.candidate.owner_id,
        data=data,
    )
