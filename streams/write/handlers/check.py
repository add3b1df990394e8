"""What the writer would decide on a candidate now; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from palimpsest.contracts.answers import Checked, Compared
from palimpsest.contracts.events import AnyEvent, Decided, Join, Settled
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import CheckRequest
from palimpsest.streams.core.admit import FORGOTTEN
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.version import version_of
from palimpsest.streams.write.inputs import ENDED, WITHHELD, Outcome, similar_facts
from palimpsest.streams.write.writer import Writer


def check(writer: Writer, request: CheckRequest) -> Checked:
    """Find out what would be decided on a candidate."""
    begun = time.perf_counter()
    found = writer.foresee(request)
    milliseconds = round((time.perf_counter() - begun) * 1000, 3)
    if isinstance(found, Outcome):
        answer = undecided(found, writer.policy)
    else:
        answer = undecided(Outcome("decided"), writer.policy)
        _decided(answer, found, writer.ledger(request.owner_id))
    return {**answer, "duration_ms": milliseconds}


def undecided(found: Outcome, policy: Policy) -> Checked:
    """The answer about a known or invalid row; for any other, an answer yet to be filled."""
    assert found.result in ("decided", "known", "invalid")
    return Checked(
        result=found.result,
        decision=found.decision or "",
        check=None,
        similarity=None,
        neighbour=None,
        neighbours=[],
        asked=[],
        similar_facts=None,
        policy=policy.hash,
        candidate_id=found.candidate_id,
        memory_id=found.memory_id,
        reason=found.reason,
        detail=found.detail,
        duration_ms=0.0,
    )


def _decided(answer: Checked, events: list[AnyEvent], ledger: Ledger) -> None:
    """Fill in a decision, and the settlement that follows at once if no judge is asked."""
    first, last = events[0], events[-1]
    assert isinstance(first, Decided)
    assert isinstance(last, Decided | Settled)
    evidence, join = first.data.evidence, last.data.join
    seen = evidence.neighbours
    if join is not None and join.face == "repeat":
        seen = (Neighbour(candidate_id=join.to, cosine=join.similarity),)
    answer["decision"] = last.data.decision
    answer["check"] = evidence.check
    answer["asked"] = [*evidence.asked]
    answer["similar_facts"] = similar_facts(evidence, ledger.entries)
    answer["neighbours"] = [_compared(neighbour, ledger) for neighbour in seen]
    if evidence.check == FORGOTTEN:  # the text that keeps it waiting comes first
        chosen: str | None = seen[0].candidate_id
    else:
        chosen = join.to if join else next(iter(evidence.asked), None)
    for neighbour in answer["neighbours"]:
        if neighbour["candidate_id"] == chosen:
            answer["neighbour"] = neighbour
            answer["similarity"] = neighbour["cosine"]
    if join is not None:
        answer["similarity"] = join.similarity
        answer["memory_id"] = ledger.entries[join.to].memory.id
    hidden = _why_hidden(first, join)
    answer["reason"], answer["detail"] = hidden.get("reason"), hidden.get("detail")


def _why_hidden(event: Decided, join: Join | None) -> Mapping[str, Any]:
    """Why the candidate would not be recalled; a memory that it joins has not expired."""
    if event.data.evidence.check == FORGOTTEN:
        return WITHHELD
    ends = event.data.expires_at
    return ENDED if join is None and ends is not None and ends <= event.time else {}


def _compared(seen: Neighbour, ledger: Ledger) -> Compared:
    entry = ledger.entries[seen.candidate_id]
    return Compared(
        candidate_id=entry.id,
        memory_id=entry.memory.id,
        version=version_of(entry.memory),
        text=entry.text,
        face=entry.memory.text,
        cosine=seen.cosine,
        jaccard=seen.jaccard,
        near_identical=seen.near_identical,
        cues=[str(cue) for cue in seen.cues],
        covered=seen.covered,
    )
