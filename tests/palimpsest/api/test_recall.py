"""Recall from the owner's ledger, and for large owners from LanceDB: both agree."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest, RefusedError
from palimpsest.backends import reader as store_reader
from palimpsest.contracts.requests import Selection
from palimpsest.projections.recall import from_ledger as recalling
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.policies import load_policy

WORDS = "tea kettle boat shed Paris Berlin blue car paints clocks sings".split()
QUERIES = ("tea in the shed", "Paris")


def texts(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "owner_id": chance.choice(["ann", "ben"]),
            "text": " ".join(chance.choices(WORDS, k=chance.randint(2, 4))),
            "namespace": chance.choice(["home", "work"]),
            "session_id": chance.choice(["s1", "s2"]),
            "intensity": chance.random(),
        }
        for _ in range(count)
    ]


def agree(writer: Palimpsest, queries: tuple[str, ...]) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        Palimpsest.open(writer.folder, create=False, by="person") as reader,
    ):
        patch.setattr(store_reader, "FOLDED_EVENTS", 0)  # owners not loaded count as large
        reader.wait_for(writer.position)
        for query in queries:
            for words in ({"k": 50}, {"namespace": "home"}, {"session_id": "s1"}):
                here: Any = writer.recall("ann", query, **words)
                assert here == reader.recall("ann", query, **words)
        assert writer.recall("nobody", queries[0]) == reader.recall("nobody", queries[0]) == []
    assert writer.recall("ann", queries[0])


def test_both_ways_recall_the_same(memories: Palimpsest) -> None:
    chance = random.Random(4)
    for _ in range(2):
        memories.submit(texts(chance, 12))
        agree(memories, QUERIES)
        joins = memories.sql("SELECT decision_id FROM joins WHERE standing ORDER BY position")
        for join in chance.sample(joins, min(2, len(joins))):
            try:
                memories.unmerge(decision_id=join["decision_id"])
            except RefusedError:
                continue
        pair = memories.sql(
            "SELECT a.candidate_id AS a, b.candidate_id AS b FROM candidates a"
            " JOIN candidates b USING (owner_id, namespace)"
            " WHERE a.memory_id < b.memory_id AND a.living AND b.living ORDER BY 1, 2 LIMIT 1"
        )[0]
        memories.merge(pair["a"], pair["b"], face=pair["b"])
        gone = memories.sql("SELECT candidate_id FROM candidates ORDER BY 1")
        memories.retract(Selection(candidate_id=chance.choice(gone)["candidate_id"]))
        agree(memories, QUERIES)


def test_what_another_process_wrote_is_recalled_at_once(memories: Palimpsest) -> None:
    memories.submit({"owner_id": "ann", "text": "tea in the shed"})
    assert len(memories.recall("ann", "tea")) == 1
    with Palimpsest.open(memories.folder, by="person") as other:
        other.submit({"owner_id": "ann", "text": "a blue car"})
        assert memories.recall("ann", "car", k=1)[0]["face"] == "a blue car"
        other.submit({"owner_id": "ben", "text": "a boat"})
        assert memories.recall("ben", "boat")[0]["face"] == "a boat"


def test_recall_needs_no_lock_and_no_projection(memories: Palimpsest) -> None:
    memories.submit({"owner_id": "ann", "text": "tea in the shed"})
    memories.close()
    shutil.rmtree(memories.folder / "projections")
    with WriterLock(memories.folder), Palimpsest.open(memories.folder, by="person") as reader:
        assert reader.recall("ann", "tea")[0]["face"] == "tea in the shed"
        assert reader.recall("nobody", "tea") == []


def test_what_becomes_of_a_memory_shows_in_the_next_recall(memories: Palimpsest) -> None:
    tea, car = memories.submit(
        [{"owner_id": "ann", "text": "tea in the shed"}, {"owner_id": "ann", "text": "a blue car"}]
    )

    def faces() -> list[str]:
        return [found["face"] for found in memories.recall("ann", "tea")]

    assert faces() == ["tea in the shed", "a blue car"]
    gone = Selection(candidate_id=tea.candidate_id)
    memories.retract(gone)
    assert faces() == ["a blue car"]
    memories.restore(gone)
    assert faces() == ["tea in the shed", "a blue car"]
    memories.merge(str(tea.candidate_id), str(car.candidate_id), face=car.candidate_id)
    assert faces() == ["a blue car"]


def test_a_large_owner_is_asked_of_lancedb(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memories.submit([{"owner_id": "ann", "text": f"{word} {word}"} for word in WORDS])
    live = memories.recall("ann", "tea", k=20)
    monkeypatch.setattr(recalling, "MOST_IN_MEMORY", 3)
    monkeypatch.delattr(recalling.Recollection, "recall")
    assert memories.recall("ann", "tea", k=20) == live


def test_what_is_former_on_its_own_is_shown_on_request(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"owner_id": "ann", "text": text} for text in ("tea in the shed", "a blue car")]
    tea, car = memories.submit(rows)
    mate = memories.update(str(tea.memory_id), "mate in the shed")
    memories.submit({"owner_id": "ann", "text": "mate in the shed.", "id": "again"})
    memories.update(str(tea.memory_id), "coffee in the kettle")
    undone = memories.undo(str(mate["decision_id"]))
    [alone] = undone["former"]
    faces = {"coffee in the kettle", "a blue car"}

    def seen() -> None:
        found = memories.recall("ann", "mate in the shed", k=9)
        assert {one["face"] for one in found} == faces
        found = memories.recall("ann", "mate in the shed", k=9, former=True)
        assert {one["memory_id"] for one in found} == {tea.memory_id, car.memory_id, alone}

    seen()
    assert {memory["face"] for memory in memories.list("ann")["memories"]} == faces
    assert memories.list("ann")["total"] == 2
    assert memories.list("ann", former=True)["total"] == 3
    for by in ("words", "meaning"):
        hits = memories.find("ann", "mate in the shed", by=[by], k=9)["hits"]
        assert alone in [hit["memory_id"] for hit in hits]
    monkeypatch.setattr(recalling, "MOST_IN_MEMORY", 1)
    seen()
    memories.undo(str(tea.memory_id))
    assert len(memories.recall("ann", "mate in the shed", k=9)) == 3, "nothing displaces it now"


def test_lancedb_knows_what_a_rule_displaced(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.set_policy(load_policy("replace-or-merge"))
    older = (
        "every winter evening since the move two cats sleep near our old kitchen stove until noon"
    )
    rows = [{"owner_id": "ann", "text": text} for text in (older, f"{older} today")]
    first, second = memories.submit(rows)
    assert second.decision == "superseded"
    live = memories.recall("ann", "cats", former=True)
    relations = {member["candidate_id"]: member["relation"] for member in live[0]["members"]}
    assert relations == {first.candidate_id: "former", second.candidate_id: "same"}
    monkeypatch.setattr(recalling, "MOST_IN_MEMORY", 1)
    monkeypatch.delattr(recalling.Recollection, "recall")
    assert memories.recall("ann", "cats", former=True) == live
