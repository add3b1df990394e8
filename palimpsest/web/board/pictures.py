"""The contents of a pair's page: its words, its evidence, and what depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Decided, Joined, Redecided, Settled
from palimpsest.contracts.evidence import Cue, Evidence
from palimpsest.queries.evidence import explained
from palimpsest.streams.core.ledger import Entry, Memory
from palimpsest.streams.core.moment import moment
from palimpsest.streams.guard.places import CuePlace, cue_places
from palimpsest.web.board.answers import Sides
from palimpsest.web.board.waiting import WaitingPair
from palimpsest.web.board.word_diff import Piece, cue_kind, word_diff

FEW_EVENTS = 1_000
"""Up to this number of an owner's events, what depends on a join is computed at once."""
MOST_MEMBERS = 12
"""Maximum number of a memory's members shown beside a pair."""


@dataclass(frozen=True)
class PathStep:
    """A step of the evidence: what was measured, the thresholds, and the outcome."""

    name: str
    found: str
    thresholds: tuple[str, ...] = ()
    share: float | None = None
    marks: tuple[float, ...] = ()
    outcome: str = ""


def picture(store: Palimpsest, pair: WaitingPair, sides: Sides) -> dict[str, Any]:
    """Everything on the page of a pair, as its template names it."""
    texts = pair.older_text or sides.older.text, pair.newer_text or sides.newer.text
    old, new = word_diff(*texts, _cue_places(pair, sides, *texts))
    evidence = _evidence(store, pair, sides)
    few = sides.ledger.seen <= FEW_EVENTS
    return {
        "pair": pair,
        "version": sides.version,
        "older": _side(sides.older, old, own_text=pair.older_text is not None),
        "newer": _side(sides.newer, new, own_text=pair.newer_text is not None),
        "cues": [(cue, cue_kind(cue)) for cue in pair.cues],
        "memory": _memory(sides.older.memory),
        "together": sides.older.memory is sides.newer.memory,
        "steps": _steps(evidence, pair, sides),
        "hangs": hangs(store, pair) if few else None,
    }


def hangs(store: Palimpsest, pair: WaitingPair) -> dict[str, Any]:
    """The result of removing the join: its memories, and later decisions that depend on it.

    Nothing depends on a pair that is not joined yet.
    """
    nothing: dict[str, Any] = {"refused": None, "memories": [], "consequences": []}
    if not pair.is_joined:
        return nothing
    try:
        foreseen = store.unmerge(decision_id=pair.decision_id, by="person", dry_run=True)
    except RefusedError as refused:
        return {**nothing, "refused": refused.detail}
    return {
        **nothing,
        "memories": foreseen["memories"],
        "consequences": foreseen.get("consequences", []),
    }


def _cue_places(
    pair: WaitingPair, sides: Sides, older: str, newer: str
) -> tuple[list[CuePlace], list[CuePlace]]:
    vectors = (sides.older.distinct.vector, sides.newer.distinct.vector)
    old, new = (vector.unknown if vector is not None else () for vector in vectors)
    cues = [Cue(cue) for cue in pair.cues]
    return cue_places(older, newer, cues, unknown=(old, new))


def _side(entry: Entry, pieces: list[Piece], *, own_text: bool) -> dict[str, Any]:
    """A candidate and its compared words, with its own text if another's was compared."""
    return {
        "own_text": entry.text if own_text else None,
        "candidate_id": entry.id,
        "pieces": pieces,
        "moment": moment(entry),
        "decided_at": entry.decided_at,
        "source": entry.fields.source,
        "session": entry.fields.session_id,
    }


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "memory_id": memory.id,
        "face": memory.face.text,
        "size": len(memory.members),
        "members": [entry.text for entry in memory.members[:MOST_MEMBERS]],
    }


def _evidence(store: Palimpsest, pair: WaitingPair, sides: Sides) -> dict[str, Any] | None:
    """The evidence of the decision, with the neighbours that were considered on arrival."""
    found = evidence_of(store, pair.decision_id)
    arrival = evidence_of(store, sides.newer.decision_id)
    if found is None:
        found = arrival
    if found is None:
        return None
    if not found.neighbours and arrival is not None:
        found = structs.replace(found, neighbours=arrival.neighbours)
    return explained(found, sides.newer, store.reader.log.policies())


def evidence_of(store: Palimpsest, event_id: str) -> Evidence | None:
    """A decision's evidence; None if it recorded none."""
    recorded = store.reader.log.find(event_id)
    event = recorded.event if recorded else None
    if isinstance(event, Decided | Settled | Joined | Redecided):
        return event.data.evidence
    return None


def _steps(evidence: dict[str, Any] | None, pair: WaitingPair, sides: Sides) -> list[PathStep]:
    """The checks in order, as far as anything was measured."""
    steps = [_exact(pair, sides)]
    if evidence is None:
        return steps
    seen = _looked_at(evidence, sides.older.id)
    session = sides.newer.fields.session_id
    of_one = session is not None and session == sides.older.fields.session_id
    cosine = (*(("session",) if of_one else ()), *_by_cosine(seen))
    steps += [
        _words_in_common(seen, evidence["thresholds"]),
        _measured("Cosine", seen.get("cosine"), evidence["thresholds"], cosine),
        *_windows(seen, evidence["thresholds"], cosine),
        _guard(seen),
        *_verdicts(evidence, sides.older.id),
    ]
    return steps


def _exact(pair: WaitingPair, sides: Sides) -> PathStep:
    join = sides.ledger.edges.get(pair.decision_id)
    if join is not None and join.differs:
        found = f"equal but for {', '.join(map(_plain, join.differs))}"
        return PathStep("Exact", found, ("equal, folded",), outcome="a match")
    same = sides.newer.distinct is sides.older.distinct or (join is not None and join.exact)
    found, outcome = ("equal texts", "a match") if same else ("different texts", "no match")
    return PathStep("Exact", found, ("equal texts",), outcome=outcome)


def _looked_at(evidence: dict[str, Any], candidate_id: str) -> dict[str, Any]:
    seen = (
        neighbour
        for neighbour in evidence["neighbours"]
        if neighbour["candidate_id"] == candidate_id
    )
    return next(seen, {})


def _by_cosine(seen: dict[str, Any]) -> tuple[str, ...]:
    """The thresholds of a cosine; the lowest applies to pairs that the guard accepts."""
    accepted = seen.get("near_identical") and not seen.get("cues")
    return ("cosine", "near_identical") if accepted else ("cosine",)


def _measured(
    name: str, score: float | None, thresholds: list[dict[str, Any]], checks: tuple[str, ...]
) -> PathStep:
    mine = [threshold for threshold in thresholds if threshold["check"] in checks]
    found = tuple(
        f"{threshold['at_least']:g} and more: {_plain(threshold['then'])}" for threshold in mine
    )
    marks = tuple(threshold["at_least"] for threshold in mine)
    if score is None:
        return PathStep(name, "not measured", found, None, marks)
    reached = next((threshold for threshold in mine if score >= threshold["at_least"]), None)
    outcome = _plain(reached["then"]) if reached else ("below" if mine else "")
    return PathStep(name, f"{score:.4f}", found, max(0.0, min(score, 1.0)), marks, outcome)


def _windows(
    seen: dict[str, Any], thresholds: list[dict[str, Any]], checks: tuple[str, ...]
) -> Iterator[PathStep]:
    """For texts beyond the model's input: the least similar window."""
    if seen.get("covered") is not None:
        yield _measured("Windows", seen["covered"], thresholds, checks)


def _words_in_common(seen: dict[str, Any], thresholds: list[dict[str, Any]]) -> PathStep:
    """Jaccard: for a considered neighbour, it is recorded only from the threshold up."""
    step = _measured("Jaccard", seen.get("jaccard"), thresholds, ("tokens",))
    if not seen or step.share is not None or not step.marks:
        return step
    return replace(step, found=f"less than {min(step.marks):g}", outcome="below")


def _guard(seen: dict[str, Any]) -> PathStep:
    near, cues = seen.get("near_identical"), seen.get("cues") or ()
    if near is None and not cues:
        return PathStep("Guard", "not asked", ("near-identical, and no cue",))
    order = "near-identical in order" if near else "not near-identical in order"
    no_cue = ["no cue"] if near else []  # below the zones, cues are sought only if near
    found = "; ".join([order, *([", ".join(map(_plain, cues))] if cues else no_cue)])
    outcome = "passes" if near and not cues else "stops it"
    return PathStep("Guard", found, ("near-identical, and no cue",), outcome=outcome)


def _verdicts(evidence: dict[str, Any], candidate_id: str) -> list[PathStep]:
    found = [verdict for verdict in evidence["verdicts"] if verdict["neighbour_id"] == candidate_id]
    if not found:
        return [PathStep("Verdict", "nobody was asked" if not evidence["asked"] else "none yet")]
    return [
        PathStep(
            "Verdict",
            verdict.get("reasoning") or "no reasoning",
            (verdict.get("model") or "no model named",),
            outcome=_plain(verdict["answer"]),
        )
        for verdict in found
    ]


def _plain(name: object) -> str:
    return str(name).replace("_", " ")
