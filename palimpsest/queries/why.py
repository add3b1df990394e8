"""Why a candidate is in its memory, and why two candidates are not in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NotRequired, TypedDict

import numpy as np

from palimpsest.backends.reader import Reader
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    Joined,
    Redecided,
    Refused,
    Settled,
    Vector,
)
from palimpsest.contracts.evidence import Evidence, Neighbour, Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, TokenCheck
from palimpsest.projections.shown.memory import brought_by
from palimpsest.queries.as_of import folded
from palimpsest.queries.evidence import evidence_of
from palimpsest.queries.path import Step, path
from palimpsest.queries.show import owner_of
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.neighbour_lookup import reading_of
from palimpsest.streams.core.separations import separated_pair, separation
from palimpsest.streams.guard import tables_of, unlicensed
from palimpsest.streams.search.scope_index import Reach, vector_of

JOINING = ("same", "update", "compose")
"""A judge's answers that join two texts, so they cannot explain why two are apart."""


class Placed(TypedDict):
    """How a candidate came to its memory: its decision, and the path to the candidate it joined.

    If it joined none, `compared_with` is the nearest neighbour that was considered, if any.
    """

    candidate_id: str
    text: str
    decision: str
    decision_id: str
    decided_at: str
    joined_to: str | None
    compared_with: str | None
    other_text: str | None
    steps: list[Step]


class Explanation(TypedDict):
    """Why each candidate is in the memory that it is in."""

    memory_id: str
    owner_id: str
    namespace: str
    face: str
    candidates: list[Placed]


class Reason(TypedDict):
    """Why two candidates are not in one memory: `reason` is a word, `detail` a sentence.

    `score` fell short of `at_least` by `short_by`. `rank` is the older text's place among the texts
    of the scope on arrival, of which the policy looks at the first `top`; if the judge was not
    asked, `top` is the number of texts that it is asked about. `words` are the parts of the older
    and the newer text whose difference is not an edit that the guard licenses.
    """

    reason: str
    detail: str
    check: NotRequired[str]
    score: NotRequired[float]
    at_least: NotRequired[float]
    short_by: NotRequired[float]
    rank: NotRequired[int]
    top: NotRequired[int]
    cues: NotRequired[list[str]]
    words: NotRequired[tuple[str, ...]]
    event_id: NotRequired[str]
    at: NotRequired[str]
    by: NotRequired[str]
    actor: NotRequired[str | None]
    because: NotRequired[str | None]
    model: NotRequired[str | None]


class PairSide(TypedDict):
    """A candidate of a pair."""

    candidate_id: str
    memory_id: str
    owner_id: str
    text: str


class WhyNot(TypedDict):
    """Whether two candidates are in one memory, and if not, why: the decisive reason comes first.

    `steps` is the path of the decision on the newer one, as far as it concerns the older one.
    """

    older: PairSide
    newer: PairSide
    together: bool
    reasons: list[Reason]
    steps: list[Step]


def why(reader: Reader, some_id: str) -> Explanation:
    """The path of a candidate, or, by the id of a memory, of each of its members.

    Raises RefusedError for an unknown id.
    """
    ledger = reader.ledger(owner_of(reader, some_id))
    entry = ledger.entries[some_id]
    memory = entry.memory
    members = memory.members if memory.id == some_id else [entry]
    return {
        "memory_id": memory.id,
        "owner_id": ledger.owner_id,
        "namespace": memory.namespace,
        "face": memory.text,
        "candidates": [_placed(reader, ledger, member) for member in members],
    }


def _placed(reader: Reader, ledger: Ledger, entry: Entry) -> Placed:
    join = brought_by(entry)
    other = join.older if join else _nearest(reader, ledger, entry)
    decision_id = join.id if join else entry.decision_id
    return {
        "candidate_id": entry.id,
        "text": entry.text,
        "decision": join.decision if join else entry.decision,
        "decision_id": decision_id,
        "decided_at": (join.decided_at if join else entry.decided_at).isoformat(),
        "joined_to": join.older.id if join else None,
        "compared_with": other.id if other and not join else None,
        "other_text": other.text if other else None,
        "steps": path(reader, decision_id, entry, other, join) if other else [],
    }


def _nearest(reader: Reader, ledger: Ledger, entry: Entry) -> Entry | None:
    """The nearest neighbour that was considered when a candidate arrived."""
    evidence = evidence_of(reader, entry.decision_id)
    if evidence is None or not evidence.neighbours:
        return None
    nearest = max(evidence.neighbours, key=lambda one: max(one.cosine or 0.0, one.jaccard or 0.0))
    return ledger.entries[nearest.candidate_id]


# -- why not -------------------------------------------------------------------------------------


def why_not(reader: Reader, a: str, b: str) -> WhyNot:
    """Why two candidates are not in one memory; RefusedError for an unknown id."""
    sides = [reader.ledger(owner_of(reader, some_id)).entries[some_id] for some_id in (a, b)]
    older, newer = sorted(sides, key=lambda entry: (entry.decided_at, entry.place))
    answer: WhyNot = {
        "older": _side(older),
        "newer": _side(newer),
        "together": older.memory is newer.memory,
        "reasons": [],
        "steps": [],
    }
    of_one_owner = older.fields.owner_id == newer.fields.owner_id
    said = _latest_verdict(reader, older, newer) if of_one_owner else None
    if not answer["together"]:
        answer["reasons"] = [*_reasons(reader, older, newer, said)]
    if of_one_owner:
        verdict = said[1] if said else None
        answer["steps"] = path(reader, newer.decision_id, newer, older, None, verdict)
    return answer


def _side(entry: Entry) -> PairSide:
    return {
        "candidate_id": entry.id,
        "memory_id": entry.memory.id,
        "owner_id": entry.fields.owner_id,
        "text": entry.text,
    }


def _reasons(
    reader: Reader, older: Entry, newer: Entry, said: tuple[AnyEvent, Verdict] | None
) -> Iterator[Reason]:
    """What keeps two candidates in two memories, the decisive reason first."""
    if older.fields.owner_id != newer.fields.owner_id:
        yield {
            "reason": "owner",
            "detail": "they belong to two owners, whose texts are never joined",
        }
        return
    ledger = reader.ledger(newer.fields.owner_id)
    yield from _separated(reader, ledger, older, newer)
    if older.fields.namespace != newer.fields.namespace:
        names = f"these are in {older.fields.namespace} and {newer.fields.namespace}"
        detail = f"texts are compared only within one namespace: {names}"
        yield {"reason": "namespace", "detail": detail}
        return
    hidden = [name for name, entry in (("older", older), ("newer", newer)) if not entry.living]
    if hidden:
        which = f"the {hidden[0]} one is" if len(hidden) == 1 else "both are"
        yield {"reason": "hidden", "detail": f"{which} hidden"}
    if older.id in newer.open:
        yield {"reason": "waiting", "detail": "the judge has not answered about the two yet"}
    elif said is not None and said[1].answer not in JOINING:
        yield _kept_by_judge(*said)
    yield from _not_joined_on_arrival(reader, ledger, older, newer, asked=said is not None)


def _not_joined_on_arrival(
    reader: Reader, ledger: Ledger, older: Entry, newer: Entry, *, asked: bool
) -> Iterator[Reason]:
    """Why no rule joined the newer one when it arrived; `asked`: the judge answered about them."""
    evidence = evidence_of(reader, newer.decision_id)
    policy = reader.log.policies().get(evidence.policy) if evidence else None
    if evidence is None or policy is None:
        return
    if protected := _protected(policy, older, newer):
        yield protected
    elif not policy.active:
        yield {"reason": "no_check", "detail": f"the policy {policy.name} has no check that runs"}
    elif evidence.down:
        missing = " and ".join(evidence.down)
        detail = f"the newer one was not compared: on its arrival there was no {missing}"
        yield {"reason": "uncompared", "detail": detail}
    elif (seen := _seen(ledger, evidence.neighbours, older)) is None:
        yield from _unseen(reader, policy, older, newer)
    else:
        yield from _compared(policy, older, newer, seen, ledger.names)
        if not asked and older.id not in newer.open:
            yield from _unasked(policy, newer, seen, evidence)


def _separated(reader: Reader, ledger: Ledger, older: Entry, newer: Entry) -> Iterator[Reason]:
    """The statement that the two differ, or that members of their two memories do."""
    pair = (older, newer)
    stated = separation(ledger, older, newer)
    beside = None if stated else separated_pair(ledger, older.memory, newer.memory)
    if beside is not None:
        pair, stated = beside, separation(ledger, *beside)
    if stated is None:
        return
    of_request = reader.log.of_request(stated.event_id)
    recorded = reader.log.find(stated.event_id) or next(iter(of_request), None)
    event = recorded.event if recorded else None
    data = event.data if event else None
    what = "they were separated" if beside is None else "members of their memories were separated"
    yield {
        "reason": "separated" if beside is None else "separated_beside",
        "detail": f"{what}: {pair[0].id} and {pair[1].id}",
        "event_id": event.id if event else stated.event_id,
        "by": stated.rank,
        "at": event.time.isoformat() if event else "",
        "actor": getattr(data, "actor", None),
        "because": getattr(data, "because", None),
    }


def _latest_verdict(reader: Reader, older: Entry, newer: Entry) -> tuple[AnyEvent, Verdict] | None:
    """The judge's latest answer about the two, even if it could not be carried out."""
    ledger, latest = reader.ledger(newer.fields.owner_id), None
    for recorded in reader.events_about(ledger.owner_id, [newer.id]):
        for verdict in _verdicts_about(recorded.event, newer.id):
            if _same_text(ledger, verdict.neighbour_id, older):
                latest = recorded.event, verdict
    return latest


def _verdicts_about(event: AnyEvent, candidate_id: str) -> tuple[Verdict, ...]:
    match event:
        case Decided() | Settled() | Joined() | Redecided() if event.subject == candidate_id:
            return event.data.evidence.verdicts if event.data.evidence is not None else ()
        case Refused() if event.data.candidate_id == candidate_id:
            return event.data.verdicts
        case _:
            return ()


def _kept_by_judge(event: AnyEvent, verdict: Verdict) -> Reason:
    return {
        "reason": "judge",
        "detail": f"the judge answered: {verdict.answer}",
        "event_id": event.id,
        "at": event.time.isoformat(),
        "because": verdict.reasoning,
        "model": verdict.model,
    }


def _same_text(ledger: Ledger, candidate_id: str, older: Entry) -> bool:
    """Whether a candidate was compared in place of another that has the same text."""
    return ledger.entries[candidate_id].distinct is older.distinct


def _seen(ledger: Ledger, neighbours: tuple[Neighbour, ...], older: Entry) -> Neighbour | None:
    """The comparison with a candidate, or with another one of the same text."""
    found = (one for one in neighbours if _same_text(ledger, one.candidate_id, older))
    return next(found, None)


def _protected(policy: Policy, older: Entry, newer: Entry) -> Reason | None:
    """The protected category of either text; any living candidate with the text may have it."""
    for entry in (newer, older):
        same = (entry, *(one for one in entry.distinct.members if one.living))
        found = (one.fields.category for one in same)
        category = next((one for one in found if one in policy.protected_categories), None)
        if category is not None:
            detail = f"no rule joins the protected category {category}: only people may"
            return {"reason": "protected", "detail": detail}
    return None


def _unseen(reader: Reader, policy: Policy, older: Entry, newer: Entry) -> Iterator[Reason]:
    """Why a search did not find the older one: its score is too low, or others were nearer."""
    reach = Reach.of(policy, newer.fields.namespace)
    mine, other = newer.distinct.vector, older.distinct.vector
    if mine is None or other is None:
        yield {"reason": "unembedded", "detail": "one of the texts had no vector"}
        return
    score = cosine(mine, other)
    if score < reach.cosine:
        seen = Neighbour(candidate_id=older.id, cosine=score)
        names = reader.ledger(newer.fields.owner_id).names
        yield from _compared(policy, older, newer, seen, names)
        return
    arrival = reader.log.find(newer.decision_id)
    assert arrival is not None, "a candidate was decided on"
    with folded(reader, newer.fields.owner_id, arrival.position - 1) as then:
        vectors = [
            distinct.vector
            for distinct in then.scope(newer.fields.namespace).rows
            if distinct.vector is not None and distinct.representative is not None
        ]
    nearer = sum(cosine(mine, vector) > score for vector in vectors)
    yield {
        "reason": "not_retrieved",
        "detail": (
            f"with a cosine of {score:.4f} the older one was number {nearer + 1:,} of the texts"
            f" there, and the policy looks at {reach.cosine_top}"
        ),
        "score": round(score, 4),
        "rank": nearer + 1,
        "top": reach.cosine_top,
    }


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two recorded vectors."""
    return float(vector_of(one).astype(np.float32) @ vector_of(other).astype(np.float32))


def _below(check: str, score: float, at_least: float) -> Reason:
    short = at_least - score
    lacks = f"is {short:.4f} short of" if short else "does not exceed"
    return {
        "reason": "below",
        "detail": f"{check} {score:.4f} {lacks} the lowest threshold, {at_least:g}",
        "check": check,
        "score": round(score, 4),
        "at_least": at_least,
        "short_by": round(short, 4),
    }


def _compared(
    policy: Policy, older: Entry, newer: Entry, seen: Neighbour, names: tuple[str, ...]
) -> Iterator[Reason]:
    """Why no rule joined two with these scores: a threshold, the guard, or both."""
    tables = tables_of(policy.languages)
    one, other = (
        reading_of(entry.text, entry.distinct.vector, names, tables) for entry in (older, newer)
    )
    words = unlicensed(one, other)
    passes = words is None and not seen.cues
    for check in policy.active:
        match check:
            case TokenCheck() if seen.jaccard is not None and not check.is_reached(seen.jaccard):
                yield _below("tokens", seen.jaccard, check.threshold)
            case CosineCheck() if seen.cosine is not None:
                lowest = check.zones_of(newer.fields.namespace)[-1].at_least
                if passes and check.near_identical is not None:
                    lowest = min(lowest, check.near_identical)
                if seen.cosine < lowest:
                    yield _below("cosine", seen.cosine, lowest)
            case _:
                pass
    if not passes:
        yield _stopped([str(cue) for cue in seen.cues], words)


def _unasked(policy: Policy, newer: Entry, seen: Neighbour, evidence: Evidence) -> Iterator[Reason]:
    """Why the judge was not asked about a text whose cosine reaches a zone."""
    checks = (check for check in policy.active if isinstance(check, CosineCheck))
    zones = (check.zones_of(newer.fields.namespace) for check in checks)
    floor = next((found[-1].at_least for found in zones), None)
    if floor is None or (seen.cosine or 0.0) < floor:
        return
    if not policy.judge.enabled:
        detail = f"the policy {policy.name} asks no judge"
    elif seen.candidate_id in evidence.asked:
        detail = "the judge's answer about another text came first, so it gave none about this one"
    elif evidence.asked:
        detail = f"the judge was asked about other texts: {', '.join(evidence.asked)}"
    else:
        detail = "a rule joined another text, so the judge was not asked about this one"
    yield {"reason": "unasked", "detail": detail, "top": policy.judge.neighbours}


def _stopped(cues: list[str], words: tuple[str, str] | None) -> Reason:
    parts = [f"it shows {', '.join(cues)}"] if cues else []
    parts += ["no edit that it licenses leads from one text to the other"] if words else []
    detail = f"the guard stops it: {'; '.join(parts)}"
    reason: Reason = {"reason": "guard", "detail": detail, "cues": cues}
    return {**reason, "words": words} if words else reason
