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
from contracts.evidence import Evidence, Neighbour, Verdict
from contracts.policy import CosineCheck, Fallback, Policy
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
    refusal = hindrance(command, ledger, policy)
    if refusal is not None:
        return [refuse_verdicts(command, refusal, now)]
    entry = ledger.entries[command.candidate_id]
    decision, face, verdict = _meaning(command, policy, entry)
    if face is None or verdict is None:
        return [_settled(command, policy, entry, decision, None, now)]
    if face == "text" and not _can_be_kept(ledger, command.composition, entry):
        return [_settled(command, policy, entry, "llm_keep", None, now)]
    other = ledger.entries[verdict.neighbour_id]
    join = Join(to=other.id, face=face, similarity=_similarity(entry, other))
    return [_settled(command, policy, entry, decision, join, now)]


def hindrance(command: Settle, ledger: Ledger, policy: Policy) -> Refusal | None:
    """Why these verdicts cannot settle their candidate now, if they cannot."""
    entry = ledger.entries.get(command.candidate_id)
    if entry is None:
        return unknown_candidate(command.candidate_id)
    if not entry.pending:
        return Refusal("not_pending", f"candidate {entry.id} is settled already")
    asked = {neighbour.candidate_id for neighbour in entry.asked}
    strange = [v.neighbour_id for v in command.verdicts if v.neighbour_id not in asked]
    if strange:
        return Refusal("not_asked", f"nobody asked about {entry.id} and {strange[0]}")
    _, face, verdict = _meaning(command, policy, entry)
    if face is None or verdict is None:
        return None
    other = ledger.entries[verdict.neighbour_id]
    return obstacle(ledger, entry, other) or _contradiction(command, ledger, other)


def _contradiction(command: Settle, ledger: Ledger, other: Entry) -> Refusal | None:
    """The candidate is said to differ from a member of the very memory that it would join (L9)."""
    for verdict in command.verdicts:
        if verdict.answer == "different":
            apart = ledger.entries[verdict.neighbour_id]
            if apart.memory is other.memory:
                return Refusal("separated", f"it differs from {apart.id}, {other.id}'s memory")
    return None


def _meaning(
    command: Settle, policy: Policy, entry: Entry
) -> tuple[Settlement, FaceRule | None, Verdict | None]:
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
                decision, face = _FALLBACKS[_fallback(policy, entry, verdict)]
                return decision, face, verdict
            case "different" | "unusable":
                continue
    return "llm_keep", None, None


def _fallback(policy: Policy, entry: Entry, verdict: Verdict) -> Fallback:
    """What the policy says; but under every policy a pair that shows a cue is kept.

    So is one that the guard did not see, as no cue was looked for, and one in a zone where the
    guard has a say: it was asked about because the guard stopped it.
    """
    asked = next(n for n in entry.asked if n.candidate_id == verdict.neighbour_id)
    unseen = asked.near_identical is None
    if asked.cues or unseen or _guarded(policy, entry.fields.namespace, asked):
        return "keep"
    return policy.judge.unavailable


def _guarded(policy: Policy, namespace: str, asked: Neighbour) -> bool:
    for check in policy.checks:
        if isinstance(check, CosineCheck) and asked.cosine is not None:
            zones = check.zones_of(namespace)
            zone = next((zone for zone in zones if asked.cosine >= zone.at_least), None)
            return zone is not None and zone.guard
    return False


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


def usable(ledger: Ledger, composition: Composition | None, namespace: str) -> bool:
    """Whether a composed text may be recorded: of known sources, and nobody else's text.

    It does not ask which memories there are now, or un-merging late would differ from un-merging
    at once (L2): a text whose sources are not together is recorded, and does not stand.
    """
    if composition is None or not composition.content.text.strip():
        return False
    sources = [ledger.entries.get(source) for source in composition.sources]
    if not sources or any(e is None or e.fields.namespace != namespace for e in sources):
        return False
    same = ledger.distinct(namespace, composition.content.hash)
    if same is None:
        return True
    return any(e in sources for e in same.members) if same.members else same.alias in sources


def _can_be_kept(ledger: Ledger, composition: Composition | None, entry: Entry) -> bool:
    usable_text = usable(ledger, composition, entry.fields.namespace)
    return usable_text and composition is not None and entry.id in composition.sources


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
        # A text that cannot stand here might in the history without some join (design section 9).
        composition=command.composition if join is None or join.face == "text" else None,
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
        rank=command.rank,
        actor=command.actor,
        because=command.because,
    )
    return Refused(**head(command, command.command_id, now), data=data)
