"""Recall by meaning and by identifiers, bounded by score and length."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest import Palimpsest
from palimpsest.backends import reader as store_reader
from palimpsest.contracts.requests import Selection
from palimpsest.projections.recall import mentions
from palimpsest.queries import recall
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.embedder.scores import MIN_SCORES
from tests.long import examples
from tests.palimpsest.api.test_recall import WORDS

NEAR = [f"Ada rows a boat on the river at {n} o'clock" for n in range(1, 13)]
FAR = "INC-1007: the cellar of Mr. Lind was under water"
QUESTION = "what had INC-1007 to do with a boat on the river?"


@pytest.fixture(name="rivers")
def _rivers(memories: Palimpsest) -> Palimpsest:
    memories.submit([{"owner_id": "ada", "text": text} for text in (*NEAR, FAR)])
    return memories


def faces(memories: Palimpsest, question: str = QUESTION, **how: Any) -> list[str]:
    return [hit["face"] for hit in memories.recall("ada", question, **how)]


@pytest.mark.parametrize("form", ["INC-1007", "inc1007", "INC 1007?", "(INC-1007)"])
def test_what_mentions_an_identifier_is_among_the_first(rivers: Palimpsest, form: str) -> None:
    question = QUESTION.replace("INC-1007", form)
    assert FAR not in faces(rivers, question, k=5)
    if form != "INC 1007?":  # two words; 1007 alone is another number
        assert FAR in faces(rivers, question, k=5, hybrid=True)[:2]
        assert FAR in faces(rivers, question, k=5, hybrid=None)[:2]


def test_a_score_stays_that_of_the_meaning(rivers: Palimpsest) -> None:
    by_meaning = {hit["face"]: hit["score"] for hit in rivers.recall("ada", QUESTION, k=99)}
    mixed = {hit["face"]: hit["score"] for hit in rivers.recall("ada", QUESTION, k=99, hybrid=True)}
    assert mixed == by_meaning


def test_plain_words_and_what_is_in_many_texts_move_nothing(rivers: Palimpsest) -> None:
    rivers.submit([{"owner_id": "ada", "text": f"pump P-1 has valve {n}"} for n in range(9)])
    for question in ("when was the cellar of Mr. Lind under water?", "boat P-1 river"):
        assert faces(rivers, question, k=99, hybrid=True) == faces(rivers, question, k=99)


def test_a_word_in_half_of_few_texts_moves_nothing(memories: Palimpsest) -> None:
    memories.submit([{"owner_id": "ada", "text": text} for text in ("P-1 is old", "P-1 leaks")])
    assert faces(memories, "P-1 leaks", hybrid=True) == faces(memories, "P-1 leaks")


def test_what_mentions_the_same_stays_in_the_order_of_its_meaning(rivers: Palimpsest) -> None:
    two = ("INC-1008 at the harbour", "INC-1008 on a boat on the river")
    rivers.submit([{"owner_id": "ada", "text": text} for text in two])
    assert faces(rivers, "boat river INC-1008", k=2, hybrid=True) == [*reversed(two)]


def test_the_rarer_identifier_comes_first(rivers: Palimpsest) -> None:
    rivers.submit([{"owner_id": "ada", "text": f"{name} saw INC-1008"} for name in ("Bo", "Cy")])
    rivers.submit({"owner_id": "ada", "text": "The harbour is closed for INC-1009"})
    found = faces(rivers, "boat river INC-1008 INC-1009", hybrid=True)
    assert found[0] == "The harbour is closed for INC-1009"
    assert {"Bo saw INC-1008", "Cy saw INC-1008"} <= {*found}


def test_what_is_not_asked_for_is_not_found_by_its_words(rivers: Palimpsest) -> None:
    rivers.submit({"owner_id": "ada", "text": "INC-1007 again", "namespace": "work"})
    rivers.submit({"owner_id": "bob", "text": "INC-1007 of Bob"})
    gone = rivers.find("ada", "INC-1007", by=["words"], namespace="default")
    rivers.retract(Selection(candidate_id=gone["hits"][0]["candidate_id"]))
    found = faces(rivers, hybrid=True, k=99, namespace="default")
    assert not [face for face in found if "INC-1007" in face]
    assert "INC-1007 again" in faces(rivers, hybrid=True)[:2]


def test_it_holds_as_of_then(rivers: Palimpsest) -> None:
    then = rivers.position
    rivers.forget(rivers.find("ada", "INC-1007", by=["words"]))
    assert FAR not in faces(rivers, hybrid=True, k=99)
    assert FAR in faces(rivers, hybrid=True, as_of=then)[:2]


def test_of_a_large_owner_words_count_if_asked_for(
    rivers: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[str] = []

    def recall_stored(*_: Any, **__: Any) -> list[Any]:
        stored.append("asked")
        return []

    with Palimpsest.open(rivers.folder, create=False) as reader:
        monkeypatch.setattr(store_reader, "FOLDED_EVENTS", 0)
        reader.wait_for(rivers.position)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recall, "recall_stored", recall_stored)
            assert faces(reader, hybrid=None) == []
            assert faces(reader, hybrid=True) == faces(rivers, hybrid=True)
        assert stored == ["asked"]
        assert faces(reader, "cellar", min_score=0.2) == [FAR]
        assert len(faces(reader, max_tokens=30)) == len(faces(rivers, max_tokens=30)) < 5


def test_under_the_least_score_only_identifiers_are_found(rivers: Palimpsest) -> None:
    scores = [hit["score"] for hit in rivers.recall("ada", QUESTION, k=99, hybrid=True)]
    assert len(faces(rivers, k=99, min_score=0.5)) == sum(score >= 0.5 for score in scores)
    assert faces(rivers, k=99, min_score=0.99, hybrid=True) == [FAR]
    assert faces(rivers, k=99, min_score=0.99) == []
    assert len(faces(rivers, k=99, min_score=-1)) == len(scores)


def test_texts_fit_into_so_many_tokens_or_are_one(rivers: Palimpsest) -> None:
    lengths = [len(face) / 4 for face in faces(rivers, k=99)]
    assert len(faces(rivers, k=99, max_tokens=int(sum(lengths[:4])) + 1)) == 4
    assert len(faces(rivers, k=99, max_tokens=1)) == 1


def test_an_agents_handle_mixes_words_with_meaning(rivers: Palimpsest) -> None:
    agent = rivers.agent("ada")
    assert FAR in [hit["face"] for hit in agent.recall(QUESTION)][:2]
    assert FAR not in [hit["face"] for hit in agent.recall(QUESTION, hybrid=False)]
    assert agent.recall("wedding anniversary", min_score=0.2) == []


def test_an_agent_is_shown_nothing_that_is_hardly_related_unless_it_asks(
    rivers: Palimpsest,
) -> None:
    agent, least = rivers.agent("ada"), MIN_SCORES[DEFAULT_MODEL]
    found = agent.recall("wedding anniversary")
    assert (found, found.weaker, found.min_score) == ([], 5, least)
    for all_of_them in (None, -1):
        found = agent.recall("wedding anniversary", min_score=all_of_them)
        assert (len(found), found.weaker) == (5, 0)
    hits = agent.recall("wedding anniversary INC-1007")
    assert [hit["face"] for hit in hits] == [FAR]
    assert hits[0]["score"] < least
    assert hits.weaker == 4
    assert rivers.recall("ada", "wedding anniversary").weaker == 0


def test_of_a_model_that_nobody_knows_nothing_is_left_out(
    rivers: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "MIN_SCORES", {})
    found = rivers.agent("ada").recall("wedding anniversary")
    assert (len(found), found.weaker, found.min_score) == (5, 0, None)


@pytest.mark.parametrize("hybrid", [None, False])
def test_of_a_large_owner_an_identifier_stays_too(
    rivers: Palimpsest, monkeypatch: pytest.MonkeyPatch, hybrid: bool | None
) -> None:
    """LanceDB's hits have no index of mentions."""
    stored = rivers.recall("ada", "the cellar and the wedding anniversary INC-1007", k=99)
    monkeypatch.setattr(recall, "recall_stored", lambda *_, **__: [*stored])
    monkeypatch.setattr(store_reader, "FOLDED_EVENTS", 0)
    with Palimpsest.open(rivers.folder, create=False) as reader:
        reader.wait_for(rivers.position)
        agent = reader.agent("ada")
        found = agent.recall("is INC-1007 over?", k=99, hybrid=hybrid, min_score=0.99)
    assert [hit["face"] for hit in found] == ([] if hybrid is False else [FAR])


def test_words_after_the_first_ones_do_not_count(rivers: Palimpsest) -> None:
    many = " ".join(f"w{n}" for n in range(mentions.MOST_IDENTIFIERS))
    assert FAR in faces(rivers, f"INC-1007 {many} boat river", hybrid=True)[:3]
    assert FAR not in faces(rivers, f"{many} boat river INC-1007", hybrid=True)[:3]


@pytest.fixture(name="mixed", scope="module")
def _mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Palimpsest]:
    folder: Path = tmp_path_factory.mktemp("mixed")
    with Palimpsest.open(folder, by="person") as made:
        made.submit(
            [
                {"owner_id": "ada", "text": f"{one} {other} K-{number}{place}"}
                for place, one in enumerate(WORDS)
                for number, other in enumerate(WORDS[place + 1 :], start=10)
            ]
        )
        yield made


def test_an_identifier_changes_the_order_of_these_memories(mixed: Palimpsest) -> None:
    """Otherwise the next test would pass trivially."""
    question = "Paris shed K-100"
    assert faces(mixed, question, hybrid=True) != faces(mixed, question)


@given(
    words=st.lists(st.sampled_from([*WORDS, "K-100", "K-1010", "K-999"]), min_size=1, max_size=6),
    k=st.integers(1, 80),
)
@settings(max_examples=examples(200))
def test_words_only_change_the_order(mixed: Palimpsest, words: list[str], k: int) -> None:
    question = " ".join(words)
    every, found = (faces(mixed, question, k=80, hybrid=hybrid) for hybrid in (False, True))
    assert sorted(found) == sorted(every)
    assert faces(mixed, question, k=k, hybrid=True, fold=False) == found[:k]
