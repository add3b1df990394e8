"""Texts beyond the model's input: each of their windows finds them, and is compared."""

from __future__ import annotations

from palimpsest import Palimpsest
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
