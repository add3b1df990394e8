"""Why candidates are together, and why they are not (docs/proof.md)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store as facade
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import TokenCheck
from palimpsest.contracts.requests import Selection, SettleRequest
from palimpsest.queries.why import Reason
from palimpsest.streams.embedder import load_engine
from palimpsest.streams.policies import load_policy
from tests.palimpsest.api.test_undo_by_id import say

DOG, LARGE, TWO = "Ada has a big dog.", "Ada has a large dog.", "Ada has two large dogs."
MOON = "The moon is full tonight."


@pytest.fixture
def real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facade, "load_engine", load_engine)


@pytest.fixture(name="store")
def _store(tmp_path: Path, real_model: None) -> Iterator[Palimpsest]:
    """A store with the real model."""
    with Palimpsest.open(tmp_path / "real", by="person") as made:
        yield made


def reasons(store: Palimpsest, a: str, b: str) -> dict[str, Reason]:
    """The reasons by their names; the order of the two candidates does not matter."""
    found = store.why_not(a, b)
    assert store.why_not(b, a) == found
    assert not found["together"]
    return {reason["reason"]: reason for reason in found["reasons"]}


def test_the_path_of_each_member_is_in_words_and_numbers(memories: Palimpsest) -> None:
    first, again, other = (say(memories, text) for text in (DOG, DOG[:-1], MOON))
    found = memories.why(first)
    assert [one["candidate_id"] for one in found["candidates"]] == [first, again]
    start, joined = found["candidates"]
    assert (start["joined_to"], start["compared_with"], start["steps"]) == (None, None, [])
    assert (joined["joined_to"], joined["other_text"]) == (first, DOG)
    names = [step["name"] for step in joined["steps"]]
    assert names == ["Exact", "Jaccard", "Cosine", "Guard", "Verdict"]
    assert memories.why(again)["candidates"] == [joined], "a member's id means it alone"
    assert memories.why(other)["candidates"][0]["decision"] == "stored"
    assert memories.why_not(first, again)["together"]
    with pytest.raises(RefusedError, match="unknown_candidate"):
        memories.why(first, owner_id="bob")


def test_two_owners_and_two_namespaces_are_never_compared(memories: Palimpsest) -> None:
    ada, bob = say(memories, DOG), say(memories, DOG, "bob")
    [work] = memories.submit({"owner_id": "ada", "text": DOG, "namespace": "work"})
    assert [*reasons(memories, ada, bob)] == ["owner"]
    assert memories.why_not(ada, bob)["steps"] == []
    assert [*reasons(memories, ada, str(work.candidate_id))] == ["namespace"]


def test_a_statement_names_who_when_and_why(memories: Palimpsest) -> None:
    a, b, c = (say(memories, text) for text in (DOG, MOON, "A ferry leaves at noon"))
    memories.separate(a, b, actor="grace", because="two things")
    stated = reasons(memories, a, b)["separated"]
    assert (stated["by"], stated["actor"], stated["because"]) == ("person", "grace", "two things")
    assert stated["event_id"] == memories.history(a)["events"][-1]["event_id"]
    memories.merge(b, c)
    assert reasons(memories, a, c)["separated_beside"]["actor"] == "grace"
    memories.unmerge(memory_id=b, by="person", actor="eve")
    assert reasons(memories, b, c)["separated"]["actor"] == "eve"


def test_what_is_hidden_and_what_is_protected_says_so(tmp_path: Path) -> None:
    policy = load_policy("standard").model_copy(update={"protected_categories": ("health",)})
    with Palimpsest.open(tmp_path / "store", policy=policy, by="person") as store:
        a, c = say(store, DOG), say(store, MOON)
        row = {"owner_id": "ada", "text": DOG[:-1], "category": "health"}
        [b] = store.submit(row)
        found = reasons(store, a, str(b.candidate_id))
        assert "health" in found["protected"]["detail"]
        twin = say(store, DOG[:-1])
        assert "health" in reasons(store, twin, c)["protected"]["detail"], "by another's category"
        store.retract(Selection(candidate_id=c))
        assert reasons(store, a, c)["hidden"]["detail"] == "the newer one is hidden"
        store.retract(Selection(candidate_id=a))
        assert reasons(store, a, c)["hidden"]["detail"] == "both are hidden"


@pytest.mark.parametrize("answer", [None, "different"])
def test_a_question_waits_or_the_judge_kept_them_apart(
    store: Palimpsest, answer: str | None
) -> None:
    a, _, b = (say(store, text) for text in (DOG, LARGE, TWO))
    if answer is None:
        found = reasons(store, a, b)
        assert [*found] == ["waiting", "guard"]
        assert found["guard"]["cues"] == ["number"]
        assert found["guard"]["words"] == ("a big dog", "two large dogs")
        return
    asked = store.show_candidate(b)["evidence"]["asked"]
    verdicts = tuple(
        Verdict(neighbour_id=one, answer="different", reasoning="two", model="m") for one in asked
    )
    request = SettleRequest(request_id=str(uuid4()), candidate_id=b, verdicts=verdicts)
    store.writer.ask(request)
    kept = reasons(store, a, b)["judge"]
    assert (kept["because"], kept["model"]) == ("two", "m")
    assert kept["detail"] == "the judge answered: different"
    verdict = store.why_not(a, b)["steps"][-1]
    assert (verdict["found"], verdict["outcome"]) == ("two", "different")


def test_an_answer_that_could_not_be_carried_out_counts_and_one_that_joins_is_no_reason(
    store: Palimpsest,
) -> None:
    """The judge calls one wording the same and the other different, and both are in one memory."""
    a, large, b = (say(store, text) for text in (DOG, LARGE, TWO))
    asked = store.show_candidate(b)["evidence"]["asked"]
    assert {a, large} <= {*asked}
    verdicts = tuple(
        Verdict(neighbour_id=one, answer="different" if one == large else "same", model="m")
        for one in asked
    )
    request = SettleRequest(request_id=str(uuid4()), candidate_id=b, verdicts=verdicts)
    with pytest.raises(RefusedError, match="these are one memory"):
        store.writer.ask(request)
    assert reasons(store, large, b)["judge"]["detail"] == "the judge answered: different"
    assert "judge" not in reasons(store, a, b)
    said = {one: store.why_not(one, b)["steps"][-1]["outcome"] for one in (a, large)}
    assert said == {a: "same", large: "different"}


def test_what_is_under_a_threshold_says_by_how_much(store: Palimpsest) -> None:
    a, b = say(store, DOG), say(store, MOON)
    found = reasons(store, a, b)
    below = found["below"]
    assert below["check"] == "cosine"
    assert below["score"] + below["short_by"] == pytest.approx(below["at_least"], abs=1e-3)
    assert found["guard"]["words"] == ("Ada has a big dog", "The moon is full tonight")
    [nearest] = store.why(b)["candidates"]
    assert nearest["compared_with"] is None


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_threshold_that_must_be_exceeded_is_not_reached_by_equality(
    tmp_path: Path, *, exclusive: bool
) -> None:
    check = TokenCheck(check="tokens", threshold=0.75, exclusive=exclusive, guard=False)
    policy = load_policy("standard").model_copy(update={"checks": (check,)})
    with Palimpsest.open(tmp_path / "store", policy=policy, by="person") as store:
        a, b = say(store, "Ada sings jazz"), say(store, "Ada sings jazz loudly")
        found = store.why_not(a, b)
        [jaccard] = [step for step in found["steps"] if step["name"] == "Jaccard"]
        [threshold] = store.show_candidate(b)["evidence"]["thresholds"]
    assert jaccard["found"] == "0.7500"
    if exclusive:
        assert (jaccard["thresholds"], jaccard["outcome"]) == (["over 0.75: token reject"], "below")
        assert threshold["exclusive"]
        below = next(reason for reason in found["reasons"] if reason["reason"] == "below")
        assert below["detail"] == "tokens 0.7500 does not exceed the lowest threshold, 0.75"
    else:
        assert jaccard["thresholds"] == ["0.75 and more: token reject"]
        assert (jaccard["outcome"], found["together"]) == ("token reject", True)
        assert "exclusive" not in threshold


@pytest.mark.usefixtures("real_model")
def test_what_others_were_nearer_than_says_its_rank(tmp_path: Path) -> None:
    standard = load_policy("standard")
    checks = tuple(
        check.model_copy(update={"top": 1}) if check.check == "cosine" else check
        for check in standard.checks
    )
    policy = standard.model_copy(update={"checks": checks})
    with Palimpsest.open(tmp_path / "one", policy=policy, by="person") as store:
        a, b, c = (say(store, text) for text in (DOG, "Ada has a huge cat", TWO))
        found = [reasons(store, one, c).get("not_retrieved") for one in (a, b)]
        [far] = filter(None, found)
        assert (far["rank"], far["top"]) == (2, 1)
        assert found.index(far) == 1, "the dog is nearer"
        assert far["detail"] == (
            f"with a cosine of {far['score']:.4f} the older one was number 2 of the texts there,"
            " and the policy looks at 1"
        )
        assert store.why_not(b, c)["steps"][-1]["found"] == "nobody was asked about the two"


def test_a_third_near_the_other_of_a_separated_pair_is_a_triangle(store: Palimpsest) -> None:
    big, two = say(store, DOG), say(store, TWO)
    store.separate(big, two)
    large = say(store, LARGE)
    assert store.get(large)["memory_id"] == big
    [found] = store.triangles("ada", at_least=0.85)
    assert (found["one"], found["other"], found["joined"]) == (big, two, large)
    assert store.triangles("ada", at_least=0.99) == []
    store.withdraw(big, two)
    assert store.triangles("ada", at_least=0.0) == []


@pytest.mark.usefixtures("real_model")
def test_what_the_judge_was_not_asked_about_says_so(tmp_path: Path) -> None:
    standard = load_policy("standard")
    judge = standard.judge.model_copy(update={"neighbours": 1, "frames": 0, "of_owner": None})
    for judged, why in (
        (judge, "the judge was asked about other texts"),
        (judge.model_copy(update={"enabled": False}), "asks no judge"),
    ):
        policy = standard.model_copy(update={"judge": judged, "name": "one"})
        with Palimpsest.open(tmp_path / why[-5:], policy=policy, by="person") as store:
            a, b, c = (say(store, text) for text in (DOG, "Ada has three small dogs.", TWO))
            found = [reasons(store, one, c) for one in (a, b)]
            [unasked] = [one["unasked"] for one in found if "unasked" in one]
            assert why in unasked["detail"]
            assert unasked["top"] == 1
            [nearer] = [one for one in found if "unasked" not in one]
            assert ("waiting" if judged.enabled else "judge") in nearer


def test_every_pair_of_two_memories_has_a_reason(store: Palimpsest) -> None:
    texts = [
        DOG,
        LARGE,
        TWO,
        MOON,
        "Ada lives in Paris.",
        "Ada lives in Rome.",
        "ada has a big dog",
    ]
    ids = [say(store, text) for text in texts]
    apart = 0
    for a, b in product(ids, ids):
        found: Any = store.why_not(a, b)
        assert bool(found["reasons"]) is not found["together"]
        apart += not found["together"]
    assert 20 < apart < 42
