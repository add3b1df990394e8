"""What the judge is asked of a ledger: texts as they are compared, and who they stand for."""

from __future__ import annotations

from contracts.events import (
    AnyEvent,
    Composed,
    Erased,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
)
from contracts.policy import Policy
from contracts.questions import AskedNeighbour, AskedText, ComposeQuestion, SettleQuestion
from streams.core.faces import standing_text
from streams.core.ledger import Edge, Entry, Ledger

LOSING = (Reversed, Reinstated, Composed, Retracted, Restored, Erased)
"""Events that may take a composed text's source away, or give it back."""


def settle_question(ledger: Ledger, candidate_id: str, policy: Policy) -> SettleQuestion | None:
    """The question about a pending candidate; None where there is nothing to ask now.

    That is where it was settled meanwhile, is retracted, or has only neighbours that it was
    separated from since: no answer of a judge could join these.
    """
    entry = ledger.entries.get(candidate_id)
    if entry is None or not (entry.pending and entry.living):
        return None
    others = [ledger.entries[neighbour.candidate_id] for neighbour in entry.asked]
    asked = [_neighbour(o, policy) for o in others if not ledger.separated(entry.id, o.id)]
    if not asked:
        return None
    return SettleQuestion(
        owner_id=ledger.owner_id,
        policy=policy.hash,
        rules=policy.judge,
        decision_id=entry.asked_by,
        candidate=_own(entry),
        asked=tuple(asked),
    )


def compose_question(ledger: Ledger, decision_id: str, policy: Policy) -> ComposeQuestion | None:
    """The question for a join whose text lost a source; None where its memory needs none now."""
    edge = ledger.edges.get(decision_id)
    if edge is None or not _lost_its_text(edge):
        return None
    sources = _left(ledger, edge)
    if not sources:
        return None
    return ComposeQuestion(
        owner_id=ledger.owner_id,
        policy=policy.hash,
        rules=policy.judge,
        decision_id=edge.id,
        sources=tuple(_own(entry) for entry in sources),
    )


def composing(ledger: Ledger, event: AnyEvent) -> dict[str, bool]:
    """The joins whose composed text an event may have let go or brought back, by decision.

    True where the text lost a source and its memory needs another: the judge is to be asked.
    """
    memories = {entry.memory.id: entry.memory for entry in _concerned(ledger, event)}
    return {
        edge.id: _lost_its_text(edge)
        for memory in memories.values()
        for edge in memory.edges()
        if edge.texts
    } | _out(ledger, event)


def _concerned(ledger: Ledger, event: AnyEvent) -> list[Entry]:
    """Whose memories may have other sources now, for those events that take away or give back."""
    match event:
        case Reversed() | Reinstated() | Composed():
            edge = ledger.edges[event.data.decision_id]
            return [edge.newer, edge.older]
        case Retracted() | Restored():
            return [ledger.entries[event.data.candidate_id]]
        case Erased():
            return [ledger.entries[one] for one in event.data.candidate_ids]
        case _:
            return []


def _out(ledger: Ledger, event: AnyEvent) -> dict[str, bool]:
    """A join that is out has no text to be made."""
    if isinstance(event, Reversed) and ledger.edges[event.data.decision_id].texts:
        return {event.data.decision_id: False}
    return {}


def _lost_its_text(edge: Edge) -> bool:
    memory = edge.newer.memory
    if not (edge.standing and edge.texts and memory.face.needs_composition):
        return False
    return standing_text(edge, set(memory.members)) is None


def _left(ledger: Ledger, edge: Edge) -> list[Entry]:
    """The sources of a join's latest text that are living members still, oldest first."""
    entries = (ledger.entries[source] for source in edge.texts[-1].sources)
    memory = edge.newer.memory
    return [entry for entry in entries if entry.memory is memory and entry.living]


def _own(entry: Entry) -> AskedText:
    return AskedText(candidate_id=entry.id, text=entry.text, recorded_at=entry.decided_at)


def _neighbour(entry: Entry, policy: Policy) -> AskedNeighbour:
    """The neighbour as the policy compares it: its own text, or its memory's face."""
    face = entry.memory.face
    side = _own(entry)
    if policy.search == "memories":
        side = side.model_copy(update={"text": face.text})
    sources = face.composition.sources if face.composition else (face.speaker.id,)
    if sources == (entry.id,):
        return AskedNeighbour(side=side)
    members = {member.id: member for member in entry.memory.members}
    return AskedNeighbour(side=side, face=tuple(_own(members[source]) for source in sources))
