"""The rule `pairs` on hand-made vectors: which pairs it joins, in which order, and who speaks."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.contracts.commands import Combine
from palimpsest.contracts.events import Composition
from palimpsest.contracts.policy import PairsDedupe
from palimpsest.streams.dedupe.by_pairs import PlannedJoin, by_pairs, combine_command
from palimpsest.streams.dedupe.run import Run
from palimpsest.streams.policies import load_policy
from tests.streams.core.spec import ASK, History, Step, combine, content, given, merge, separate
from tests.streams.dedupe.test_by_tokens import at, longer, unread

IMPORTANCE = load_policy("importance")
assert isinstance(IMPORTANCE.dedupe, PairsDedupe)
RULE = IMPORTANCE.dedupe


def planned(history: History, **rule: Any) -> tuple[Run, list[PlannedJoin]]:
    run = Run(lambda _what, _share: None)
    found = by_pairs(history.ledger, IMPORTANCE, RULE.model_copy(update=rule), run)
    return run, [*found]


def pairs(history: History, joins: list[PlannedJoin]) -> list[str]:
    return [history.name(j.near.older.id) + history.name(j.near.newer.id) for j in joins]


def near(*steps: Step) -> History:
    """A history whose policy joins nothing on arrival."""
    return given(*steps, policy=IMPORTANCE)


@pytest.mark.parametrize(("first", "second"), ["ab", "ba"])
def test_the_sources_of_a_text_are_in_the_order_in_which_they_happened(
    first: str, second: str
) -> None:
    """Not in that of their ids, which are the same whatever came first."""
    history = near(
        *(
            at(name, f"{name} it is", 0, occurred_at=f"2025-01-0{day}T00:00:00Z")
            for day, name in enumerate((first, second), 1)
        )
    )
    _, [join] = planned(history)
    assert join.text == f"{first} it is. {second} it is"
    assert join.sources == (history.id(first), history.id(second))


def test_vectors_of_one_length_are_compared() -> None:
    shorter = at("a", "a it is", 0), at("b", "b it is", 0)
    history = near(*shorter, *(longer(at(name, f"{name} it is", 5)) for name in "cd"))
    run, joins = planned(history)
    assert (pairs(history, joins), run.memories, run.pairs) == (["ab", "cd"], 4, 2)


@pytest.mark.parametrize("later", ["a", "b"])
def test_of_two_that_are_put_together_the_later_is_absorbed(later: str) -> None:
    """It joins nothing more in this run, although the other pair is as near."""
    days = {name: "2025-01-02" if name == later else "2025-01-01" for name in "ab"}
    history = near(
        at("a", "a it is", 0, occurred_at=days["a"]),
        at("b", "b it is", 0, occurred_at=days["b"]),
        at("c", "c it is", 30 if later == "a" else -30, occurred_at="2025-01-01"),
    )
    run, joins = planned(history)
    other = "bc" if later == "a" else "ac"
    assert pairs(history, joins) == ["ab", other]
    assert run.merged == {history.id(later), history.id("c")}
    assert joins[0].text == ("b it is. a it is" if later == "a" else "a it is. b it is")


@pytest.mark.parametrize(
    ("a", "b", "face", "absorbed"),
    [(0.9, 0.2, "keep", "b"), (0.2, 0.9, "take", "a"), (0.4, 0.4, "text", "b")],
)
def test_the_more_important_speaks_and_of_equals_both(
    a: float, b: float, face: str, absorbed: str
) -> None:
    """Whatever confidence each has."""
    history = near(
        at("a", "a it is", 0, importance=a, confidence=0.5),
        at("b", "b it is", 0, importance=b, confidence=0.6),
    )
    run, [join] = planned(history)
    assert (join.face, join.decision) == (face, "concatenated" if face == "text" else "superseded")
    assert run.merged == {history.id(absorbed)}
    cause = history.fresh()
    command = combine_command(history.ledger, IMPORTANCE, join, cause, content)
    assert (command.face, command.outright) == (face, face == "take")
    assert (command.a, command.b) == (history.id("a"), history.id("b"))
    assert (command.composition is None) is (face != "text")
    assert (command.cause, command.evidence.policy) == (cause, IMPORTANCE.hash)


@pytest.mark.parametrize(("chosen", "face"), [("a", "keep"), ("b", "take"), ("ab", "keep")])
def test_a_face_that_a_person_chose_stays_whatever_is_more_important(
    chosen: str, face: str
) -> None:
    """Of two that were chosen the more important stays, and of equals the older."""
    history = near(
        at("a", "a it is", 0, importance=0.2 if chosen == "a" else 0.4),
        at("b", "b it is", 0, importance=0.2 if chosen == "b" else 0.4),
    )
    for name in chosen:
        history.do(
            at(f"{name}2", f"words of {name}", 90, importance=0.0),
            merge(name, f"{name}2", face=name),
        )
    _, joins = planned(history)
    assert [join.face for join in joins if {*pairs(history, [join])} == {"ab"}] == [face]


def test_the_pairs_of_the_most_important_come_first_then_the_nearest_then_the_earlier() -> None:
    history = near(
        at("a", "a it is", 0, importance=0.1),
        at("b", "b it is", 20, importance=0.2),
        at("c", "c it is", 90, importance=0.1),
        at("d", "d it is", 100, importance=0.2),
        at("e", "e it is", 180, importance=0.1),
        at("f", "f it is", 200, importance=0.2),
        at("g", "g it is", 270, importance=0.0),
        at("h", "h it is", 290, importance=0.4),
    )
    _, joins = planned(history)
    assert pairs(history, joins) == ["gh", "cd", "ab", "ef"]


def test_the_mean_importance_of_both_counts_and_not_the_highest() -> None:
    history = near(
        at("a", "a it is", 0, importance=0.9),
        at("b", "b it is", 20, importance=0.1),
        at("c", "c it is", 90, importance=0.6),
        at("d", "d it is", 110, importance=0.5),
    )
    _, joins = planned(history)
    assert pairs(history, joins) == ["cd", "ab"]


@pytest.mark.parametrize("step", [separate("a", "b"), None])
def test_two_that_may_not_be_joined_are_left(step: Step | None) -> None:
    asks = None if step else {"a": ASK}
    history = given(at("a", "a it is", 0), at("b", "b it is", 0, asks))
    if step:
        history.do(step)
    run, joins = planned(history)
    assert joins == []
    assert (run.left, run.pairs, run.memories) == (0, 1, 2)


def test_two_that_the_model_cannot_tell_apart_wait() -> None:
    history = near(at("a", "Ada is in Oslo", 0), unread(at("b", "Ada is in Qx", 0), "Qx"))
    run, joins = planned(history)
    assert (joins, run.left, run.merged) == ([], 1, set())


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({"top": 2}, ["ab", "ac", "bc", "cd", "ce", "de"]),
        ({"top": 2, "counts_itself": True}, ["ab", "bc", "cd", "de"]),
        ({"top": 5, "above": 0.95}, ["ab", "bc", "cd", "de"]),
    ],
)
def test_a_pair_is_near_where_one_is_among_the_nearest_of_the_other(
    rule: dict[str, Any], found: list[str]
) -> None:
    """What was absorbed is let take part again, so that every near pair is planned."""
    degrees = {"a": 0, "b": 10, "c": 21, "d": 33, "e": 46}
    history = near(*(at(name, f"{name} it is", angle) for name, angle in degrees.items()))
    run = Run(lambda _what, _share: None)
    looked_at: list[str] = []
    for join in by_pairs(history.ledger, IMPORTANCE, RULE.model_copy(update=rule), run):
        looked_at += pairs(history, [join])
        run.merged.clear()
    assert sorted(looked_at) == found


def test_a_composed_text_brings_all_its_sources() -> None:
    history = near(at("a", "a it is", 0), at("b", "b it is", 90), at("c", "c it is", 0))
    made = Composition(
        content=content("a it is. b it is", (1, 0)), sources=(history.id("a"), history.id("b"))
    )
    joined = combine("a", "b", "concatenated", text="?", sources="a b")(history)
    assert isinstance(joined, Combine)
    history.do(lambda _: joined.model_copy(update={"composition": made}))
    _, joins = planned(history, above=0.0)
    assert [join.sources for join in joins] == [tuple(map(history.id, "abc"))]


def test_a_text_that_is_another_memorys_is_not_made() -> None:
    history = near(at("a", "a it is", 0), at("b", "b it is", 0), at("c", "a it is. b it is", 90))
    run, joins = planned(history)
    assert (joins, run.left) == ([], 1)


@pytest.mark.parametrize(("above", "found"), [(0.9397, []), (0.9396, ["ab"])])
def test_the_threshold_itself_is_not_near(above: float, found: list[str]) -> None:
    history = near(at("a", "a it is", 0), at("b", "b it is", 20))
    _, joins = planned(history, above=above)
    assert pairs(history, joins) == found
