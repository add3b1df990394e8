"""`find`: every memory that mentions the query in any wording, and no lookalikes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest, RefusedError, UsageError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import Selection, SettleRequest
from tests.palimpsest.api.test_evidence import COMPOSED, NEWER, OLDER, asking_about_all


def submit(store: Palimpsest, *texts: str, owner: str = "ada", **fields: str) -> list[str]:
    rows = [{"owner_id": owner, "text": text, **fields} for text in texts]
    return [str(one.candidate_id) for one in store.submit(rows)]


def found(store: Palimpsest, query: str, **how: object) -> list[tuple[str, str]]:
    plan = store.find("ada", query, by=["words"], **how)  # type: ignore[arg-type]
    return [(hit["why"], hit["face"]) for hit in plan["hits"]]


def test_words_match_whole_and_of_this_owner_alone(memories: Palimpsest) -> None:
    submit(memories, "Order ABC-123 is late", "Order ABC1234 came", "tea at five")
    submit(memories, "Order ABC123 is mine", owner="bob")
    assert found(memories, "abc123") == [("word", "Order ABC-123 is late")]
    assert found(memories, "order")[0][0] == "word"
    assert len(found(memories, "order")) == 2
    assert found(memories, "...") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("오늘 친구들과 끝말잇기를 했다.", "끝말잇기"),
        ("قرأت الكِتاب أمس", "الكتاب"),
        ("أعطت المفتاح لأحمد", "أحمد"),
        ("She moved to İzmir", "izmir"),
        ("Her number is 555-1234.", "5551234"),
        ("Her number is 5551234.", "555-1234"),
        ("Il prezzo: 12,50", "12,50"),
    ],
)
def test_words_are_found_with_what_is_attached_to_them(
    memories: Palimpsest, text: str, query: str
) -> None:
    submit(memories, text, "tea at five")
    assert found(memories, query) == [("word", text)]


def test_another_wording_of_a_memory_is_an_alias(memories: Palimpsest) -> None:
    a, b = submit(memories, "the red boat Mistral", "her ship at the pier")
    memories.merge(a, b, face=b)
    assert found(memories, "mistral") == [("alias", "her ship at the pier")]
    [hit] = memories.find("ada", "mistral", by=["words"])["hits"]
    assert (hit["text"], hit["candidate_id"]) == ("the red boat Mistral", a)
    assert sorted(hit["members"]) == sorted([a, b])


@pytest.mark.parametrize("policy", ["standard", "replace-or-merge"])
def test_every_wording_is_found_and_forgotten_whatever_newcomers_are_compared_with(
    tmp_path: Path, policy: str
) -> None:
    boat = "the red boat Mistral lies at the long old pier of the harbour near the two tall cranes"
    with Palimpsest.open(tmp_path / "store", policy=policy, by="person") as store:
        a, b = submit(store, boat, "tea at five")
        store.merge(a, b, face=b)
        assert found(store, "mistral") == [("alias", "tea at five")]
        assert store.recall("ada", boat)[0]["face"] == "tea at five"
        store.forget(store.find("ada", "mistral", by=["words"]), again="ask")
        again = store.submit(
            [{"owner_id": "ada", "text": text} for text in (boat, boat.replace("tall", "high"))]
        )
        assert [one.decision for one in again] == ["pending", "pending"]
        assert store.list("ada")["memories"] == []


def test_a_composed_text_is_found_in_its_namespace_alone(memories: Palimpsest) -> None:
    memories.set_policy(asking_about_all("candidates"))
    older, newer = submit(memories, OLDER, NEWER, namespace="cats")
    verdict = Verdict(neighbour_id=older, answer="compose")
    request = SettleRequest(
        request_id=request_id(), candidate_id=newer, verdicts=(verdict,), composed=COMPOSED
    )
    memories.settle([request])
    assert found(memories, "dog too", namespace="cats") == [("word", COMPOSED)]
    assert found(memories, "dog too", namespace="dogs") == []
    [near] = memories.find("ada", "dog too", by=["meaning"], namespace="cats")["hits"]
    assert (near["text"], near["candidate_id"]) == (COMPOSED, None), "nobody said it"
    assert memories.find("ada", "dog too", by=["meaning"], namespace="dogs")["hits"] == []


def test_what_is_retracted_is_not_found_and_what_comes_later_is(memories: Palimpsest) -> None:
    [a] = submit(memories, "call +1-555-123-4567 about the boat")
    query = "(+1) 555 123 4567"
    assert len(found(memories, query)) == 1
    memories.retract(Selection(candidate_id=a))
    assert found(memories, query) == []
    submit(memories, "her number: +15551234567", namespace="phones")
    assert found(memories, query) == [("word", "her number: +15551234567")]
    assert found(memories, query, namespace="phones") != []
    assert found(memories, query, namespace="default") == []


def test_meaning_proposes_after_what_mentions(memories: Palimpsest) -> None:
    submit(
        memories, "two cats sleep near the stove", "two dogs sleep near the stove", "tea at five"
    )
    plan = memories.find("ada", "dogs sleep", k=1)
    assert [hit["why"] for hit in plan["hits"]] == ["word", "cosine"]
    assert "score" in plan["hits"][1]
    word, near = plan["hits"]
    assert near["candidate_id"] == near["memory_id"] != word["candidate_id"]
    assert (near["text"], near["members"]) == (near["face"], [near["memory_id"]])
    assert near["urn"] == f"palimpsest://ada/default/{near['memory_id']}"
    assert (plan["owner_id"], plan["query"]) == ("ada", "dogs sleep")
    assert [h["why"] for h in memories.find("ada", "tea", by=["meaning"], k=1)["hits"]] == [
        "cosine"
    ]


def test_the_token_stands_for_the_memories_and_not_for_the_log(memories: Palimpsest) -> None:
    a, b = submit(memories, "the red boat Mistral", "her ship at the pier")
    first = memories.find("ada", "mistral", by=["words"])
    submit(memories, "tea at five")
    again = memories.find("ada", "mistral", by=["words"])
    assert again["token"] == first["token"]
    assert again["position"] > first["position"]
    memories.merge(a, b)
    assert memories.find("ada", "mistral", by=["words"])["token"] != first["token"]


def test_of_nobody_nothing_is_found(memories: Palimpsest) -> None:
    assert memories.find("nobody", "dog")["hits"] == []
    with pytest.raises(UsageError, match="by"):
        memories.find("ada", "dog", by=["magic"])  # type: ignore[list-item]


def test_forgetting_a_plan_takes_what_matched_by_words(memories: Palimpsest) -> None:
    goat, farm = submit(memories, "Ada keeps a goat called Gus", "Ada owns a farm in Wales")
    plan = memories.find("ada", "goat")
    assert [hit["why"] for hit in plan["hits"]] == ["word", "cosine"]
    assert memories.forget(plan)["candidates"] == [goat]
    near = memories.find("ada", "goat")
    with pytest.raises(UsageError, match="matched by words"):
        memories.forget(near)
    assert memories.forget([farm], expect=near["token"])["candidates"] == [farm]


def test_a_token_covers_any_of_the_memories_that_were_shown(memories: Palimpsest) -> None:
    a, b, c = submit(memories, "a goat called Gus", "the goat shed", "tea at five")
    plan = memories.find("ada", "goat", by=["words"])
    for ids in ([a], [b], [a, b]):
        dry = memories.forget(ids, expect=plan["token"], dry_run=True)
        assert dry["candidates"] == ids
    memories.update(b, "the goat barn")
    for ids in ([b], [a, b], [c], [a, c]):
        with pytest.raises(RefusedError, match="moved_on"):
            memories.forget(ids, expect=plan["token"])
    one = {**plan, "hits": [hit for hit in plan["hits"] if hit["memory_id"] == a]}
    assert memories.forget(one)["candidates"] == [a]


def test_a_version_of_any_read_is_what_a_write_may_expect(memories: Palimpsest) -> None:
    [a] = submit(memories, "a goat called Gus")
    reads: tuple[Mapping[str, Any], ...] = (
        memories.get(a),
        memories.recall("ada", "goat")[0],
        memories.list("ada")["memories"][0],
        memories.show(a),
        memories.history(a),
        memories.show_candidate(a),
        memories.find("ada", "goat")["hits"][0],
    )
    assert len({read["version"] for read in reads}) == 1
    changed = memories.update(a, "a goat called Gustav", expect=reads[0]["version"])
    assert memories.get(a)["version"] == changed["version"]
    with pytest.raises(RefusedError, match="moved_on"):
        memories.forget(a, expect=reads[0]["version"])
    memories.forget(a, expect=changed["version"])
