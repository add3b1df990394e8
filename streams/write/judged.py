"""What verdicts and batch runs ask for, carried out at a desk; composed texts are embedded here."""

from __future__ import annotations

from palimpsest.contracts.commands import Combine, Compose, Settle
from palimpsest.contracts.events import Composition
from palimpsest.contracts.requests import CombineRequest, ComposeRequest, SettleRequest
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.write.addressing import (
    memories,
    owner_of_candidate,
    owner_of_decision,
    run_or_refuse,
    words_of,
)
from palimpsest.streams.write.desk import Answer, Desk


def combined(desk: Desk, request: CombineRequest) -> Answer:
    """Carry out one join of a batch run."""
    owner_id = owner_of_candidate(desk, request.a)
    text = None
    if request.face == "text" and request.composed is not None:
        text = Composition(content=desk.content(request.composed), sources=request.sources)
    command = Combine(
        **words_of(request, owner_id, "pair"),
        a=request.a,
        b=request.b,
        decision=request.decision,
        face=request.face,
        composition=text,
        evidence=request.evidence,
        rank=request.rank,
    )
    events = run_or_refuse(desk, command)
    entry = desk.ledger(owner_id).entries[request.a]
    return {"decision_id": events[0].id if events else None, "memories": memories([entry])}


def judged(desk: Desk, request: SettleRequest | ComposeRequest) -> Answer:
    """Carry out what verdicts ask for: a settlement, or a text made anew."""
    if isinstance(request, ComposeRequest):
        owner_id = owner_of_decision(desk, request.decision_id)
        text = Composition(content=desk.content(request.text), sources=request.sources)
        said = words_of(request, owner_id, request.decision_id)
        command = Compose(
            **said,
            decision_id=request.decision_id,
            composition=text,
            verdicts=request.verdicts,
        )
        run_or_refuse(desk, command)
        edge = desk.ledger(owner_id).edges[request.decision_id]
        return {"memories": memories([edge.newer])}
    owner_id = owner_of_candidate(desk, request.candidate_id)
    said = words_of(request, owner_id, request.candidate_id)
    ledger = desk.ledger(owner_id)
    settle = Settle(
        **said,
        candidate_id=request.candidate_id,
        verdicts=request.verdicts,
        composition=_composition(desk, ledger, request),
    )
    events = run_or_refuse(desk, settle)
    entry = desk.ledger(owner_id).entries[request.candidate_id]
    return {"decision_id": events[0].id if events else None, "memories": memories([entry])}


def _composition(desk: Desk, ledger: Ledger, request: SettleRequest) -> Composition | None:
    """The composed text with its sources: those that it was made of, as far as that was said."""
    joins = (v.neighbour_id for v in request.verdicts if v.answer == "compose")
    other = ledger.entries.get(next(joins, ""))
    if request.composed is None or not request.composed.strip() or other is None:
        return None
    face = other.memory.face
    sources = face.composition.sources if face.composition else (face.speaker.id,)
    return Composition(
        content=desk.content(request.composed),
        sources=request.sources or (*sources, request.candidate_id),
    )
