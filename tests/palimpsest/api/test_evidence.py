"""`show_candidate` shows the text that each neighbour's score belongs to."""

from __future__ import annotations

from uuid import uuid4

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import SettleRequest
from palimpsest.streams.policies import load_policy

WORDS = "each winter evening since we moved two grey cats sleep on a chair beside the stove".split()
OLDER, NEWER, COMPOSED, NEXT = (
    " ".join([*WORDS, *own.split()])
    for own in ("until dawn comes", "and one dog", "and one dog too", "and one dog also")
)


def asking_about_all(search: str) -> Policy:
    """A `replace-or-merge` policy that asks about everything, and joins nothing by itself."""
    rules = load_policy("replace-or-merge").model_dump(mode="json")
    zones = [{"at_least": 0.5, "action": "pending"}]
    checks = [rules["checks"][0] | {"zones": zones}]
    changes = {"name": "asking about all", "search": search, "checks": checks}
    return Policy.model_validate(rules | changes)


def submit(store: Palimpsest, *texts: str) -> list[str]:
    rows = [{"owner_id": "ada", "text": text} for text in texts]
    return [str(one.candidate_id) for one in store.submit(rows)]


def settle(
    store: Palimpsest, candidate_id: str, *verdicts: Verdict, composed: str | None = None
) -> None:
    request = SettleRequest(
        request_id=str(uuid4()), candidate_id=candidate_id, verdicts=verdicts, composed=composed
    )
    store.settle([request])


@pytest.mark.parametrize(("search", "compared"), [("memories", COMPOSED), ("candidates", NEWER)])
def test_a_neighbour_has_the_text_that_was_compared(
    memories: Palimpsest, search: str, compared: str
) -> None:
    memories.set_policy(asking_about_all(search))
    older, newer = submit(memories, OLDER, NEWER)
    verdict = Verdict(neighbour_id=older, answer="compose")
    settle(memories, newer, verdict, composed=COMPOSED)
    [last] = submit(memories, NEXT)

    def told() -> tuple[str, str]:
        [neighbour] = memories.show_candidate(last)["evidence"]["neighbours"]
        return neighbour["candidate_id"], neighbour["text"]

    assert told() == (newer, compared)
    memories.unmerge(candidate_id=newer)
    assert told() == (newer, compared), "what was compared stays what it was"


def test_who_takes_the_face_was_compared_with_the_one_before(memories: Palimpsest) -> None:
    memories.set_policy(load_policy("replace-or-merge"))
    older, newer = submit(memories, COMPOSED, NEXT)
    shown = memories.show_candidate(newer)
    assert shown["decision"] == "superseded"
    [neighbour] = shown["evidence"]["neighbours"]
    assert (neighbour["candidate_id"], neighbour["text"]) == (older, COMPOSED)


@pytest.mark.parametrize("why", ["the same evening", None])
def test_a_join_is_told_with_the_reason_of_the_verdict_that_made_it(
    memories: Palimpsest, why: str | None
) -> None:
    memories.set_policy(asking_about_all("candidates"))
    first, second = submit(memories, OLDER, NEWER)
    settle(memories, second, Verdict(neighbour_id=first, answer="different"))
    [last] = submit(memories, NEXT)
    apart = Verdict(neighbour_id=first, answer="different", reasoning="no dog in it")
    settle(memories, last, apart, Verdict(neighbour_id=second, answer="same", reasoning=why))

    told = {
        member["candidate_id"]: member["reasoning"] for member in memories.show(last)["members"]
    }
    assert told[last] == why
    [settled] = [
        one for one in memories.show_candidate(last)["timeline"] if one["event"] == "settled"
    ]
    assert settled.get("reasoning") == why
    [row] = memories.sql(
        "SELECT llm_reasoning FROM dedup_log WHERE candidate_id = ? AND decision = 'llm_reject'",
        [last],
    )
    assert row["llm_reasoning"] == why


LOGGED = """
SELECT decision, existing_text, similarity FROM {} WHERE candidate_id = ? ORDER BY position
"""


@pytest.mark.parametrize("search", ["memories", "candidates"])
def test_a_score_is_told_only_with_the_text_that_it_belongs_to(
    memories: Palimpsest, search: str
) -> None:
    memories.set_policy(asking_about_all(search))
    [older] = submit(memories, OLDER)
    [newer] = submit(memories, NEWER)
    [asked] = memories.sql(LOGGED.format("review_queue"), [newer])
    assert asked["existing_text"] == OLDER
    assert asked["similarity"] > 0.5
    memories.update(older, "She moved to Lisbon.")
    settle(memories, newer, Verdict(neighbour_id=older, answer="same"))
    for view in ("dedup_log", "review_queue"):
        answered = memories.sql(LOGGED.format(view), [newer])[-1]
        assert answered == {
            "decision": "llm_reject",
            "existing_text": "She moved to Lisbon.",
            "similarity": None,
        }
    assert memories.sql(LOGGED.format("dedup_log"), [newer])[0] == asked


def test_a_reversal_is_told_with_the_texts_of_what_it_took_out(memories: Palimpsest) -> None:
    memories.set_policy(asking_about_all("memories"))
    older, between = submit(memories, OLDER, NEWER)
    verdict = Verdict(neighbour_id=older, answer="compose")
    settle(memories, between, verdict, composed=COMPOSED)
    memories.set_policy(load_policy("replace-or-merge"))
    [newer] = submit(memories, NEXT)
    memories.unmerge(candidate_id=newer)
    joined, taken_out = memories.sql(LOGGED.format("dedup_log"), [newer])
    assert (joined["decision"], taken_out["decision"]) == ("superseded", "reversed")
    assert taken_out | {"decision": "superseded"} == joined
    assert joined["existing_text"] == COMPOSED


def test_a_rewording_of_something_forgotten_was_compared_with_its_own_text(
    memories: Palimpsest,
) -> None:
    memories.set_policy(load_policy("replace-or-merge"))
    [older] = submit(memories, OLDER)
    memories.update(older, "She moved to Lisbon.")
    memories.forget([older], again="ask")
    [again] = submit(memories, f"{OLDER}!")
    told = [memories.sql(LOGGED.format(view), [again])[0] for view in ("dedup_log", "review_queue")]
    assert [one["existing_text"] for one in told] == [OLDER, OLDER]
    shown = memories.show_candidate(again)["evidence"]
    assert shown["neighbours"][0]["text"] == OLDER


def test_a_member_that_was_answered_about_has_the_cues_of_its_question(
    memories: Palimpsest,
) -> None:
    first, second = submit(memories, *(f"Ada paints {n} wooden boats in the shed" for n in (2, 3)))
    assert memories.show_candidate(second)["pending"]
    settle(memories, second, Verdict(neighbour_id=first, answer="update"))
    cues = {member["candidate_id"]: member["cues"] for member in memories.show(second)["members"]}
    assert cues == {first: [], second: ["number"]}
    [row] = memories.sql("SELECT cues FROM dedup_log WHERE decision = 'superseded'")
    assert row["cues"] == cues[second]


def test_a_pair_that_the_guard_proved_is_told_with_the_cosine_that_this_takes(
    memories: Palimpsest,
) -> None:
    rules = load_policy("standard").model_dump(mode="json")
    check = rules["checks"][-1] | {"near_identical": 0.0}
    memories.set_policy(Policy.model_validate(rules | {"checks": [check], "judge": {}}))
    _, newer = submit(memories, "User likes tea.", "Likes tea")
    shown = memories.show_candidate(newer)
    assert shown["decision"] == "auto_reject"
    proven = {"check": "near_identical", "at_least": 0.0, "then": "auto_reject"}
    assert shown["evidence"]["thresholds"][-1] == proven
