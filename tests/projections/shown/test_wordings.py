"""A memory as reads show it: which wordings it has, which of them are former, who brought each."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.contracts.policy import Absent
from palimpsest.projections.shown.memory import Weighing, displaced, shown_memory, state_of
from tests.streams.core.spec import (
    ASK,
    KEEP,
    PLAIN,
    TAKE,
    Step,
    given,
    merge,
    reinstate,
    retract,
    say,
    unmerge,
)
from tests.tables import each


@pytest.mark.parametrize(
    ("joins", "speaks", "gone"),
    [
        ([("a", "b", True)], "a", set()),
        ([("a", "b", False)], "a", {"b"}),
        ([("a", "b", False)], "b", {"a"}),
        ([("a", "b", False), ("a", "b", True)], "b", {"a"}),
        ([("a", "b", True), ("a", "b", False)], "b", set()),
        ([("a", "b", True), ("b", "c", False), ("a", "c", True)], "c", {"a", "b"}),
        ([("a", "b", False), ("b", "c", True)], "c", {"a"}),
    ],
)
def test_who_is_reached_only_by_a_join_that_does_not_agree_is_displaced(
    joins: list[tuple[str, str, bool]], speaks: str, gone: set[str]
) -> None:
    """A join of two that were together already counts for nothing."""
    together = {one for older, newer, _ in joins for one in (older, newer)}
    assert displaced(together, joins, speaks) == gone


TEA = say("a", "Tea")


@each(
    ("steps", "same", "former"),
    [
        ([TEA, say("b", "Chai", {"a": KEEP})], "ab", ""),
        ([TEA, say("b", "Chai", {"a": TAKE})], "b", "a"),
        ([TEA, say("b", "Chai", {"a": TAKE}), say("c", "Mate", {"b": KEEP})], "bc", "a"),
        ([TEA, say("b", "Chai"), merge("a", "b")], "ab", ""),
        ([TEA, say("b", "Chai"), merge("a", "b", face="b")], "b", "a"),
        ([TEA, say("b", "Chai"), merge("a", "b", face="a")], "a", "b"),
        ([TEA, say("b", "Chai", {"a": KEEP}), say("c", "Tea")], "ab", ""),
        ([TEA, say("b", "Chai", {"a": KEEP}), retract("b")], "a", ""),
        ([TEA, say("b", "Chai", {"a": TAKE}), unmerge("b"), reinstate("b")], "b", "a"),
        (
            [
                TEA,
                say("b", "Chai"),
                say("c", "Mate", {"a": KEEP}),
                merge("b", "c", face="c"),
                merge("a", "b"),
            ],
            "ac",
            "b",
        ),
    ],
)
def test_wordings_are_the_living_texts_and_those_displaced_on_request(
    steps: list[Step], same: str, former: str
) -> None:
    history = given(*steps)
    memory = history.memory("a")
    shown = shown_memory(memory)["members"]
    assert sorted(history.name(one["candidate_id"]) for one in shown) == [*same]
    assert {one["relation"] for one in shown} == {"same"}
    everything = shown_memory(memory, former=True)["members"]
    found = {history.name(one["candidate_id"]): one["relation"] for one in everything}
    assert found == dict.fromkeys(same, "same") | dict.fromkeys(former, "former")
    assert [one["candidate_id"] for one in everything] == sorted(map(history.id, same + former))


def test_a_wording_came_by_the_standing_join_that_brought_it() -> None:
    """Not by one that was taken out, nor by one that brought another candidate to it."""
    history = given(TEA, say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"b": KEEP}))
    history.do(unmerge("b"), merge("a", "b"))
    found = {
        history.name(member["candidate_id"]): member
        for member in shown_memory(history.memory("a"))["members"]
    }
    assert {name: one["decision"] for name, one in found.items()} == {
        "a": "stored",
        "b": "manual_join",
        "c": "auto_reject",
    }
    assert found["b"]["decision_id"] == history.join("b").id
    assert found["a"]["decision_id"] == history.ledger.entries[history.id("a")].decision_id


def test_a_memory_is_pending_while_all_of_it_waits_and_retracted_where_none_lives() -> None:
    history = given(TEA, say("b", "Chai", {"a": ASK}), say("c", "Mate"), retract("c"))
    states = {name: state_of(history.memory(name), history.now) for name in "abc"}
    assert states == {"a": "living", "b": "pending", "c": "retracted"}
    history.do(merge("b", "a"))
    assert state_of(history.memory("b"), history.now) == "living"


def test_of_a_retracted_memory_every_text_is_shown_once() -> None:
    history = given(TEA, say("b", "Chai", {"a": KEEP}), say("c", "Tea"))
    history.do(*(retract(name) for name in "abc"))
    shown = shown_memory(history.memory("a"), former=True)["members"]
    assert {history.name(one["candidate_id"]) for one in shown} == {"a", "b"}


@pytest.mark.parametrize(
    ("least", "confidence", "absent", "kept"),
    [
        (None, 0.1, None, True),
        (0.5, 0.5, None, True),
        (0.5, 0.4999, None, False),
        (0.5, None, None, True),
        (0.5, None, 0.4, False),
        (0.5, None, 0.5, True),
    ],
)
def test_a_memory_is_kept_from_the_least_confidence_on(
    least: float | None, confidence: float | None, absent: float | None, kept: bool
) -> None:
    fields: dict[str, Any] = {} if confidence is None else {"confidence": confidence}
    history = given(say("a", "Tea", **fields))
    rules = PLAIN.model_copy(update={"absent": Absent(confidence=absent)})
    memory = history.memory("a")
    assert Weighing(rules, history.now, least).keeps(memory) is kept
