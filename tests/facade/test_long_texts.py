"""Texts beyond the model's input: each of their windows finds them, and is compared."""

from __future__ import annotations

import pytest

from palimpsest import Palimpsest, local_gateway
from palimpsest.streams.policies import load_policy
from tests.stub_engine import LONGEST

FILL = [f"filler{n}" for n in range(3 * LONGEST)]
LONG = " ".join(FILL) + " ada is allergic to peanuts"
OTHERS = ["ada likes tea", "ada paints boats", "the shed is blue"]


def keep(memories: Palimpsest, *texts: str) -> list[str]:
    outcomes = memories.submit([{"owner_id": "ada", "text": text} for text in texts])
    return [str(one.memory_id) for one in outcomes]


def found(memories: Palimpsest, query: str) -> str:
    return memories.recall("ada", query, k=1)[0]["memory_id"]


def test_a_text_is_found_by_what_its_end_says(memories: Palimpsest) -> None:
    long, *_ = keep(memories, LONG, *OTHERS)
    assert found(memories, "allergic to peanuts") == long
    memories.rebuild()
    assert found(memories, "allergic to peanuts") == long
    assert memories.verify()["differences"] == 0


def test_a_query_finds_by_what_its_end_says(memories: Palimpsest) -> None:
    _, tea, *_ = keep(memories, LONG.replace("peanuts", "cats"), *OTHERS)
    query = " ".join(f"question{n}" for n in range(LONGEST)) + f" {OTHERS[0]}"
    assert found(memories, query) == tea


def test_a_text_that_was_updated_is_found_by_the_end_of_the_new_one(memories: Palimpsest) -> None:
    first, *_ = keep(memories, "ada is well", *OTHERS)
    memories.update(first, LONG)
    assert found(memories, "allergic to peanuts") == first


@pytest.fixture(name="unguarded")
def by_cosine_alone(memories: Palimpsest) -> Palimpsest:
    memories.set_policy(load_policy("replace-or-merge"))
    return memories


def decisions(memories: Palimpsest, *texts: str) -> list[str | None]:
    rows = [{"owner_id": "ada", "text": text} for text in texts]
    return [one.decision for one in memories.submit(rows)]


def test_two_texts_whose_windows_all_have_their_like_are_joined(unguarded: Palimpsest) -> None:
    other = " ".join(["opening", *FILL[1:]]) + " ada is allergic to peanuts"
    assert decisions(unguarded, LONG, other) == ["stored", "superseded"]


@pytest.mark.parametrize("turn", [1, -1])
def test_two_texts_with_other_ends_wait(unguarded: Palimpsest, turn: int) -> None:
    """Their beginnings are the same, which is all that was compared once."""
    other = " ".join([*FILL, *(f"other{n}" for n in range(20))])
    rows = [{"owner_id": "ada", "text": text} for text in (LONG, other)[::turn]]
    first, second = unguarded.submit(rows)
    assert (first.decision, second.decision) == ("stored", "pending")
    shown = unguarded.show_candidate(str(second.candidate_id))
    assert "truncated" in str(shown)


def test_large_owners_are_found_by_windows_too(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By LanceDB; the windows follow their memory through a join, an un-merge and a forgetting."""
    long, tea, *_ = keep(memories, LONG, *OTHERS)
    monkeypatch.setattr(local_gateway, "FOLDED_EVENTS", 0)

    def by_lancedb() -> str:
        with Palimpsest.open(memories.folder, create=False) as reader:
            assert reader.verify()["differences"] == 0
            return found(reader, "allergic to peanuts")

    assert by_lancedb() == long
    joined = memories.merge(tea, long)["decision_id"]
    assert by_lancedb() == min(long, tea, key=[long, tea].index)
    memories.unmerge(decision_id=joined)
    assert by_lancedb() == long
    memories.forget([long])
    assert by_lancedb() != long
