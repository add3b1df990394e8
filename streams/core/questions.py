"""Questions to the judge from a ledger: texts as compared, and the candidates they stand for."""

from __future__ import annotations

from collections.abc import Iterable

from palimpsest.contracts.policy import Policy, required_version
from palimpsest.contracts.questions import (
    AskedNeighbour,
    AskedText,
    ComposeQuestion,
    SettleQuestion,
)
from palimpsest.streams.core.graph import latest_wording
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.local_only import face_is_local, is_local
from palimpsest.streams.core.moment import by_moment, face_moment, moment


def settle_question(ledger: Ledger, candidate_id: str, policy: Policy) -> SettleQuestion | None:
    """The question about a pending candidate; None if there is nothing to ask now.

    It is about the unanswered neighbours: the judge has answered about the others, or no answer
    could join them.
    """
    entry = ledger.entries.get(candidate_id)
    if entry is None or not entry.open:
        return None
    asked = tuple(
        _neighbour(ledger, ledger.entries[candidate_id], policy) for candidate_id in entry.open
    )
    return SettleQuestion(
        owner_id=ledger.owner_id,
        policy=policy.hash,
        rules=policy.judge,
        requires=required_version(policy.judge),
        decision_id=entry.asked_by,
        candidate=_own(ledger, entry, policy),
        asked=asked,
    )


def compose_question(ledger: Ledger, decision_id: str, policy: Policy) -> ComposeQuestion | None:
    """The question for a join whose text lost a source; None if its memory needs no text now."""
    lost = ledger.composing.get(decision_id)
    if lost is None:
        return None
    return ComposeQuestion(
        owner_id=ledger.owner_id,
        policy=policy.hash,
        rules=policy.judge,
        requires=required_version(policy.judge),
        decision_id=decision_id,
        lost_by=lost.event_id,
        sources=_oldest_first(ledger, (ledger.entries[source] for source in lost.sources), policy),
    )


def _own(ledger: Ledger, entry: Entry, policy: Policy) -> AskedText:
    return AskedText(
        candidate_id=entry.id,
        text=entry.text,
        recorded_at=moment(entry),
        local=is_local(ledger, entry, policy),
    )


def _oldest_first(
    ledger: Ledger, sources: Iterable[Entry], policy: Policy
) -> tuple[AskedText, ...]:
    return tuple(_own(ledger, source, policy) for source in sorted(sources, key=by_moment))


def _neighbour(ledger: Ledger, entry: Entry, policy: Policy) -> AskedNeighbour:
    """The neighbour as the policy compares it: its own text, or its memory's face.

    If an update displaced that text, the judge is asked about the current one.
    """
    face = entry.memory.face
    now = latest_wording(entry)
    side = _own(ledger, now, policy).model_copy(update={"candidate_id": entry.id})
    speaker = now.id
    if policy.search == "memories":
        speaker = face.voice
        said = {"text": face.text, "recorded_at": face_moment(entry.memory)}
        side = side.model_copy(update=said | {"local": face_is_local(ledger, face, policy)})
    if face.sources == (entry.id,):
        return AskedNeighbour(side=side, speaker=speaker)
    members = {member.id: member for member in entry.memory.members}
    sources = _oldest_first(ledger, (members[source] for source in face.sources), policy)
    return AskedNeighbour(side=side, face=sources, speaker=speaker)
