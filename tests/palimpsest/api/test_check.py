"""`check` says what an immediate `submit` would do, and writes nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.answers import Checked
from palimpsest.contracts.errors import InvalidInputError, UsageError
from palimpsest.contracts.policy import Policy
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy, preset_names
from tests.long import long_but

WORDS = "every winter two cats sleep near our old kitchen stove until dawn and noon".split()
UNASKED = load_policy("replace-or-merge").model_copy(
    update={"judge": load_policy("replace-or-merge").judge.model_copy(update={"enabled": False})}
)
POLICIES = [*map(load_policy, preset_names()), UNASKED]
Row = Mapping[str, Any]


def history(seed: int) -> list[Row]:
    """Candidates, near each other or not, some repeated, some under an id that is taken."""
    chance = random.Random(seed)
    said: list[Row] = []
    for number in range(70):
        if said and chance.random() < 0.1:
            said.append(chance.choice(said))
            continue
        tail = chance.choices(["3", "4", "not", "Rome", "Paris", "!"], k=chance.randrange(3))
        said.append(
            {
                "owner_id": "ada",
                "text": " ".join([*WORDS[chance.randrange(5) :], *tail]),
                "id": str(number if chance.random() < 0.95 else chance.randrange(number + 1)),
                "source": "law",
                "session_id": chance.choice([None, "monday"]),
                "category": chance.choice([None, None, None, "gotcha"]),
            }
        )
    return said


def same_as_decided(store: Palimpsest, answer: Checked, row: Row) -> str:
    """Submit the checked row, and compare every part of the answer; return the decision."""
    [outcome] = store.submit(row, source="law")
    assert (answer["result"], answer["decision"]) == (outcome.result, outcome.decision)
    if outcome.result != "decided":
        assert (answer["reason"], answer["detail"]) == (outcome.reason, outcome.detail)
        return outcome.result
    assert outcome.candidate_id is not None
    assert answer["similar_facts"] == outcome.similar_facts
    shown = store.show_candidate(outcome.candidate_id)
    evidence = shown["evidence"]
    if outcome.joined_to is not None:
        assert answer["neighbour"] is not None
        assert answer["neighbour"]["candidate_id"] == outcome.joined_to
        assert answer["similarity"] == shown["joins"][-1]["similarity"]
        assert answer["memory_id"] == outcome.memory_id
        return str(outcome.decision)
    assert answer["memory_id"] is None
    assert answer["asked"] == [*evidence["asked"]]
    assert [
        (neighbour["candidate_id"], neighbour["cosine"], neighbour["cues"])
        for neighbour in answer["neighbours"]
    ] == [
        (neighbour["candidate_id"], neighbour.get("cosine"), neighbour.get("cues", []))
        for neighbour in evidence["neighbours"]
    ]
    return str(outcome.decision)


@pytest.mark.parametrize(
    "policy",
    long_but(*map(load_policy, ("standard", "layered")), UNASKED, of=POLICIES),
    ids=lambda policy: policy.name + policy.hash[-4:],
)
def test_a_submit_right_after_decides_the_same(policy: Policy, tmp_path: Path) -> None:
    """One history of many candidates, each checked first; every kind of decision occurs."""
    seen: Counter[str] = Counter()
    with Palimpsest.open(tmp_path, policy=policy, by="person") as store:
        for row in history(7):
            before = store.position
            answer = store.check(row, source="law")
            assert store.position == before
            seen[same_as_decided(store, answer, row)] += 1
    assert seen["stored"] > 0
    assert seen["hash_exact"] + seen["recent_capture"] > 2
    assert seen["known"] > 2
    assert seen["invalid"] > 0
    assert len(seen) >= (5 if policy.checks else 4), seen


@pytest.fixture(name="log")
def bytes_of_the_log(memories: Palimpsest) -> Log:
    return memories.reader.log


def test_of_a_new_store_nothing_is_written(tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path, by="person") as store:
        answer = store.check({"owner_id": "ada", "text": "Ada lives in Rome."})
        assert answer["decision"] == "stored"
        assert store.position == 0
        tables = ("events", "dead_letters", "inbox")
        counts = [store.reader.log.row(f"SELECT count(*) FROM {table}") for table in tables]
        assert counts == [(0,)] * len(tables)
    with Log.open(tmp_path / LOG_FILE) as log:
        assert log.head() == 0


def test_what_is_invalid_is_refused_and_kept_nowhere(memories: Palimpsest, log: Log) -> None:
    """As over HTTP and MCP: of what breaks a rule there is no decision to show."""
    for check in (memories.check, memories.check_duplicate, memories.dedup_result):
        with pytest.raises(InvalidInputError) as wrong:
            check({"owner_id": "ada", "text": " "})
        assert (wrong.value.reason, wrong.value.detail) == ("field", "text: is blank")
    event = {"specversion": "1.0", "type": "palimpsest.session_ended.v1", "id": "1", "source": "s"}
    with pytest.raises(InvalidInputError, match="unknown_type"):
        memories.check(event | {"data": {"owner_id": "ada", "session_id": "monday"}})
    assert log.row("SELECT count(*) FROM dead_letters") == (0,)


def test_the_urn_of_a_duplicate_has_the_owner_and_the_namespace_of_an_event(
    memories: Palimpsest,
) -> None:
    data = {"owner_id": "ada", "text": "Ada lives in Rome.", "namespace": "homes"}
    [said] = memories.submit([data])
    event = {"specversion": "1.0", "type": "palimpsest.candidate.v1", "id": "1", "source": "s"}
    for given in (data, event | {"data": data}):
        found = memories.check_duplicate(given)["matched_urn"]
        assert found == f"palimpsest://ada/homes/{said.memory_id}"


def test_an_id_that_is_known_with_other_content_is_a_conflict(memories: Palimpsest) -> None:
    row = {"owner_id": "ada", "text": "Ada lives in Rome.", "id": "1", "source": "law"}
    memories.submit(row)
    other = row | {"text": "Ada lives in Paris."}
    for _ in range(2):
        answer = memories.check(other)
        assert (answer["result"], answer["reason"]) == ("invalid", "id_conflict")
        same_as_decided(memories, answer, other)
    for shape in (memories.check_duplicate, memories.dedup_result):
        with pytest.raises(InvalidInputError, match="id_conflict"):
            shape(other)


def test_a_check_counts_with_what_an_earlier_call_decided(memories: Palimpsest) -> None:
    memories.submit({"owner_id": "ada", "text": "Ada lives in Rome."})
    foreseen = memories.check({"owner_id": "ada", "text": " Ada lives in\u200b Rome."})
    assert (foreseen["decision"], foreseen["similarity"]) == ("hash_exact", 1.0)
    assert foreseen["neighbour"] is not None
    assert foreseen["neighbour"]["text"] == "Ada lives in Rome."
    assert foreseen["duration_ms"] > 0


@pytest.mark.parametrize("preset", ["standard", "replace-or-merge"])
def test_it_says_what_keeps_a_rewording_waiting(memories: Palimpsest, preset: str) -> None:
    memories.set_policy(load_policy(preset))
    text = " ".join(WORDS)
    [gone] = memories.submit({"owner_id": "ada", "text": text})
    memories.forget(str(gone.candidate_id))
    reworded = {"owner_id": "ada", "text": f"{text} today", "id": "again", "source": "law"}
    answer = memories.check(reworded)
    assert (answer["decision"], answer["check"]) == ("pending", "forgotten")
    assert answer["neighbour"] is not None
    assert answer["neighbour"]["candidate_id"] == gone.candidate_id
    assert answer["similarity"] == answer["neighbour"]["cosine"]
    outcome = memories.submit(reworded)[0]
    assert outcome.decision == "pending"
    assert (answer["reason"], answer["detail"]) == (outcome.reason, outcome.detail)
    assert outcome.reason == "forgotten"
    assert memories.list("ada")["total"] == 0


def test_it_says_what_would_not_be_recalled_as_submit_does(memories: Palimpsest) -> None:
    kept = {"owner_id": "ada", "text": "Ada keeps bees"}
    gone = {"owner_id": "ada", "text": "Ada sells honey"}
    ended = {"expires_at": "2020-01-01"}
    memories.forget(str(memories.submit([kept, gone])[1].candidate_id))
    asked = [kept, gone, {**kept, **ended}, {**kept, "text": "The shop is closed", **ended}]
    foreseen = [memories.check(row) for row in asked]
    outcomes = memories.submit(asked)
    assert [outcome.reason for outcome in outcomes] == [None, "forgotten", None, "expired"]
    assert [(one["reason"], one["detail"]) for one in foreseen] == [
        (outcome.reason, outcome.detail) for outcome in outcomes
    ]


def test_a_policy_is_set_by_its_presets_name(memories: Palimpsest) -> None:
    memories.set_policy("layered")
    assert memories.policy.name == "layered"
    with pytest.raises(UsageError):
        memories.set_policy("layerd")
    assert memories.policy.name == "layered"
