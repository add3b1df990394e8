"""`recall` shows indistinguishable memories once, marks unsettled ones, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.streams.policies import load_policy

STANDARD = load_policy("standard")
CATS = "every winter evening since the move two cats sleep near our old kitchen stove until dawn"
SAME = f"{CATS}."
MORE = CATS.replace("two", "three")


@pytest.fixture
def unchecked(tmp_path: Path) -> Iterator[Palimpsest]:
    """A store in which nothing was compared on arrival."""
    off = STANDARD.model_copy(update={"enabled": False})
    with Palimpsest.open(tmp_path / "store", policy=off, by="person") as store:
        yield store


def submit(store: Palimpsest, *texts: str, **fields: str) -> list[str]:
    rows = [{"owner_id": "ada", "text": text, **fields} for text in texts]
    ids = [str(one.candidate_id) for one in store.submit(rows)]
    store.set_policy(STANDARD)
    return ids


def test_it_is_folded_before_the_cut_and_nothing_is_written(unchecked: Palimpsest) -> None:
    cats, same, more = submit(unchecked, CATS, SAME, MORE)
    before = unchecked.position
    first, second = unchecked.recall("ada", CATS, k=2)
    assert (first["memory_id"], first["folded"]) == (cats, [same])
    assert {member["text"] for member in first["members"]} == {CATS, SAME}
    assert (second["memory_id"], second["folded"]) == (more, [])
    shown = unchecked.recall("ada", CATS, k=2, fold=False)
    assert [one["memory_id"] for one in shown] == [cats, same]
    assert [one["folded"] for one in shown] == [[], []]
    assert len(unchecked.recall("ada", CATS, k=3, fold=False)) == 3
    assert unchecked.recall("ada", CATS, k=1) == [first], "what came too late to be a hit, too"
    assert unchecked.position == before
    assert unchecked.status()["memories"] == 3


def test_a_plan_to_forget_names_all_that_recall_folds(unchecked: Palimpsest) -> None:
    ids = submit(unchecked, CATS, SAME, MORE)
    plan = unchecked.find("ada", CATS, by=["meaning"])
    assert [hit["memory_id"] for hit in plan["hits"]] == ids
    unchecked.forget(ids, expect=plan["token"])
    assert unchecked.recall("ada", CATS) == []


def test_a_fold_is_of_pairs_and_not_of_chains(unchecked: Palimpsest) -> None:
    small, tiny, couch = submit(
        unchecked,
        "a small cat sleeps on the sofa",
        "a tiny cat sleeps on the sofa",
        "a tiny cat sleeps on the couch",
    )
    found = unchecked.recall("ada", "a small cat sleeps on the sofa")
    assert [(one["memory_id"], one["folded"]) for one in found] == [(small, [tiny]), (couch, [])]
    [middle] = unchecked.recall("ada", "a tiny cat sleeps on the sofa", k=1)
    assert middle["memory_id"] == tiny
    assert len(middle["folded"]) == 1, "one of the two: they are not near each other"


def test_what_was_said_to_differ_or_is_protected_stays_apart(unchecked: Palimpsest) -> None:
    cats, same, _ = submit(unchecked, CATS, SAME, MORE)
    unchecked.separate(cats, same)
    assert [one["folded"] for one in unchecked.recall("ada", CATS)] == [[], [], []]
    unchecked.withdraw(cats, same)
    assert unchecked.recall("ada", CATS)[0]["folded"] == [same]
    unchecked.set_policy(STANDARD.model_copy(update={"protected_categories": ("vow",)}))
    submit(unchecked, CATS.capitalize(), category="vow")
    unchecked.set_policy(STANDARD.model_copy(update={"protected_categories": ("vow",)}))
    found = unchecked.recall("ada", CATS, k=9)
    assert [one["folded"] for one in found] == [[same], [], []]


def test_namespaces_and_policies_without_a_joining_zone_fold_nothing(unchecked: Palimpsest) -> None:
    submit(unchecked, CATS)
    unchecked.set_policy(STANDARD.model_copy(update={"enabled": False}))
    submit(unchecked, SAME, namespace="elsewhere")
    assert [one["folded"] for one in unchecked.recall("ada", CATS)] == [[], []]
    unchecked.set_policy(STANDARD.model_copy(update={"enabled": False}))
    submit(unchecked, SAME)
    assert len(unchecked.recall("ada", CATS, namespace="default")) == 1
    unchecked.set_policy(STANDARD.model_copy(update={"enabled": False}))
    assert len(unchecked.recall("ada", CATS, namespace="default")) == 2


def test_as_of_then_it_is_folded_by_the_policy_of_then(unchecked: Palimpsest) -> None:
    submit(unchecked, CATS, SAME)
    position = unchecked.position
    assert len(unchecked.recall("ada", CATS, as_of=position - 1)) == 2
    assert len(unchecked.recall("ada", CATS, as_of=position)) == 1


def test_what_waits_for_the_judge_is_unsettled_on_both_sides(memories: Palimpsest) -> None:
    cats, more, other = submit(memories, CATS, MORE, "tea in the shed")
    found = {one["memory_id"]: one["unsettled"] for one in memories.recall("ada", CATS)}
    assert found == {cats: [more], more: [cats], other: []}
    memories.separate(cats, more)
    assert all(one["unsettled"] == [] for one in memories.recall("ada", CATS))


def test_former_wordings_are_shown_on_request(memories: Palimpsest) -> None:
    paris, berlin = submit(memories, "she lives in Paris", "her home is in Berlin")
    memories.merge(paris, berlin, face=berlin)
    [now] = memories.recall("ada", "she lives in Paris")
    assert (now["memory_id"], now["face"], now["score"]) == (paris, "her home is in Berlin", 1.0)
    assert [(member["text"], member["relation"]) for member in now["members"]] == [
        ("her home is in Berlin", "same")
    ]
    [all_of_it] = memories.recall("ada", "she lives in Paris", former=True)
    relations = {member["candidate_id"]: member["relation"] for member in all_of_it["members"]}
    assert relations == {paris: "former", berlin: "same"}
    assert {member["source"] for member in all_of_it["members"]} == {"python"}
    assert {member["decision"] for member in all_of_it["members"]} == {"stored", "manual_join"}
