"""After a correction the new fact is recalled first, and `submit` names the old one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.correcting import CORRECTIONS, FIRST
from palimpsest import Palimpsest
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.shown import Recalled
from palimpsest.projections.recall.presumed import PresumedNames
from palimpsest.streams.policies import load_policy, preset_names

EIGHT = CORRECTIONS[:FIRST]
PARIS, ROME = "Ada lives in Paris.", "Ada lives in Rome."


def say(store: Palimpsest, *texts: str, **fields: Any) -> list[str]:
    rows = [{"owner_id": "ada", "text": text, **fields} for text in texts]
    return [str(one.memory_id) for one in store.submit(rows)]


def faces(found: list[Recalled]) -> list[str]:
    return [hit["face"] for hit in found]


def test_the_new_fact_comes_first_of_each_correction(memories: Palimpsest) -> None:
    assert len({one["kind"] for one in EIGHT}) == FIRST
    for when in ("before", "after"):
        say(memories, *(one[when] for one in EIGHT))
    for one in EIGHT:
        found = memories.recall("ada", one["before"], k=2)
        assert faces(found) == [one["after"], one["before"]]
        new, old = found
        assert (new["frame"], old["frame"]) == ([old["memory_id"]], [new["memory_id"]])
        assert (new["unsettled"], old["unsettled"]) == (new["frame"], old["frame"])


def test_a_change_in_two_clauses_comes_first_without_names(memories: Palimpsest) -> None:
    old, new = "I work at Google", "I no longer work at Google, I work at Meta now"
    say(memories, old)
    [said] = memories.submit([{"owner_id": "ada", "text": new}])
    assert [one["assertion"] for one in said.frame or ()] == [old]
    for question in (old, "Where do I work?"):
        assert faces(memories.recall("ada", question)) == [new, old]


def test_the_frame_stands_at_the_place_of_its_best_and_others_stay(memories: Palimpsest) -> None:
    say(memories, PARIS, "Ada lives in a house with a garden.", ROME, "Tea is green.")
    found = memories.recall("ada", PARIS, k=4)
    assert faces(found)[:2] == [ROME, PARIS]
    assert found[0]["score"] < found[1]["score"]
    assert ["frame" in hit for hit in found] == [True, True, False, False]
    assert faces(memories.recall("ada", PARIS, k=1)) == [PARIS], "only hits are ordered"


def test_a_memory_is_among_the_first_by_its_own_text(memories: Palimpsest) -> None:
    """Even if newer ones of its frame, which are shown before it, would fill the answer."""
    said = ["Ada lives in Paris.", "I moved to Rome.", "I moved to Oslo.", "I moved to Bern."]
    memories.set_names("ada", ["Ada", "I"])
    say(memories, *said)
    for k in (1, 2, 3):
        for text in said:
            for question in (text, f" {text.upper()}"):
                found = memories.recall("ada", question, k=k)
                assert text in faces(found), (text, k)
                assert len(found) == k
    assert faces(memories.recall("ada", PARIS, k=4))[-1] == PARIS, "the newest come first"
    assert PARIS not in faces(memories.recall("ada", "Where does Ada live?", k=1))


def test_the_newest_is_what_happened_last(memories: Palimpsest) -> None:
    say(memories, ROME, occurred_at="2025-05-01T00:00:00Z")
    say(memories, PARIS, occurred_at="2024-05-01T00:00:00Z")
    assert faces(memories.recall("ada", PARIS)) == [ROME, PARIS]


def test_what_was_told_apart_is_ordered_by_score(memories: Palimpsest) -> None:
    paris, rome = say(memories, PARIS, ROME)
    assert faces(memories.recall("ada", PARIS)) == [ROME, PARIS]
    memories.separate(paris, rome)
    found = memories.recall("ada", PARIS)
    assert faces(found) == [PARIS, ROME]
    assert [hit.get("frame") for hit in found] == [None, None]


def test_a_series_is_of_one_frame_and_another_namespace_is_not(memories: Palimpsest) -> None:
    texts = [f"Ada weighs {kilos} kg in the morning." for kilos in range(60, 66)]
    say(memories, *texts)
    say(memories, texts[0].replace("60", "70"), namespace="elsewhere")
    *found, other = memories.recall("ada", texts[0], k=7)
    assert faces(found) == texts[::-1]
    assert all(len(hit["frame"]) == 5 for hit in found)
    assert "frame" not in other


def test_whoever_an_owner_is_called_a_fact_is_joined(memories: Palimpsest) -> None:
    memories.set_names("ada", ["Ada", "the user", "I"])
    one, other = say(memories, "I adore the old harbour.", "Ada adores the old harbour.")
    assert one == other


def test_whoever_an_owner_is_called_the_new_fact_comes_first(memories: Palimpsest) -> None:
    """The names are presumed, and nothing is joined by them."""
    say(memories, PARIS, "I live in Paris.", "The user lives in Paris.", "Tea is green.")
    [told] = memories.submit({"owner_id": "ada", "text": "I live in Rome."})
    assert told.decision == "pending"
    assert faces(memories.recall("ada", PARIS, k=2)) == ["I live in Rome.", PARIS]
    assert memories.list("ada")["total"] == 5
    memories.set_names("ada", ["Bob", "Rob"])
    assert faces(memories.recall("ada", PARIS, k=1)) == [PARIS], "what is declared counts alone"


def test_a_look_at_the_past_leaves_the_presumed_names_of_now(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading every text of an owner anew takes longer than the recall itself."""
    say(memories, PARIS, "I live in Paris.", "The user lives in Paris.")
    read: list[str] = []
    note = PresumedNames._note

    def noted(names: PresumedNames, text: str) -> None:
        read.append(text)
        note(names, text)

    monkeypatch.setattr(PresumedNames, "_note", noted)
    memories.recall("ada", PARIS)
    assert len(read) == 3
    memories.recall("ada", PARIS, as_of=memories.position)
    assert len(read) == 6
    memories.recall("ada", PARIS)
    assert len(read) == 6


def test_somebody_else_is_not_put_first(memories: Palimpsest) -> None:
    """*Bea lives in Rome* is not a correction of *I live in Paris*."""
    say(memories, "I live in Paris.", "The user lives in Paris.", "Bea lives in Rome.")
    assert faces(memories.recall("ada", "I live in Paris.", k=3))[-1] == "Bea lives in Rome."


@pytest.mark.parametrize("policy", preset_names())
def test_as_of_then_it_was_so_under_every_policy(tmp_path: Path, policy: str) -> None:
    with Palimpsest.open(tmp_path / "store", policy=policy, by="person") as store:
        say(store, PARIS)
        then = store.position
        say(store, ROME)
        assert faces(store.recall("ada", "where does Ada live?")) == [ROME, PARIS]
        assert faces(store.recall("ada", "where does Ada live?", as_of=then)) == [PARIS]


def test_submit_names_the_earlier_and_an_update_settles_it(memories: Palimpsest) -> None:
    paris, oslo = say(memories, PARIS, "Ada lives in Oslo.")
    [told] = memories.submit({"owner_id": "ada", "text": ROME})
    assert told.frame == [
        {"id": oslo, "assertion": "Ada lives in Oslo."},
        {"id": paris, "assertion": PARIS},
    ]
    memories.update(paris, ROME, merge=True)
    memories.update(paris, ROME, merge=True)
    assert faces(memories.recall("ada", "where does Ada live?")) == [ROME, "Ada lives in Oslo."]
    [joined] = memories.submit({"owner_id": "ada", "text": f"{ROME} "})
    assert joined.frame is None, "a repeat brings no other value"


def test_a_question_by_frame_is_no_consequence_of_a_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor for a later guard, which may see other frames: what was recorded counts."""
    standard = load_policy("standard").model_dump(mode="json")
    policy = Policy.model_validate(
        {
            **standard,
            "checks": [{"check": "cosine", "zones": [{"at_least": 0.99, "action": "pending"}]}],
            "dedupe": {"rule": "pairs", "above": 0.79},
            "judge": {**standard["judge"], "frames": 2},
        }
    )
    with Palimpsest.open(tmp_path / "store", policy=policy, by="person") as store:
        clocks = "old clocks tick aloud in the hall"
        say(store, clocks, f"{clocks} today", PARIS)
        store.dedupe(owner_id="ada", force=True)
        [join] = [row for row in store.decisions(owner_id="ada") if row["event"] == "joined"]
        [rome] = store.submit({"owner_id": "ada", "text": ROME})
        assert rome.decision == "pending"
        monkeypatch.setattr("palimpsest.streams.search.frame_index.frame", lambda *_: False)
        done = store.unmerge(decision_id=join["decision_id"], with_consequences=True)
        assert done["consequences"] == []
        assert store.show_candidate(str(rome.candidate_id))["pending"]
        assert store.verify()["differences"] == 0


def test_a_bound_of_the_score_keeps_the_newer_of_a_frame(memories: Palimpsest) -> None:
    """Otherwise only the stale fact would be left."""
    say(memories, PARIS, ROME, "Tea is green.")
    found = memories.recall("ada", PARIS, min_score=0.9)
    assert faces(found) == [ROME, PARIS]
    assert found[0]["score"] < 0.9
