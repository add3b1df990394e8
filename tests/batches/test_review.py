"""Reviews: by the stronger model, and by a person, question by question."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.errors import RefusedError
from contracts.evidence import Answer, Verdict
from contracts.requests import SettleRequest
from palimpsest import Palimpsest
from palimpsest.demo_judge import JudgeServer
from palimpsest.queueing import next_question
from streams.judge.settings import JudgeSettings
from tests.batches.conftest import QUICK, STORE_TIME, Say

SAME = (
    "Cleo paints small wooden boats in the shed behind the house daily",
    "Cleo paints small wooden boats in the shed behind the house",
)
OTHER = [f"the spare key of the boat shed hangs on the hook number {n}" for n in (4, 7)]


def review(opened: Palimpsest, server: JudgeServer) -> dict[str, Any]:
    settings = JudgeSettings(base_url=server.url, **QUICK.model_dump(exclude={"base_url"}))
    return opened.review(judge=settings)


def settle(opened: Palimpsest, newer: str, older: str, answer: Answer) -> None:
    request = SettleRequest(
        request_id="0b6a0f6e-4b0e-4d0e-9a63-70616c696d70",
        candidate_id=newer,
        verdicts=(Verdict(neighbour_id=older, answer=answer),),
    )
    [done] = opened.settle([request])
    assert not isinstance(done, RefusedError)


def reviews(opened: Palimpsest) -> dict[str, str]:
    rows = opened.sql("SELECT decision, review_status FROM dedup_log ORDER BY position")
    return {row["decision"]: row["review_status"] for row in rows}


def test_exact_repeats_are_confirmed_without_a_model(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    say("Ada has a dog", "ada  has a dog")
    answer = review(opened, server)
    assert (answer["exact"], server.calls) == (1, 0)
    assert reviews(opened) == {"hash_exact": "confirmed"}
    assert review(opened, server)["exact"] == 0


@pytest.mark.parametrize(
    ("texts", "status"), [(SAME, "confirmed"), (tuple(OTHER), "reversed")], ids=["same", "other"]
)
def test_other_rejections_are_seen_by_the_stronger_model(
    opened: Palimpsest, say: Say, server: JudgeServer, texts: tuple[str, str], status: str
) -> None:
    opened.set_policy(STORE_TIME)
    older, newer = say(*texts)
    settle(opened, newer, older, "unavailable")
    assert reviews(opened)["fallback_reject"] == "unreviewed"
    answer = review(opened, server)
    assert answer["confirmed"] + len(answer["reversed"]) == 1
    assert reviews(opened)["fallback_reject"] == status
    assert server.requests[-1]["model"] == STORE_TIME.judge.review_model
    [verdict] = opened.sql("SELECT model, answer FROM verdicts WHERE model IS NOT NULL")
    assert verdict["model"] == STORE_TIME.judge.review_model
    calls = server.calls
    review(opened, server)
    assert server.calls == calls


def test_a_reversed_text_never_makes_a_second_living_memory_of_its_hash(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    """Its repeats go with it, and later ones join it."""
    opened.set_policy(STORE_TIME)
    older, newer = say(*OTHER)
    opened.submit({"owner_id": "ada", "text": OTHER[1]}, source="again")
    settle(opened, newer, older, "unavailable")
    assert [one["candidate_id"] for one in review(opened, server)["reversed"]] == [newer]
    [later] = opened.submit({"owner_id": "ada", "text": OTHER[1]}, source="later")
    assert later.joined_to == newer
    assert len(opened.sql("SELECT memory_id FROM memories")) == 2


def test_a_reversal_that_cannot_be_is_told_and_no_error(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    opened.set_policy(STORE_TIME)
    older, newer = say(*OTHER)
    [twin] = opened.submit({"owner_id": "ada", "text": OTHER[1]}, source="twin")
    settle(opened, newer, older, "unavailable")
    opened.merge(older, str(twin.candidate_id))
    answer = review(opened, server)
    assert (answer["reversed"], [one["reason"] for one in answer["refused"]]) == ([], ["supported"])
    assert len(opened.sql("SELECT memory_id FROM memories")) == 1


def test_a_person_is_not_overruled_by_a_model(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    opened.set_policy(STORE_TIME)
    older, newer = say(*OTHER)
    settle(opened, newer, older, "unavailable")
    [row] = opened.sql("SELECT decision_id FROM review_queue")
    opened.review_same(row["decision_id"], actor="kim")
    answer = review(opened, server)
    assert (answer["reversed"], server.calls) == ([], 0)


def test_when_nobody_answers_all_stays_unreviewed(
    opened: Palimpsest, say: Say, server: JudgeServer
) -> None:
    opened.set_policy(STORE_TIME)
    older, newer = say(*OTHER)
    settle(opened, newer, older, "unavailable")
    server.stop()
    assert review(opened, server)["left"] == 1
    assert reviews(opened)["fallback_reject"] == "unreviewed"


# -- a person --------------------------------------------------------------------------------------


def test_a_pending_pair_is_asked_first_and_merged_or_separated(
    opened: Palimpsest, say: Say
) -> None:
    opened.set_policy(STORE_TIME)
    say(*SAME, *OTHER)
    first = opened.next_review()
    assert first is not None
    assert (first["waits_as"], first["new_text"]) == ("pending", OTHER[1])
    opened.review_different(first["decision_id"], actor="kim")
    second = opened.next_review()
    assert second is not None
    assert second["existing_text"] == SAME[0]
    opened.review_same(second["decision_id"], actor="kim")
    assert opened.next_review() is None
    assert opened.status()["pending"] == 0
    counted = opened.sql("SELECT decision, actor FROM decisions WHERE rank = 'person'")
    assert {(row["decision"], row["actor"]) for row in counted} == {
        ("llm_keep", "kim"),
        ("manual_join", "kim"),
    }


def test_a_join_is_confirmed_or_taken_out(opened: Palimpsest, say: Say) -> None:
    opened.set_policy(STORE_TIME)
    say("Ada owns a boat", "Ada owns the boat", "Ben has a red car", "Ben has the red car")
    joins = [row["decision_id"] for row in opened.sql("FROM joins ORDER BY position")]
    assert joins == []
    older, newer = say(*OTHER)
    settle(opened, newer, older, "unavailable")
    row = next_question(opened._desk)
    while row is not None and row["waits_as"] == "pending":
        opened.review_different(row["decision_id"])
        row = next_question(opened._desk)
    assert row is not None
    assert (row["waits_as"], row["decision"]) == ("unreviewed", "fallback_reject")
    opened.review_different(row["decision_id"], because="two keys")
    assert opened.next_review() is None
    assert reviews(opened)["fallback_reject"] == "reversed"
    with pytest.raises(RefusedError, match="nothing waits"):
        opened.review_same(row["decision_id"])
