"""What becomes of ranked memories until they are hits, on histories by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from palimpsest.contracts.shown import Recalled
from palimpsest.projections.recall.collapse import Folding
from palimpsest.projections.recall.from_ledger import Recollection
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.streams.core.ledger import Ledger, Memory
from tests.streams.core.spec import ASK, PLAIN, TAKE, History, given, retract
from tests.streams.dedupe.test_by_tokens import at

CATS = "two cats sleep near the stove"
SAME = "two cats sleep near the stove."
FOLDED = RecallOptions(9, folding=Folding(PLAIN))


def recalled(history: History, wanted: RecallOptions) -> list[Recalled]:
    query = np.array([1.0, 0.0], np.float32)
    return Recollection(history.ledger, len(query)).recall(query, wanted, history.ledger.names)


@pytest.mark.parametrize("third", ["a", "b"])
def test_what_is_shown_together_waits_only_for_others(third: str) -> None:
    history = given(
        at("a", CATS, 0),
        at("b", SAME, 1, {"a": ASK}),
        at("c", "a dog sleeps in the barn", 70, {third: ASK}),
    )
    a, b, c = map(history.id, "abc")
    first, second = recalled(history, FOLDED)
    assert (first["memory_id"], first["folded"], first["unsettled"]) == (a, [b], [c])
    assert (second["memory_id"], second["unsettled"]) == (c, [history.id(third)])
    history.do(retract("c"))
    assert [one["unsettled"] for one in recalled(history, FOLDED)] == [[]]


def test_what_is_folded_into_the_last_hit_is_looked_for_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not among those that are nearer to the question: these are hits already."""
    monkeypatch.setattr("palimpsest.projections.recall.from_ledger.LOOKED_AT", 2)
    history = given(
        *(at(f"n{number}", f"{number} dogs bark", number) for number in range(3)),
        at("a", CATS, 60),
        at("b", SAME, 61),
    )
    found = recalled(history, replace(FOLDED, k=4))
    assert found[-1]["memory_id"] == history.id("a")
    assert [one["folded"] for one in found] == [[], [], [], [history.id("b")]]


def test_of_a_diary_of_one_value_no_two_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes two memories differ is looked up, not found by comparing all pairs."""
    compared: list[tuple[str, str]] = []
    folds = Folding.folds

    def note(folding: Folding, ledger: Ledger, one: Memory, other: Memory) -> bool:
        compared.append((one.face.text, other.face.text))
        return folds(folding, ledger, one, other)

    monkeypatch.setattr(Folding, "folds", note)
    days = (at(f"d{day}", f"on day {day} she weighed {day + 50} kg", day) for day in range(1, 30))
    history = given(*days, at("a", CATS, 60), at("b", SAME, 61))
    found = recalled(history, replace(FOLDED, k=31))
    assert [one["folded"] for one in found if one["folded"]] == [[history.id("b")]]
    assert compared == [(CATS, SAME)]


def test_what_memories_of_a_kind_share_is_read_anew_for_other_names_and_another_policy() -> None:
    """The kinds of memories are kept for the next question."""
    history = given(at("a", "I own two cats", 0), at("b", "Ada owns two cats", 1))
    kept = Recollection(history.ledger, 2)
    unlike = Folding(PLAIN.model_copy(update={"checks": ()}))
    for names, folding, folded in (
        ((), Folding(PLAIN), []),
        (("Ada", "I"), Folding(PLAIN), ["b"]),
        (("Ada", "I"), unlike, []),
        (("Ada", "I"), Folding(PLAIN), ["b"]),
        ((), Folding(PLAIN), []),
    ):
        history.ledger.names = names
        query = np.array([1.0, 0.0], np.float32)
        [found] = kept.recall(query, RecallOptions(1, folding=folding), ())
        assert found["folded"] == [*map(history.id, folded)]


def test_what_memories_of_a_kind_share_is_read_anew_if_another_text_speaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("palimpsest.projections.recall.from_ledger.FEW_CHANGED", 0)
    history = given(at("a", CATS, 0), at("b", "two cats sleep near the door", 1))
    kept, query = Recollection(history.ledger, 2), np.array([1.0, 0.0], np.float32)
    wanted = replace(FOLDED, k=1)
    assert [one["folded"] for one in kept.recall(query, wanted, ())] == [[]]
    history.do(at("c", SAME, 1, {"b": TAKE}))
    assert [one["folded"] for one in kept.recall(query, wanted, ())] == [[history.id("b")]]
