"""Verdicts about a pending candidate become its settlement (design sections 3 and 4)."""

from __future__ import annotations

from datetime import datetime

from contracts.commands import Settle
from contracts.events import (
    AnyEvent,
    Composition,
    FaceRule,
    Join,
    Refused,
    RefusedData,
    Settled,
    SettledData,
    Settlement,
)
from contracts.evidence import Evidence, Verdict
from contracts.policy import Fallback, Policy
from streams.core.envelope import head
from streams.core.graph import separated_pair
from streams.core.ledger import Entry, Ledger
from streams.core.refusal import Refusal, unknown_candidate

_FALLBACKS: dict[Fallback, tuple[Settlement, FaceRule | None]] = {
    "keep": ("fallback_keep", None),
    "reject": ("fallback_reject", "keep"),
    "supersede": ("fallback_supersede", "take"),
}


def settle(command: Settle, ledger: Ledger, policy: Policy, now: datetime) -> list[AnyEvent]:
    """One `settled` event, or a `refused` one that keeps the verdicts for later."""
    entry = ledger.entries.get(command.candidate_id)
    if entry is None:
        return [refuse_verdicts(command, unknown_candidate(command.candidate_id), now)]
    if not entry.pending:
        refusal = Refusal("not_pending", f"candidate {entry.id} is settled already")
        return [refuse_verdicts(command, refusal, now)]
    decision, face, verdict = _meaning(command, policy)
    if face is None or verdict is None:
        return [_settled(command, policy, entry, decision, None, now)]
    other = ledger.entries.get(verdict.neighbour_id)
    if other is None:
        return [refuse_verdicts(command, unknown_candidate(verdict.neighbour_id), now)]
    refusal_or_none = obstacle(ledger, entry, other)
    if refusal_or_none is not None:
        return [refuse_verdicts(command, refusal_or_none, now)]
    if face == "text" and not composition_fits(ledger, command.composition, entry, other):
        return [_settled(command, policy, entry, "llm_keep", None, now)]
    join = Join(to=other.id, face=face, similarity=_similarity(entry, other))
    return [_settled(command, policy, entry, decision, join, now)]


def _meaning(command: Settle, policy: Policy) -> tuple[Settlement, FaceRule | None, Verdict | None]:
    """The settlement, who wins the face, and the verdict that joins (design section 6).

    The judge asks best neighbour first, so the first joining answer is the best one.
    """
    for verdict in command.verdicts:
        match verdict.answer:
            case "same":
                return "llm_reject", "keep", verdict
            case "update":
                return "superseded", "take", verdict
            case "compose":
                return "llm_merge", "text", verdict
            case "unavailable":
                decision, face = _FALLBACKS[policy.judge.unavailable]
                return decision, face, verdict
            case "different" | "unusable":
                continue
    return "llm_keep", None, None


def obstacle(ledger: Ledger, entry: Entry, other: Entry) -> Refusal | None:
    """Why an automatic event may not join two existing candidates, if it may not."""
    if not (entry.living and other.living):
        return Refusal("not_living", "one of the pair is retracted")
    if entry.fields.namespace != other.fields.namespace:
        return Refusal("two_namespaces", "the pair is in two namespaces")
    if entry.memory is other.memory:
        return Refusal("one_memory", "the pair is one memory already")
    pair = separated_pair(ledger, entry.memory, other.memory)
    if pair is not None:
        return Refusal("separated", f"candidates {pair[0].id} and {pair[1].id} are separated")
    return None


def composition_fits(
    ledger: Ledger, composition: Composition | None, entry: Entry, other: Entry
) -> bool:
    """Whether a composed text may stand: made from living members, the text of no other memory."""
    if composition is None or not composition.content.text.strip():
        return False
    memories = (entry.memory, other.memory)
    for source in composition.sources:
        member = ledger.entries.get(source)
        if member is None or not member.living or member.memory not in memories:
            return False
    same = ledger.distinct(entry.fields.namespace, composition.content.hash)
    return same is None or same.target is None or same.target.memory in memories


def _similarity(entry: Entry, other: Entry) -> float | None:
    for neighbour in entry.asked:
        if neighbour.candidate_id == other.id:
            return neighbour.cosine if neighbour.cosine is not None else neighbour.jaccard
    return None


def _settled(
    command: Settle,
    policy: Policy,
    entry: Entry,
    decision: Settlement,
    join: Join | None,
    now: datetime,
) -> Settled:
    data = SettledData(
        decision=decision,
        candidate_id=entry.id,
        join=join,
        composition=command.composition if join and join.face == "text" else None,
        evidence=Evidence(policy=policy.hash, check="judge", verdicts=command.verdicts),
        rank=command.rank,
        actor=command.actor,
        because=command.because,
    )
    return Settled(**head(command, entry.id, now), data=data)


def refuse_verdicts(command: Settle, refusal: Refusal, now: datetime) -> Refused:
    """A refusal that carries the verdicts, so that they can settle the candidate later."""
    data = RefusedData(
        command="settle",
        reason=refusal.reason,
        detail=refusal.detail,
        candidate_id=command.candidate_id,
        verdicts=command.verdicts,
        composition=command.composition,
        actor=command.actor,
    )
    return Refused(**head(command, command.command_id, now), data=data)
