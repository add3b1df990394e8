"""Rows written by hand for one history: the oracle and the projections say just that."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from palimpsest.contracts.commands import (
    Access,
    Admit,
    Operation,
    RecordRun,
    Retract,
    Settle,
    Unmerge,
)
from palimpsest.contracts.events import AnyEvent, Composition
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.streams.core.decide import execute
from palimpsest.streams.core.ledger import Ledger
from tests.projections.histories import STANDARD, START, History, content_of, vector_of
from tests.projections.oracle import Row, Tables, numbers
from tests.projections.oracle_tables import NOT_IN_LANCEDB, differences, tables
from tests.projections.test_oracle import lines, project_live, projected

FERRY, DAILY = "The ferry leaves at noon.", "At noon the ferry leaves every day."
COMPOSED = "The ferry leaves at noon, every day."
FIGURES = {
    "memories_before": 4, "memories_after": 3, "removed_count": 1, "removal_rate": 0.25,
    "duration_ms": 1.5, "pairs": 2,
}  # fmt: skip
KETTLE, LATE = "The kettle is old.", "A ferry goes at noon."


def at(hour: int) -> datetime:
    """An hour of the day of this history, as the views show it: in UTC, without a zone."""
    return datetime.fromisoformat(f"2026-03-01T{hour:02}:00:00")


BEFORE = datetime.fromisoformat("2026-02-03T04:05:06")


class ByHand(History):
    """One command an hour, from ten o'clock on."""

    def run(self, command: Admit | Operation) -> list[AnyEvent]:
        owner = command.candidate.owner_id if isinstance(command, Admit) else command.owner_id
        ledger = self.ledgers.setdefault(owner, Ledger(owner))
        self._now += timedelta(hours=1)
        events = [event for event, _ in execute(command, ledger, STANDARD, self._now)]
        for event in events:
            self.log.append(event)
        return events

    def asked(self) -> dict[str, Any]:
        return {"command_id": self.fresh(), "owner_id": "ada"}


def verdict(neighbour: str, answer: Answer, calls: float, cost: float) -> Verdict:
    return Verdict(
        neighbour_id=neighbour,
        answer=answer,
        reasoning=f"they are {answer}",
        model="judge-1",
        prompt="compare@1",
        input_tokens=200,
        output_tokens=20,
        cost_usd=cost,
        seconds=1.5 if calls else 0.0,
        calls=calls,
    )


@pytest.fixture(scope="module")
def history_and_tables() -> tuple[ByHand, Tables]:
    """The history, and the rows of every table."""
    history = ByHand()
    history.nobody()  # 1: a policy, 2: what is not JSON; the log leaves positions 4 and 12 out
    a = history.admit(  # 3, 10:00
        "ada", FERRY, topics=["ferry"], session_id="s1", metadata={"page": 3}, importance=0.5,
        occurred_at="2026-02-03T04:05:06Z",
    )  # fmt: skip
    x = history.admit("ada", KETTLE)  # 5, 11:00
    b = history.admit(  # 6, 12:00
        "ada", DAILY, (a, 0.8), topics=["noon", "ferry"], metadata={"page": 4}, intensity=0.7,
        confidence=0.5, category="travel", kind="perception",
    )  # fmt: skip
    text = Composition(content=content_of(COMPOSED), sources=(a, b))
    composing = (verdict(a, "compose", 1.0, 0.25),)
    [merge] = history.run(  # 7, 13:00
        Settle(candidate_id=b, verdicts=composing, composition=text, **history.asked())
    )
    c = history.admit("ada", LATE, (x, 0.82), (a, 0.75))  # 8, 14:00
    two = (verdict(x, "different", 0.0, 0.0), verdict(a, "same", 0.5, 0.125))
    [reject] = history.run(Settle(candidate_id=c, verdicts=two, **history.asked()))  # 9, 15:00
    words: dict[str, Any] = {"actor": "kim", "because": "another ferry"}
    [used] = history.run(Access(candidate_id=a, **history.asked()))  # 10, 16:00
    [again] = history.run(Access(candidate_id=c, **history.asked()))  # 11, 17:00
    [taken_out] = history.run(
        Unmerge(decision_id=reject.id, **words, **history.asked())
    )  # 13, 18:00
    words |= history.asked()
    [gone] = history.run(Retract(candidate_id=x, **words))  # 14, 19:00
    [ran] = history.run(  # 15, 20:00
        RecordRun(step="dedupe", due=START, figures=FIGURES, **history.asked())
    )
    policy, invalid = (event.event for event in history.log.events[:2])
    ids = {name: history.ledgers["ada"].entries[one].decision_id for name, one in
           {"a": a, "x": x, "b": b, "c": c}.items()}  # fmt: skip
    ids |= {"merge": merge.id, "reject": reject.id}
    other = {
        "policy": policy.id,
        "invalid": invalid.id,
        "used": used.id,
        "again": again.id,
        "taken_out": taken_out.id,
        "gone": gone.id,
        "ran": ran.id,
    }
    return history, rows(a, x, b, c, ids, other)


def rows(a: str, x: str, b: str, c: str, ids: dict[str, str], other: dict[str, str]) -> Tables:
    decisions = _decisions(a, x, b, c, ids, other)
    memories = _memories(a, b, c)
    return {
        "log_position": [{"position": 15}],
        "policies": [
            {
                "position": 1,
                "policy": STANDARD.hash,
                "name": "standard",
                "rules": STANDARD.model_dump(mode="json"),
                "actor": None,
                "set_at": at(9),
                "search": "candidates",
            }
        ],
        "judges": [],
        "runs": [
            {
                "position": 15,
                "event_id": other["ran"],
                "owner_id": "ada",
                "step": "dedupe",
                "due": START.replace(tzinfo=None),
                "ran_at": at(20),
                "policy": STANDARD.hash,
                "session_id": None,
                "actor": None,
                "because": None,
                "memories_before": 4,
                "memories_after": 3,
                "removed_count": 1,
                "removal_rate": 0.25,
                "duration_ms": 1.5,
                "figures": FIGURES,
            }
        ],
        "candidates": _candidates(a, x, b, c, ids),
        "memories": [{k: v for k, v in row.items() if k != "vector"} for row in memories],
        "lancedb memories": [
            {k: v for k, v in m.items() if k not in NOT_IN_LANCEDB} for m in memories
        ],
        "lancedb candidates": [
            _distinct(a, FERRY, a, "s1"),
            _distinct(b, DAILY, a, None),
            _distinct(c, LATE, c, None),
        ],
        "compositions": [
            {
                "position": 7,
                "event_id": ids["merge"],
                "decision_id": ids["merge"],
                "owner_id": "ada",
                "text": COMPOSED,
                "sources": [a, b],
                "composed_at": at(13),
            }
        ],
        "verdicts": [
            _verdict(7, 0, ids["merge"], b, at(13), a, "compose", 1.0, 0.25),
            _verdict(9, 0, ids["reject"], c, at(15), x, "different", 0.0, 0.0),
            _verdict(9, 1, ids["reject"], c, at(15), a, "same", 0.5, 0.125),
        ],
        "sent_out": [  # nothing says that it was not
            _sent(7, ids["merge"], b, at(13), a, 1.0),
            _sent(9, ids["reject"], c, at(15), a, 0.5),
        ],
        "decisions": decisions,
        "joins": [row for row in decisions if row["decision"] in ("llm_merge", "llm_reject")],
        "events": _events(a, x, b, c, ids, other),
        "separations": [
            _separation(c, x, "settled", ids["reject"], ids["reject"], "judge", at(15), 9)
            | {"llm_reasoning": "they are different"},
            _separation(c, a, "reversed", other["taken_out"], ids["reject"], "person", at(18), 13)
            | {"actor": "kim", "because": "another ferry"},
        ],
        "dedup_log": _dedup_log(a, x, b, c, ids, other),
        "review_queue": [
            {
                "waits_as": "unreviewed",
                "new_text": DAILY,
                "existing_id": a,
                "existing_text": FERRY,
                "similarity": 0.8,
                "cues": [],
                "decision": "llm_merge",
                "owner_id": "ada",
                "namespace": "default",
                "decided_at": at(13),
                "decision_id": ids["merge"],
                "candidate_id": b,
                "position": 7,
            }
        ],
        "daily": [
            {"day": at(0).date(), "decision": decision, "n": n, "position": position}
            for decision, n, position in (
                ("invalid", 1, 2),
                ("stored", 2, 5),
                ("pending", 2, 8),
                ("llm_merge", 1, 7),
                ("llm_reject", 1, 9),
            )
        ],
        "policy_outcomes": [
            {
                "policy": STANDARD.hash,
                "decision": decision,
                "n": n,
                "reversed": back,
                "confirmed": 0,
                "mean_similarity": mean,
                "position": position,
            }
            for decision, n, back, mean, position in (
                ("stored", 2, 0, None, 5),
                ("pending", 2, 0, None, 8),
                ("llm_merge", 1, 0, 0.8, 7),
                ("llm_reject", 1, 1, 0.75, 9),
            )
        ],
        "removal_rate": [
            {
                "owner_id": "ada",
                "namespace": "default",
                "candidates": 3,
                "memories": 2,
                "removed": 1,
                "rate": 1 / 3,
                "position": 13,
            }
        ],
        "judge_cost": [
            {
                "day": at(0).date(),
                "model": "judge-1",
                "prompt": "compare@1",
                "verdicts": 3,
                "known": 1,
                "unavailable": 0,
                "unusable": 0,
                "calls": 1.5,
                "input_tokens": 600,
                "output_tokens": 60,
                "cost_usd": 0.375,
                "seconds": 3.0,
                "position": 9,
            }
        ],
    }


def _distinct(one: str, text: str, memory: str, session: str | None) -> Row:
    return {
        "distinct_id": one,
        "candidate_id": one,
        "owner_id": "ada",
        "namespace": "default",
        "text": text,
        "memory_id": memory,
        "session_id": session,
        "vector": numbers(structs.asdict(vector_of(text))),
    }


def _candidates(a: str, x: str, b: str, c: str, ids: dict[str, str]) -> list[Row]:
    plain: Row = {
        "owner_id": "ada", "namespace": "default", "source": "test", "session_id": None,
        "category": None, "kind": "fact", "confidence": None, "importance": None,
        "intensity": None, "topics": [], "metadata": None, "occurred_at": None, "living": True,
        "pending": False, "waits_for": [], "held": None, "expires_at": None,
    }  # fmt: skip

    def row(one: str, number: int, text: str, name: str, position: int) -> Row:
        return plain | {
            "candidate_id": one,
            "producer_id": f"00000000-0000-0000-0000-{number:012x}",
            "text": text,
            "hash": content_of(text).hash,
            "verbatim": sha256(text.encode()).hexdigest(),
            "decision_id": ids[name],
            "position": position,
        }

    return [
        row(a, 2, FERRY, "a", 3)
        | {"memory_id": a, "decision": "stored", "decided_at": at(10), "topics": ["ferry"]}
        | {"session_id": "s1", "metadata": {"page": 3}, "importance": 0.5}
        | {"occurred_at": BEFORE},
        row(x, 3, KETTLE, "x", 14)  # its retraction
        | {"memory_id": x, "decision": "stored", "decided_at": at(11), "living": False},
        row(b, 4, DAILY, "b", 7)  # its settlement
        | {"memory_id": a, "decision": "pending", "decided_at": at(12), "topics": ["noon", "ferry"]}
        | {"metadata": {"page": 4}, "intensity": 0.7, "confidence": 0.5, "category": "travel"}
        | {"kind": "perception"},
        row(c, 6, LATE, "c", 13)  # taken out of its memory
        | {"memory_id": c, "decision": "pending", "decided_at": at(14)},
    ]


def _memories(a: str, b: str, c: str) -> list[Row]:
    """The kettle's has no living member."""
    plain: Row = {
        "owner_id": "ada", "namespace": "default", "status": "living", "needs_composition": False,
        "updated_at": at(18), "position": 13, "accesses": 1, "contradicts": [],
        "confidence": None, "importance": None, "expires_at": None,
    }  # fmt: skip
    return [
        plain
        | {"memory_id": a, "face": COMPOSED, "face_of": b, "composed": True, "members": 2}
        | {"topics": ["ferry", "noon"], "last_accessed": at(16), "created_at": at(10)}
        | {"occurred_at": BEFORE, "intensity": 0.7, "metadata": {"page": 4}}
        | {"confidence": 0.5, "importance": 0.5}
        | {"vector": numbers(structs.asdict(vector_of(COMPOSED)))},
        plain
        | {"memory_id": c, "face": LATE, "face_of": c, "composed": False, "members": 1}
        | {"topics": [], "last_accessed": at(17), "created_at": at(14), "occurred_at": None}
        | {"intensity": None, "metadata": None, "vector": numbers(structs.asdict(vector_of(LATE)))},
    ]


def _verdict(
    position: int,
    ordinal: int,
    event: str,
    one: str,
    when: datetime,
    neighbour: str,
    answer: str,
    calls: float,
    cost: float,
) -> Row:
    return {
        "position": position, "ordinal": ordinal, "event_id": event, "owner_id": "ada",
        "candidate_id": one, "answered_at": when, "neighbour_id": neighbour, "answer": answer,
        "reasoning": f"they are {answer}", "model": "judge-1", "prompt": "compare@1",
        "input_tokens": 200, "output_tokens": 20, "cost_usd": cost, "calls": calls,
        "seconds": 1.5 if calls else 0.0,
        "probability": None, "step": None, "certificate": None, "protocol": None, "remote": None,
        "judge": None,
    }  # fmt: skip


def _sent(position: int, event: str, one: str, when: datetime, neighbour: str, calls: float) -> Row:
    return {
        "answered_at": when, "owner_id": "ada", "candidate_id": one, "neighbour_id": neighbour,
        "model": "judge-1", "protocol": None, "remote": None, "step": None, "calls": calls,
        "event_id": event, "position": position,
    }  # fmt: skip


def _looked_at(one: str, cosine: float) -> Row:
    return {
        "candidate_id": one,
        "cosine": cosine,
        "jaccard": None,
        "near_identical": None,
        "cues": [],
    }


def _decisions(
    a: str, x: str, b: str, c: str, ids: dict[str, str], other: dict[str, str]
) -> list[Row]:
    empty: Row = dict.fromkeys(
        "joined_to similarity standing check face_rule nearest_id nearest_similarity llm_answer"
        " llm_reasoning actor because session_id reason detail digest cause consequence_of".split()
    )
    plain: Row = empty | {
        "owner_id": "ada", "namespace": "default", "source": "test", "policy": STANDARD.hash,
        "review_status": "unreviewed", "cues": [], "asked": [], "neighbours": [],
        "differs": [], "folded": False,
    }  # fmt: skip

    def first(
        name: str, one: str, memory: str, decision: str, when: datetime, position: int
    ) -> Row:
        return plain | {
            "decision_id": ids[name],
            "candidate_id": one,
            "memory_id": memory,
            "decision": decision,
            "decided_at": when,
            "position": position,
            "rank": "rule",
            "event": "decided",
        }

    about_b, about_c = [_looked_at(a, 0.8)], [_looked_at(x, 0.82), _looked_at(a, 0.75)]
    settled = plain | {"joined_to": a, "rank": "judge", "event": "settled", "check": "judge"}
    nobodys: Row = dict.fromkeys(
        ("candidate_id", "memory_id", "namespace", "policy", "rank", "asked")
    )
    return [
        plain | nobodys
        | {"decision_id": other["invalid"], "owner_id": None, "decision": "invalid", "source": "f"}
        | {"decided_at": at(9), "position": 2, "event": "invalid", "reason": "not_json"}
        | {"detail": "no JSON", "digest": content_digest()},
        first("a", a, a, "stored", at(10), 3) | {"session_id": "s1"},
        first("x", x, x, "stored", at(11), 5),
        first("b", b, a, "pending", at(12), 6)
        | {"neighbours": about_b, "asked": [a]}
        | {"nearest_id": a, "nearest_similarity": 0.8},
        settled
        | {"decision_id": ids["merge"], "candidate_id": b, "memory_id": a, "decision": "llm_merge"}
        | {"similarity": 0.8, "standing": True, "decided_at": at(13), "position": 7}
        | {"face_rule": "text", "nearest_id": a, "llm_answer": "compose"}
        | {"llm_reasoning": "they are compose"},
        first("c", c, c, "pending", at(14), 8)
        | {"neighbours": about_c, "asked": [x, a]}
        | {"nearest_id": x, "nearest_similarity": 0.82},
        settled
        | {"decision_id": ids["reject"], "candidate_id": c, "memory_id": c}
        | {"decision": "llm_reject", "similarity": 0.75, "standing": False, "decided_at": at(15)}
        | {"position": 9, "review_status": "reversed", "face_rule": "keep", "nearest_id": a}
        | {"llm_answer": "same", "llm_reasoning": "they are same"},
    ]  # fmt: skip


def content_digest() -> str:
    """Of the bytes that could not be read."""
    import hashlib

    return hashlib.sha256(b"not json 1").hexdigest()


def _events(
    a: str, x: str, b: str, c: str, ids: dict[str, str], other: dict[str, str]
) -> list[Row]:
    empty: Row = dict.fromkeys(
        "decision namespace candidate_id other_id decision_id answers similarity rank actor because"
        " cause consequence_of command reason detail session_id policy llm_answer"
        " llm_reasoning".split()
    )
    plain = empty | {"owner_id": "ada", "namespace": "default"}
    kim = {"actor": "kim", "because": "another ferry"}

    def row(position: int, event: str, event_id: str, when: datetime) -> Row:
        return {"position": position, "event": event, "event_id": event_id, "decided_at": when}

    def first(position: int, name: str, one: str, decision: str, when: datetime) -> Row:
        said = {"decision": decision, "candidate_id": one, "decision_id": ids[name]}
        history_and_tables = row(position, "decided", ids[name], when)
        return plain | history_and_tables | said | {"rank": "rule", "policy": STANDARD.hash}

    settled = plain | {"other_id": a, "rank": "judge", "policy": STANDARD.hash}
    nobodys = empty | {"owner_id": None}
    return [
        nobodys | row(1, "policy_set", other["policy"], at(9)) | {"policy": STANDARD.hash},
        nobodys | row(2, "invalid", other["invalid"], at(9)) | {"decision": "invalid"}
        | {"decision_id": other["invalid"], "reason": "not_json", "detail": "no JSON"},
        first(3, "a", a, "stored", at(10)) | {"session_id": "s1"},
        first(5, "x", x, "stored", at(11)),
        first(6, "b", b, "pending", at(12)),
        settled | row(7, "settled", ids["merge"], at(13))
        | {"decision": "llm_merge", "candidate_id": b, "decision_id": ids["merge"]}
        | {"answers": ids["b"], "similarity": 0.8, "llm_answer": "compose"}
        | {"llm_reasoning": "they are compose"},
        first(8, "c", c, "pending", at(14)),
        settled | row(9, "settled", ids["reject"], at(15))
        | {"decision": "llm_reject", "candidate_id": c, "decision_id": ids["reject"]}
        | {"answers": ids["c"], "similarity": 0.75, "llm_answer": "same"}
        | {"llm_reasoning": "they are same"},
        plain | row(10, "accessed", other["used"], at(16))
        | {"candidate_id": a, "answers": ids["a"]},
        plain | row(11, "accessed", other["again"], at(17))
        | {"candidate_id": c, "answers": ids["c"]},
        plain | kim | row(13, "reversed", other["taken_out"], at(18))
        | {"candidate_id": c, "other_id": a, "decision_id": ids["reject"], "rank": "person"}
        | {"answers": ids["reject"]},
        plain | kim | row(14, "retracted", other["gone"], at(19))
        | {"candidate_id": x, "answers": ids["x"]},
        plain | row(15, "ran", other["ran"], at(20)) | {"policy": STANDARD.hash, "namespace": None},
    ]  # fmt: skip


def _separation(
    one: str, apart: str, event: str, event_id: str, decision: str, rank: str, when: datetime,
    position: int,
) -> Row:  # fmt: skip
    return {
        "candidate_id": one, "other_id": apart, "owner_id": "ada", "namespace": "default",
        "standing": True, "event": event, "event_id": event_id, "decision_id": decision,
        "rank": rank, "actor": None, "because": None, "cause": None, "llm_reasoning": None,
        "decided_at": when, "position": position,
    }  # fmt: skip


def _dedup_log(
    a: str, x: str, b: str, c: str, ids: dict[str, str], other: dict[str, str]
) -> list[Row]:
    plain: Row = {
        "owner_id": "ada", "namespace": "default", "source": "test", "session_id": None,
        "policy": STANDARD.hash, "cues": [], "actor": None, "because": None, "llm_answer": None,
        "llm_reasoning": None, "review_status": "unreviewed",
    }  # fmt: skip
    of_b = plain | {"new_text": DAILY, "candidate_id": b, "memory_id": a}
    of_b |= {"existing_id": a, "existing_text": FERRY, "similarity": 0.8}
    of_c = plain | {"new_text": LATE, "candidate_id": c, "memory_id": c}
    with_a = {"existing_id": a, "existing_text": FERRY, "similarity": 0.75}
    asked = {"decision": "pending", "check": None, "rank": "rule", "joined": False}
    joined = {"check": "judge", "rank": "judge", "joined": True}
    return [
        of_b | asked | {"decision_id": ids["b"], "decided_at": at(12), "position": 6},
        of_b | joined | {"decision": "llm_merge", "decision_id": ids["merge"]}
        | {"decided_at": at(13), "position": 7, "llm_answer": "compose"}
        | {"llm_reasoning": "they are compose"},
        of_c | asked | {"decision_id": ids["c"], "decided_at": at(14), "position": 8}
        | {"existing_id": x, "existing_text": KETTLE, "similarity": 0.82},
        of_c | with_a | joined | {"decision": "llm_reject", "decision_id": ids["reject"]}
        | {"decided_at": at(15), "position": 9, "review_status": "reversed"}
        | {"llm_answer": "same", "llm_reasoning": "they are same"},
        of_c | with_a | {"decision": "reversed", "decision_id": other["taken_out"], "joined": False}
        | {"decided_at": at(18), "position": 13, "rank": "person", "review_status": None}
        | {"policy": None, "check": None, "cues": None, "actor": "kim"}
        | {"because": "another ferry"},
    ]  # fmt: skip


def test_the_oracle_says_what_a_person_would(history_and_tables: tuple[ByHand, Tables]) -> None:
    history, expected = history_and_tables
    assert differences(expected, tables(lines(history.log))) == []


def test_what_is_projected_is_what_a_person_would_say(
    history_and_tables: tuple[ByHand, Tables], tmp_path: Path
) -> None:
    history, expected = history_and_tables
    project_live(tmp_path, history.log)
    found = projected(tmp_path)
    assert differences(expected, found) == []
