"""A store without a model: what is stored meanwhile, how it is recalled, and what comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest, RefusedError, UsageError
from palimpsest.api import store
from palimpsest.backends import reader as store_reader
from palimpsest.contracts.errors import ModelError
from palimpsest.projections.recall import from_ledger as recall
from palimpsest.streams.embedder import EngineMissing, load_engine
from tests.stub_engine import load_stub

KEY, BOAT, LAMP = "the spare key is under the blue pot", "ann paints a boat", "a lamp is broken"


@pytest.fixture
def without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Palimpsest:
    """A store whose model is unavailable, with three texts of Ann and one of Ben."""
    monkeypatch.setattr(store, "load_engine", load_engine)
    with Palimpsest.open(tmp_path / "store", policy="namespaced", engine="none") as made:
        rows = [
            ("ann", KEY, "home"),
            ("ann", BOAT, "work"),
            ("ann", LAMP, "home"),
            ("ben", KEY, "home"),
        ]
        made.submit([{"owner_id": o, "text": t, "namespace": n} for o, t, n in rows])
    return made


def opened(at: Palimpsest, engine: Any) -> Palimpsest:
    return Palimpsest.open(at.folder, create=False, engine=engine)


def test_the_engine_none_is_always_missing() -> None:
    with pytest.raises(EngineMissing, match="embeds nothing"):
        load_engine(engine="none")


def test_a_model_that_is_asked_for_wrongly_is_not_one_that_is_down(
    without: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object, **__: object) -> None:
        raise UsageError("install the extra")

    monkeypatch.setattr(store, "load_engine", load)
    with (
        opened(without, "sentence-transformers") as reader,
        pytest.raises(UsageError, match="install the extra"),
    ):
        reader.recall("ann", "where is the spare key?")


def test_recall_is_by_words_meanwhile(without: Palimpsest) -> None:
    with opened(without, "none") as reader:
        found = reader.recall("ann", "where is the spare key of the boat?", k=2)
        assert [(one["face"], one["score"]) for one in found] == [(KEY, 0.5), (BOAT, 0.25)]
        assert [one["face"] for one in reader.recall("ann", "a boat", namespace="work")] == [BOAT]
        assert reader.recall("ann", "zeppelin") == []
        assert [one["face"] for one in reader.recall("ann", "the key", as_of=reader.position)] == [
            KEY
        ]


def test_a_policy_that_stops_recalls_nothing_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_engine)
    with (
        Palimpsest.open(tmp_path, engine="none") as made,
        pytest.raises(ModelError, match="embeds nothing"),
    ):
        made.recall("ann", "a boat")


def test_status_counts_what_lacks_a_vector(without: Palimpsest) -> None:
    with opened(without, "none") as reader:
        assert reader.status()["unembedded"] == 4
        assert reader.status(as_of=reader.position - 1)["unembedded"] == 3
        with pytest.raises(RefusedError, match="embedder_down"):
            reader.embed()
        assert reader.verify()["differences"] == 0


def test_texts_without_a_vector_are_like_nobody(without: Palimpsest) -> None:
    with opened(without, "none") as reader:
        assert reader.likeness("ann", at_least=0.0) == []


def test_vectors_follow(without: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With progress; then all is as if the model had been available, except for comparisons."""
    monkeypatch.setattr(store, "load_engine", load_stub)
    told: list[tuple[int, int]] = []
    with opened(without, "onnx") as reader:
        assert reader.embed(owner_id="ben") == {"embedded": 1, "left": 0}
        assert reader.embed(progress=lambda *so_far: told.append(so_far)) == {
            "embedded": 3,
            "left": 0,
        }
        assert told == [(3, 0)]
        assert reader.status()["unembedded"] == 0
        [outcome] = reader.submit(
            {"owner_id": "ann", "text": f"{KEY} pot in the shed behind the house"}
        )
        assert outcome.decision == "stored", "of another namespace"
        [joined] = reader.submit(
            {
                "owner_id": "ann",
                "text": f"{KEY} and the the blue pot is under the key",
                "namespace": "home",
            }
        )
        assert joined.decision == "auto_reject"
        assert reader.verify()["differences"] == 0
        reader.rebuild()
        assert reader.verify()["differences"] == 0


def test_what_has_no_vector_yet_is_found_by_words_beside_what_has_one(
    without: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    with opened(without, "onnx") as reader:
        found = reader.recall("ann", KEY, k=5)
        assert found[0]["face"] == KEY
        assert found[0]["score"] == 1.0
        reader.embed()
        again = reader.recall("ann", KEY, k=5)
        assert again[0]["face"] == KEY
        assert len({one["memory_id"] for one in again}) == len(again) == 3


def test_a_large_owners_texts_without_a_vector_are_found_by_words_too(
    without: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(store_reader, "FOLDED_EVENTS", 0)
    kettle = "a kettle for the boat"
    with monkeypatch.context() as there:
        there.setattr(store, "load_engine", load_stub)
        with opened(without, "onnx") as writer:
            writer.embed()
    with opened(without, "none") as writer:
        writer.submit({"owner_id": "ann", "text": kettle})
    monkeypatch.setattr(store, "load_engine", load_stub)
    with opened(without, "onnx") as reader:
        assert reader.recall("ann", kettle)[0]["face"] == kettle


def test_a_check_says_what_a_submit_would_do(without: Palimpsest) -> None:
    with opened(without, "none") as reader:
        row = {"owner_id": "ann", "text": "a new lamp"}
        answer = reader.check(row)
        assert (answer["decision"], answer["neighbours"]) == ("stored", [])
        assert reader.submit(row)[0].decision == "stored"


def test_consolidation_in_the_background_finds_what_came_without_a_vector(
    without: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preset's batch rule runs with the thresholds of each namespace."""
    near = f"{KEY} and the the blue pot is under the key"
    said = [(near, "home"), (f"{near} the", "home"), (f"{near} the", "elsewhere")]
    with opened(without, "none") as reader:
        reader.submit([{"owner_id": "ann", "text": t, "namespace": n} for t, n in said])
    monkeypatch.setattr(store, "load_engine", load_stub)
    with opened(without, "onnx") as reader:
        reader.embed()
        assert [one["decision"] for one in reader.dedupe()["joined"]] == ["auto_reject"]
        assert reader.dedupe()["joined"] == []
