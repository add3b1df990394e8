"""What each table and view has to say, from the oracle's reading of the log (docs/analysts.md)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from tests.projections import oracle_questions
from tests.projections.oracle import (
    DECISIONS,
    Candidate,
    Event,
    Oracle,
    Question,
    Row,
    Tables,
    moment,
    numbers,
    search_form,
    sha256,
)

NOT_IN_LANCEDB = frozenset({"contradicts", "confidence", "importance", "expires_at"})
"""Columns of memories that DuckDB alone has."""


def tables(lines: Iterable[tuple[int, bytes]]) -> Tables:
    """The rows of every view by its name, and of LanceDB's tables as `lancedb NAME`; unordered."""
    said = Oracle(lines)
    decisions = _decisions(said)
    compared = _dedup_log(said, decisions)
    candidates = _candidates(said)
    memories = list(_memories(said))
    verdicts = _verdicts(said)
    return {
        "log_position": [{"position": said.events[-1].position if said.events else 0}],
        "candidates": candidates,
        "memories": [{k: v for k, v in row.items() if k != "vector"} for row in memories],
        "compositions": _compositions(said),
        "policies": _policies(said),
        "judges": _judges(said),
        "runs": _runs(said),
        "verdicts": verdicts,
        "decisions": decisions,
        "joins": [row for row in decisions if row["joined_to"] is not None],
        "events": _events(said, decisions),
        "separations": _separations(said),
        "dedup_log": compared,
        "review_queue": [
            *_waiting(said),
            *_withheld(said, decisions),
            *_to_review(said, decisions, memories),
        ],
        "daily": _daily(decisions),
        "policy_outcomes": _policy_outcomes(decisions),
        "removal_rate": _removal_rate(candidates),
        "judge_cost": _judge_cost(verdicts),
        "sent_out": _sent_out(verdicts),
        "lancedb memories": [
            {k: v for k, v in m.items() if k not in NOT_IN_LANCEDB} for m in memories
        ],
        "lancedb candidates": _distinct(said),
    }


def _candidates(said: Oracle) -> list[Row]:
    return [
        {
            "candidate_id": candidate.id,
            "memory_id": owner.memory_of[candidate.id],
            "owner_id": candidate.fields["owner_id"],
            "namespace": candidate.namespace,
            "text": candidate.text,
            "source": candidate.fields["source"],
            "producer_id": candidate.fields["id"],
            "session_id": candidate.fields.get("session_id"),
            "category": candidate.fields.get("category"),
            "kind": candidate.fields.get("kind", "fact"),
            "confidence": candidate.fields.get("confidence"),
            "importance": candidate.fields.get("importance"),
            "intensity": candidate.fields.get("intensity"),
            "topics": candidate.fields.get("topics", []),
            "metadata": candidate.fields.get("metadata") or None,
            "occurred_at": moment(candidate.fields.get("occurred_at")),
            "decided_at": candidate.at,
            "decision_id": candidate.event_id,
            "decision": candidate.data["decision"],
            "hash": sha256(search_form(candidate.text)),
            "verbatim": sha256(candidate.verbatim),
            "living": candidate.living,
            "pending": candidate.pending,
            "waits_for": candidate.waits_for,
            "held": candidate.held,
            "expires_at": candidate.expires_at,
            "position": candidate.position,
        }
        for owner in said.owners.values()
        for candidate in owner.candidates.values()
    ]


def _memories(said: Oracle) -> Iterable[Row]:
    for owner in said.owners.values():
        for memory_id in dict.fromkeys(owner.memory_of.values()):
            members = owner.members(memory_id)
            living = [member for member in members if member.living]
            if not living:
                continue
            face = owner.face(memory_id)
            position, updated = owner.updated[memory_id]
            times = [moment(one.fields.get("occurred_at")) for one in living]
            content = face.composition["content"].get("vector") if face.composition else None
            yield {
                "memory_id": memory_id,
                "owner_id": members[0].fields["owner_id"],
                "namespace": members[0].namespace,
                "face": face.text,
                "face_of": face.speaker.id,
                "composed": face.composition is not None,
                "members": len(living),
                "topics": list(
                    dict.fromkeys(t for one in living for t in one.fields.get("topics", []))
                ),
                "status": "pending" if all(one.pending for one in living) else "living",
                "needs_composition": face.needs_composition,
                "contradicts": list(face.contradicts),
                "accesses": sum(member.accesses for member in members),
                "last_accessed": _latest(member.accessed for member in members),
                "created_at": members[0].at,
                "updated_at": updated,
                "occurred_at": _latest(times),
                "expires_at": None
                if any(one.expires_at is None for one in living)
                else _latest(one.expires_at for one in living),
                "intensity": _most(one.fields.get("intensity") for one in living),
                "confidence": _most(one.fields.get("confidence") for one in living),
                "importance": _most(one.fields.get("importance") for one in living),
                "metadata": max(living, key=lambda one: one.happened).fields.get("metadata")
                or None,
                "position": position,
                "vector": numbers(content if face.composition else owner.text_vector(face.speaker)),
            }


def _latest(times: Iterable[datetime | None]) -> datetime | None:
    return max((one for one in times if one is not None), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _distinct(said: Oracle) -> list[Row]:
    """A row for each text of a scope that a living candidate has: the earliest stands for it.

    Another one if it was said anew after all who had said it had expired.
    """
    rows = []
    for owner in said.owners.values():
        where = owner.memory_of
        same: dict[tuple[str, str, int], list[Candidate]] = defaultdict(list)
        for candidate in owner.candidates.values():
            same[candidate.namespace, candidate.verbatim, candidate.anew].append(candidate)
        for equal in same.values():
            stands = next((one for one in equal if one.living), None)
            if stands is not None:
                rows.append(
                    {
                        "distinct_id": equal[0].id,
                        "candidate_id": stands.id,
                        "owner_id": stands.fields["owner_id"],
                        "namespace": stands.namespace,
                        "text": stands.text,
                        "memory_id": where[stands.id],
                        "session_id": stands.fields.get("session_id"),
                        "vector": numbers(owner.text_vector(stands)),
                    }
                )
    return rows


def _compositions(said: Oracle) -> list[Row]:
    return [
        {
            "position": event.position,
            "event_id": event.id,
            "decision_id": event.data["decision_id"] if event.name == "composed" else event.id,
            "owner_id": event.owner,
            "text": event.data["composition"]["content"]["text"],
            "sources": event.data["composition"]["sources"],
            "composed_at": event.at,
        }
        for event in said.events
        if event.name != "refused" and event.data.get("composition") is not None
    ]


def _runs(said: Oracle) -> list[Row]:
    figures = ("memories_before", "memories_after", "removed_count", "removal_rate", "duration_ms")
    return [
        {
            "position": event.position,
            "event_id": event.id,
            "owner_id": event.owner,
            "step": event.data["step"],
            "due": moment(event.data["due"]),
            "ran_at": event.at,
            "policy": event.data["policy"],
            "session_id": event.data.get("session_id"),
            "actor": event.data.get("actor"),
            "because": event.data.get("because"),
            **{name: event.data["figures"].get(name) for name in figures},
            "figures": event.data["figures"],
        }
        for event in said.events
        if event.name == "ran"
    ]


def _policies(said: Oracle) -> list[Row]:
    return [
        {
            "position": event.position,
            "policy": event.data["hash"],
            "name": event.data["policy"].get("name"),
            "rules": event.data["policy"],
            "actor": event.data.get("actor"),
            "set_at": event.at,
            "search": event.data["policy"].get("search"),
        }
        for event in said.events
        if event.name == "policy_set"
    ]


def _judges(said: Oracle) -> list[Row]:
    """A row for each judge, from its last event; `set_at` has the times of all."""
    rows: dict[str, Row] = {}
    for event in said.events:
        if event.name != "judge_set":
            continue
        judge = event.data["judge"]
        first = judge.get("first") or {}
        before = rows.get(event.data["hash"], {}).get("set_at", [])
        rows[event.data["hash"]] = {
            "judge": event.data["hash"],
            "set_at": [*before, event.at],
            "protocol": judge["protocol"],
            "platform": judge.get("platform"),
            "model": judge["model"],
            "review_model": judge.get("review_model"),
            "address": judge.get("address"),
            "first_protocol": first.get("protocol"),
            "first_platform": first.get("platform"),
            "first_model": first.get("model"),
            "first_address": first.get("address"),
            "certificate": first.get("certificate"),
            "same_from": first.get("same"),
            "different_below": first.get("different"),
            "position": event.position,
        }
    return [*rows.values()]


VERDICT = ("neighbour_id", "answer", "reasoning", "model", "prompt", "input_tokens",
           "output_tokens", "cost_usd", "seconds", "calls", "probability", "certificate",
           "protocol", "remote", "judge")  # fmt: skip


def _verdicts(said: Oracle) -> list[Row]:
    return [
        {
            "position": event.position,
            "ordinal": ordinal,
            "event_id": event.id,
            "owner_id": event.owner,
            "candidate_id": event.data.get("candidate_id"),
            "answered_at": event.at,
            "step": step,
            **{name: verdict.get(name) for name in VERDICT},
        }
        for event in said.events
        for ordinal, (step, verdict) in enumerate(_answers_by_step(event.verdicts))
    ]


def _answers_by_step(verdicts: Sequence[Row]) -> list[tuple[str | None, Row]]:
    found: list[tuple[str | None, Row]] = []
    for verdict in verdicts:
        step = "first" if verdict.get("certificate") else None
        if verdict.get("first"):
            found.append(("first", _of_first(verdict)))
            step = "second"
        found.append((step, verdict))
    return found


def _of_first(verdict: Row) -> Row:
    return {**verdict["first"], **{name: verdict.get(name) for name in ("neighbour_id", "judge")}}


SENT_OUT = ("answered_at", "owner_id", "candidate_id", "neighbour_id", "model", "protocol",
            "remote", "step", "calls", "event_id", "position")  # fmt: skip


def _sent_out(verdicts: Sequence[Row]) -> list[Row]:
    sent = [row for row in verdicts if row["calls"] and row["remote"] is not False]
    return [{name: row[name] for name in SENT_OUT} for row in sent]


# -- decisions and events --------------------------------------------------------------------------


def _decisions(said: Oracle) -> list[Row]:
    rows = []
    for event in said.events:
        if event.name == "invalid":
            rows.append(_invalid(event))
        elif event.name in DECISIONS:
            rows.append(_decision(said, event))
    return rows


def _decision(said: Oracle, event: Event) -> Row:
    data = event.data
    one = said.candidates[data.get("candidate_id", event.subject)]
    join = data.get("join") or {}
    evidence = event.evidence or {}
    nearest, verdict = _nearest(event), _verdict(event)
    review = said.reviews.get(event.id, "unreviewed")
    edge = said.owners[event.owner].joins[event.id] if join else None
    differs = edge.differs if edge is not None else []
    return {
        "decision_id": event.id,
        "candidate_id": one.id,
        "joined_to": join.get("to"),
        "memory_id": said.owners[event.owner].memory_of[one.id],
        "owner_id": event.owner,
        "namespace": one.namespace,
        "decision": data["decision"],
        "similarity": join.get("similarity"),
        "standing": edge.standing if edge is not None else None,
        "decided_at": event.at,
        "position": event.position,
        "review_status": review,
        "policy": evidence.get("policy"),
        "check": evidence.get("check"),
        "cues": nearest.get("cues", []),
        "face_rule": join.get("face"),
        "rank": data.get("rank", "judge" if event.name == "settled" else "rule"),
        "nearest_id": nearest.get("candidate_id"),
        "nearest_similarity": _score(nearest),
        "asked": None if event.evidence is None else evidence.get("asked", []),
        "neighbours": [_neighbour(found) for found in evidence.get("neighbours", [])],
        "llm_answer": verdict.get("answer"),
        "llm_reasoning": verdict.get("reasoning"),
        "actor": data.get("actor"),
        "because": data.get("because"),
        "source": one.fields["source"],
        "session_id": one.fields.get("session_id"),
        "reason": None,
        "detail": None,
        "digest": None,
        "event": event.name,
        "cause": data.get("cause"),
        "consequence_of": data.get("consequence_of"),
        "differs": differs,
        "folded": any(kind != "sentence_case" for kind in differs),
    }


def _invalid(event: Event) -> Row:
    said = dict.fromkeys(
        "candidate_id joined_to memory_id namespace similarity standing policy check face_rule rank"
        " nearest_id nearest_similarity asked llm_answer llm_reasoning actor because session_id"
        " cause consequence_of".split()
    )
    return said | {
        "decision_id": event.id,
        "owner_id": event.owner or None,
        "decision": "invalid",
        "decided_at": event.at,
        "position": event.position,
        "review_status": "unreviewed",
        "cues": [],
        "neighbours": [],
        "source": event.data["origin"],
        "reason": event.data["reason"],
        "detail": event.data["detail"],
        "digest": event.data["digest"],
        "event": "invalid",
        "differs": [],
        "folded": False,
    }


def _nearest(event: Event) -> Row:
    """The neighbour that a decision turned on: joined, asked about, answered, else the closest."""
    evidence = event.evidence
    if evidence is None:
        return {}
    looked_at: list[Row] = evidence.get("neighbours", [])
    wanted = [event.data["join"]["to"]] if event.data.get("join") is not None else []
    wanted += evidence.get("asked", [])
    wanted += [verdict["neighbour_id"] for verdict in evidence.get("verdicts", [])]
    if not wanted:
        return looked_at[0] if looked_at else {}
    found = [one for one in looked_at if one["candidate_id"] == wanted[0]]
    return found[0] if found else {"candidate_id": wanted[0]}


def _verdict(event: Event) -> Row:
    """The answer on the joined neighbour, else the first."""
    verdicts: list[Row] = (event.evidence or {}).get("verdicts", [])
    joined = (event.data.get("join") or {}).get("to")
    found = [verdict for verdict in verdicts if verdict["neighbour_id"] == joined]
    return (found + verdicts + [{}])[0]


def _score(neighbour: Row) -> float | None:
    found: float | None = neighbour.get("cosine")
    return neighbour.get("jaccard") if found is None else found


def _neighbour(said: Row) -> Row:
    return {
        "candidate_id": said["candidate_id"],
        "cosine": said.get("cosine"),
        "jaccard": said.get("jaccard"),
        "near_identical": said.get("near_identical"),
        "cues": said.get("cues", []),
    }


def _events(said: Oracle, decisions: Sequence[Row]) -> list[Row]:
    by_id = {row["decision_id"]: row for row in decisions}
    rows = []
    for event in said.events:
        row = by_id.get(event.id)
        rows.append(_word(said, event, by_id) if row is None else _decision_event(said, event, row))
    return rows


SHARED = ("decision", "decided_at", "owner_id", "namespace", "candidate_id", "decision_id",
          "similarity", "rank", "actor", "because", "cause", "consequence_of", "reason", "detail",
          "session_id", "policy", "llm_answer", "llm_reasoning", "position")  # fmt: skip


def _decision_event(said: Oracle, event: Event, row: Row) -> Row:
    """A decision among the events."""
    answers = None
    if event.name == "settled":
        answers = _question(said, event, row["candidate_id"])
    if event.name == "redecided":
        about = event.data["consequence_of"]
        answers = _last(said, event, "reversed", decision_id=about) or about
    return {name: row[name] for name in SHARED} | {
        "event_id": event.id,
        "event": event.name,
        "other_id": row["joined_to"],
        "answers": answers,
        "command": None,
    }


def _word(said: Oracle, event: Event, decisions: dict[str, Row]) -> Row:
    """What is not a decision."""
    data = event.data
    about = decisions.get(data.get("decision_id", ""), {})
    candidate_id = data.get("candidate_id") or data.get("b") or about.get("candidate_id")
    other_id = data.get("other_id") or data.get("joined_to") or data.get("a")
    one = said.candidates.get(candidate_id or "")
    verdict = (event.verdicts or [{}])[0]
    if event.name == "refused":
        other_id = other_id or verdict.get("neighbour_id")
    return {
        "position": event.position,
        "event_id": event.id,
        "event": event.name,
        "decision": None,
        "decided_at": event.at,
        "owner_id": event.owner or None,
        "namespace": one.namespace if one is not None else None,
        "candidate_id": candidate_id,
        "other_id": other_id or about.get("joined_to"),
        "decision_id": data.get("decision_id"),
        "answers": _answers(said, event, candidate_id),
        "similarity": data.get("similarity"),
        "rank": data.get("rank"),
        "actor": data.get("actor"),
        "because": data.get("because"),
        "cause": data.get("cause"),
        "consequence_of": data.get("consequence_of"),
        "command": data.get("command"),
        "reason": data.get("reason"),
        "detail": data.get("detail"),
        "session_id": data.get("session_id"),
        "policy": {"policy_set": data.get("hash"), "ran": data.get("policy")}.get(event.name),
        "llm_answer": verdict.get("answer"),
        "llm_reasoning": verdict.get("reasoning"),
    }


def _answers(said: Oracle, event: Event, candidate_id: str | None) -> str | None:
    """The event that a word answers, as docs/analysts.md has it."""
    data = event.data
    one = said.candidates.get(candidate_id or "")
    first = one.event_id if one is not None else None
    match event.name:
        case "reinstated":
            return _last(said, event, "reversed", decision_id=data["decision_id"])
        case "restored":
            return _last(said, event, "retracted", candidate_id=data["candidate_id"]) or first
        case "separated":
            asking = [
                question.event_id
                for question in said.questions
                if question.candidate.id == data["candidate_id"]
                and data["other_id"] in question.asked
                and question.position < event.position
            ]
            return asking[-1] if asking else None
        case "refused":
            return data.get("decision_id") or _question(said, event, candidate_id) or first
        case _:
            return data.get("decision_id") or first


def _question(said: Oracle, event: Event, candidate_id: str | None) -> str | None:
    """The last question about a candidate before an event."""
    found = [
        question.event_id
        for question in said.questions
        if question.candidate.id == candidate_id and question.position < event.position
    ]
    return found[-1] if found else None


def _last(said: Oracle, event: Event, name: str, **about: str) -> str | None:
    """The last event of a kind about the same, before another."""
    found = [
        earlier.id
        for earlier in said.events
        if earlier.name == name
        and earlier.position < event.position
        and all(earlier.data.get(key) == value for key, value in about.items())
    ]
    return found[-1] if found else None


# -- pairs -----------------------------------------------------------------------------------------


def _separations(said: Oracle) -> list[Row]:
    """Every time that two were said not to be the same; of a pair one holds at most."""
    return [
        {
            "candidate_id": word.pair[0],
            "other_id": word.pair[1],
            "owner_id": word.event.owner,
            "namespace": said.candidates[word.pair[0]].namespace,
            "standing": oracle_questions.held(owner, *word.pair) is word,
            "event": word.event.name,
            "event_id": word.event.id,
            "decision_id": word.event.id
            if word.event.name == "settled"
            else word.event.data.get("decision_id"),
            "rank": word.rank,
            "actor": word.event.data.get("actor"),
            "because": word.event.data.get("because"),
            "cause": word.event.data.get("cause"),
            "llm_reasoning": word.reasoning,
            "decided_at": word.event.at,
            "position": word.event.position,
        }
        for owner in said.owners.values()
        for word in owner.words
        if word.separates
    ]


def _dedup_log(said: Oracle, decisions: Sequence[Row]) -> list[Row]:
    by_id = {row["decision_id"]: row for row in decisions}
    rows = []
    for event in said.events:
        row = by_id.get(event.id)
        if row is not None:
            found = _compared(said, event, row)
        elif event.name in ("separated", "reversed", "reinstated"):
            found = _spoken_of(said, event, by_id)
        else:
            continue
        if found is not None:
            rows.append(found)
    return rows


def _compared(said: Oracle, event: Event, row: Row) -> Row | None:
    """A decision that compared something."""
    other = row["joined_to"] or row["nearest_id"]
    if other is None and event.name == "settled":
        asked = [
            question.asked
            for question in said.questions
            if question.candidate.id == row["candidate_id"] and question.position < event.position
        ]
        other = asked[-1][0] if asked else None
    if other is None:
        return None
    copied = ("decision", "llm_reasoning", "review_status", "llm_answer", "policy", "check",
              "rank", "actor", "because")  # fmt: skip
    return {name: row[name] for name in copied} | {
        "cues": _cues(said, row, other),
        "decision_id": event.id,
        "joined": row["joined_to"] is not None,
        **_pair(said, event, event, row["candidate_id"], other, row),
    }


def _spoken_of(said: Oracle, event: Event, decisions: dict[str, Row]) -> Row:
    """A later word on a pair."""
    data = event.data
    about = decisions.get(data.get("decision_id", ""), {})
    score = {"similarity": data.get("similarity", about.get("similarity"))}
    verdict = (event.verdicts or [{}])[0]
    candidate_id = data.get("candidate_id") or about["candidate_id"]
    other = data.get("other_id") or data.get("joined_to") or about["joined_to"]
    return {
        "decision": event.name,
        "llm_reasoning": verdict.get("reasoning"),
        "review_status": None,
        "llm_answer": verdict.get("answer"),
        "policy": None,
        "check": None,
        "cues": None,
        "rank": data["rank"],
        "actor": data.get("actor"),
        "because": data.get("because"),
        "decision_id": event.id,
        "joined": event.name == "reinstated",
        **_pair(
            said,
            event,
            said.by_id[about["decision_id"]] if about else event,
            candidate_id,
            other,
            score,
        ),
    }


def _pair(
    said: Oracle, event: Event, about: Event, candidate_id: str, other_id: str, scores: Row
) -> Row:
    """The two that were compared, by the event that it is about."""
    one, other = said.candidates[candidate_id], said.candidates[other_id]
    texts = said.compared[about.position]
    return {
        "new_text": texts.get(one.id, one.text),
        "existing_id": other.id,
        "existing_text": texts.get(other.id, other.text),
        "similarity": _known_score(said, about, one, other, scores),
        "owner_id": event.owner,
        "namespace": one.namespace,
        "decided_at": event.at,
        "candidate_id": one.id,
        "memory_id": said.owners[event.owner].memory_of[one.id],
        "source": one.fields["source"],
        "session_id": one.fields.get("session_id"),
        "position": event.position,
    }


def _known_score(
    said: Oracle, event: Event, one: Candidate, other: Candidate, scores: Row
) -> float | None:
    """The score of a pair: the event's own, or what was known when it was last asked about.

    None where somebody answers about another text than the one that was asked about.
    """
    known = [scores.get("similarity"), scores.get("nearest_similarity")]
    asked = _asked_about(said, one.id, other.id, event.position)
    if asked is not None and not _as_asked(said, event, other, asked):
        known = [] if event.name == "settled" else known
    elif asked is not None:
        known.insert(1, _score(_neighbour_of(asked, other.id)))
    return next((score for score in known if score is not None), None)


def _as_asked(said: Oracle, event: Event, other: Candidate, asked: Question) -> bool:
    """Whether an event compared the text of the question."""
    texts = said.compared[event.position]
    return bool(texts.get(other.id, other.text) == asked.texts.get(other.id, other.text))


def _asked_about(said: Oracle, candidate_id: str, other_id: str, until: int) -> Question | None:
    """The question in which a pair was last asked about."""
    found = [
        question
        for question in said.questions
        if question.candidate.id == candidate_id
        and question.position <= until
        and any(neighbour["candidate_id"] == other_id for neighbour in question.neighbours)
    ]
    return found[-1] if found else None


def _neighbour_of(question: Question, candidate_id: str) -> Row:
    """What was known of a neighbour when it was asked about."""
    return next(
        neighbour for neighbour in question.neighbours if neighbour["candidate_id"] == candidate_id
    )


def _cues(said: Oracle, row: Row, other_id: str) -> list[str]:
    """Those of a decision, or of the question that it answers."""
    asked = _asked_about(said, row["candidate_id"], other_id, row["position"])
    cues: list[str] = row["cues"]
    event, other = said.by_id[row["decision_id"]], said.candidates[other_id]
    if cues or asked is None or not _as_asked(said, event, other, asked):
        return cues
    return list(_neighbour_of(asked, other_id).get("cues", []))


def _waiting(said: Oracle) -> list[Row]:
    """The pairs that the judge, or a person, has yet to compare."""
    return [
        {
            "waits_as": "pending",
            "new_text": question.candidate.text,
            "existing_id": asked["candidate_id"],
            "existing_text": question.texts.get(
                asked["candidate_id"], said.candidates[asked["candidate_id"]].text
            ),
            "similarity": _score(asked),
            "cues": asked.get("cues", []),
            "decision": "pending",
            "owner_id": question.candidate.fields["owner_id"],
            "namespace": question.candidate.namespace,
            "decided_at": question.at,
            "decision_id": question.event_id,
            "candidate_id": question.candidate.id,
            "position": question.position,
        }
        for question in said.latest.values()
        for asked in question.neighbours
        if _waits_for(said, question.candidate, asked["candidate_id"])
    ]


def _withheld(said: Oracle, decisions: Sequence[Row]) -> list[Row]:
    """Who waits because its text, or what it rewords, was forgotten; until a person said so."""
    reviewed = {row["decision_id"] for row in decisions if row["review_status"] != "unreviewed"}
    let_in = {event.data["candidate_id"] for event in said.events if event.name == "restored"}
    rows = []
    for candidate in said.candidates.values():
        if (
            candidate.data.get("withheld") is None
            or candidate.id in let_in
            or candidate.event_id in reviewed
        ):
            continue
        near = candidate.data["evidence"]["neighbours"][0]
        gone = said.candidates[near["candidate_id"]]
        rows.append(
            {
                "waits_as": "forgotten",
                "new_text": candidate.text,
                "existing_id": gone.id,
                "existing_text": gone.text,
                "similarity": _score(near),
                "cues": near.get("cues", []),
                "decision": "pending",
                "owner_id": candidate.fields["owner_id"],
                "namespace": candidate.namespace,
                "decided_at": candidate.at,
                "decision_id": candidate.event_id,
                "candidate_id": candidate.id,
                "position": candidate.place,
            }
        )
    return rows


def _waits_for(said: Oracle, one: Candidate, neighbour_id: str) -> bool:
    """Unanswered, or by an answer that cannot join two living ones."""
    held = neighbour_id == one.held and one.living and said.candidates[neighbour_id].living
    return held or neighbour_id in one.waits_for


def _lives(said: Oracle, one: Candidate) -> bool:
    """Whether somebody living in its memory has its text."""
    owner = said.owners[one.fields["owner_id"]]
    members = owner.members(owner.memory_of[one.id])
    return any(member.living and member.verbatim == one.verbatim for member in members)


def _to_review(said: Oracle, decisions: Sequence[Row], memories: Sequence[Row]) -> list[Row]:
    """Automatic joins that nobody saw, and those that contradict a face that a person chose.

    What was said of one that was put back does not count any more.
    """
    contradict = {one for memory in memories for one in memory["contradicts"]}
    rows = []
    for row in decisions:
        if row["joined_to"] is None or row["review_status"] not in ("unreviewed", "reinstated"):
            continue
        one, other = said.candidates[row["candidate_id"]], said.candidates[row["joined_to"]]
        verbatim = row["face_rule"] == "repeat" and not row["differs"]
        automatic = row["rank"] in ("rule", "judge") and not verbatim
        said_still = _lives(said, one) and _lives(said, other)
        if not (automatic or row["decision_id"] in contradict) or not said_still:
            continue
        copied = ("decision", "owner_id", "namespace", "decided_at",
                  "decision_id", "candidate_id", "position")  # fmt: skip
        texts = said.compared[row["position"]]
        rows.append(
            {name: row[name] for name in copied}
            | {
                "waits_as": "contradicts" if row["decision_id"] in contradict else "unreviewed",
                "cues": _cues(said, row, other.id),
                "similarity": _known_score(said, said.by_id[row["decision_id"]], one, other, row),
                "new_text": texts.get(one.id, one.text),
                "existing_id": other.id,
                "existing_text": texts.get(other.id, other.text),
            }
        )
    return rows


# -- sums ------------------------------------------------------------------------------------------


def _grouped(rows: Iterable[Row], key: Callable[[Row], tuple[Any, ...]]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _position(rows: Sequence[Row]) -> int:
    found: int = max(row["position"] for row in rows)
    return found


def _daily(decisions: Sequence[Row]) -> list[Row]:
    groups = _grouped(decisions, lambda row: (row["decided_at"].date(), row["decision"]))
    return [
        {"day": day, "decision": decision, "n": len(rows), "position": _position(rows)}
        for (day, decision), rows in groups.items()
    ]


def _policy_outcomes(decisions: Sequence[Row]) -> list[Row]:
    groups = _grouped(
        (row for row in decisions if row["policy"] is not None),
        lambda row: (row["policy"], row["decision"]),
    )
    return [
        {
            "policy": policy,
            "decision": decision,
            "n": len(rows),
            "reversed": sum(row["review_status"] == "reversed" for row in rows),
            "confirmed": sum(row["review_status"] == "confirmed" for row in rows),
            "mean_similarity": _mean(
                [r["similarity"] for r in rows if r["similarity"] is not None]
            ),
            "position": _position(rows),
        }
        for (policy, decision), rows in groups.items()
    ]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _removal_rate(candidates: Sequence[Row]) -> list[Row]:
    groups = _grouped(
        (row for row in candidates if row["living"]),
        lambda row: (row["owner_id"], row["namespace"]),
    )
    found = []
    for (owner_id, namespace), rows in groups.items():
        memories = len({row["memory_id"] for row in rows})
        found.append(
            {
                "owner_id": owner_id,
                "namespace": namespace,
                "candidates": len(rows),
                "memories": memories,
                "removed": len(rows) - memories,
                "rate": (len(rows) - memories) / len(rows),
                "position": _position(rows),
            }
        )
    return found


def _judge_cost(verdicts: Sequence[Row]) -> list[Row]:
    groups = _grouped(
        verdicts, lambda row: (row["answered_at"].date(), row["model"], row["prompt"])
    )
    return [
        {
            "day": day,
            "model": model,
            "prompt": prompt,
            "verdicts": len(rows),
            "known": sum(
                r["calls"] == 0 and not r["seconds"] and r["answer"] != "unavailable" for r in rows
            ),
            "unavailable": sum(r["answer"] == "unavailable" for r in rows),
            "unusable": sum(r["answer"] == "unusable" for r in rows),
            **{
                name: _sum([row[name] for row in rows if row[name] is not None])
                for name in ("calls", "input_tokens", "output_tokens", "cost_usd", "seconds")
            },
            **(
                {"cost_usd": None}
                if any(row["calls"] and row["cost_usd"] is None for row in rows)
                else {}
            ),
            "position": _position(rows),
        }
        for (day, model, prompt), rows in groups.items()
    ]


def _sum(values: Sequence[float]) -> float | None:
    return sum(values) if values else None


# -- side by side ----------------------------------------------------------------------------------


def shown(value: Any) -> Any:
    """A value so that equal ones compare equal, whichever side it is from."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, str) and value.startswith("{"):
        return shown(json.loads(value))
    if isinstance(value, list | tuple):
        return tuple(shown(one) for one in value)
    if isinstance(value, dict):
        return tuple(sorted((key, shown(one)) for key, one in value.items()))
    return value


def differences(expected: Tables, actual: Tables) -> list[str]:
    """Each row and column that is not as it has to be: `view column key: expected | actual`."""
    found = [f"{name} is stated by nobody" for name in actual.keys() - expected.keys()]
    for name, rows in expected.items():
        ours, theirs = _by_key(name, rows), _by_key(name, actual[name])
        found += [f"{name} missing {key}" for key in ours.keys() - theirs.keys()]
        found += [f"{name} extra {key}" for key in theirs.keys() - ours.keys()]
        for key in ours.keys() & theirs.keys():
            a, b = ours[key], theirs[key]
            found += [f"{name} {column} unknown" for column in a.keys() ^ b.keys()]
            found += [
                f"{name} {column} {key}: {a[column]!r} | {b[column]!r}"
                for column in a.keys() & b.keys()
                if shown(a[column]) != shown(b[column])
            ]
    return sorted(found)


KEYS = {
    "log_position": (),
    "candidates": ("candidate_id",),
    "memories": ("memory_id",),
    "verdicts": ("position", "ordinal"),
    "sent_out": ("position", "neighbour_id", "step"),
    "separations": ("position", "candidate_id", "other_id"),
    "review_queue": ("waits_as", "position", "existing_id"),
    "daily": ("day", "decision"),
    "policy_outcomes": ("policy", "decision"),
    "removal_rate": ("owner_id", "namespace"),
    "judge_cost": ("day", "model", "prompt"),
    "judges": ("judge",),
    "lancedb memories": ("memory_id",),
    "lancedb candidates": ("distinct_id",),
}
"""What names a row of a table; of those that are not here, the position."""


def _by_key(table: str, rows: Iterable[Row]) -> dict[str, Row]:
    """Rows by what names them, and a number where several have the same name."""
    found: dict[str, Row] = {}
    for row in rows:
        named = [row[name] for name in KEYS.get(table, ("position",))]
        number = 1
        while (key := " ".join(map(str, [*named, number]))) in found:
            number += 1
        found[key] = row
    return found
