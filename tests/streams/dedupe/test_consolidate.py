"""What the end of a session plans, on histories by hand: which memories, in which order."""

from __future__ import annotations

from typing import Any

import pytest

from palimpsest.contracts.policy import Absent, Consolidate, Policy
from palimpsest.streams.dedupe.consolidate import RunPlan, joins, plan
from palimpsest.streams.policies import load_policy
from tests.streams.core.spec import (
    ASK,
    PLAIN,
    TAKE,
    History,
    Step,
    access,
    given,
    merge,
    policy,
    retract,
    say,
    separate,
    unmerge,
)
from tests.tables import each

CHAIN = {
    "a": "g1 g2 g3 g4 a1",
    "b": "g1 g2 g3 g4 c1 c2",
    "c": "g3 g4 c1 c2 g1 x1 x2",
}
"""Of these `a` and `b` are alike, and `b` and `c`, but not `a` and `c`."""
WORDS = "grip force cup table winch"
RULE = Consolidate(above=0.5, fewest=2)


def in_session(name: str, **fields: Any) -> Step:
    """A memory of the session `s`, alike every other one."""
    return say(name, f"{WORDS} {name}{name}", **{"session_id": "s", **fields})


def planned(history: History, rules: Policy = PLAIN, **rule: Any) -> RunPlan:
    return plan(history.ledger, rules, RULE.model_copy(update=rule), "s")


def together(history: History, found: RunPlan) -> list[str]:
    """The names of each cluster's members, who speaks first."""
    return [
        "".join(history.name(one.id) for one in (cluster.speaker, *dict(cluster.others)))
        for cluster in found.clusters
    ]


def test_memories_are_taken_in_the_order_of_their_first_members() -> None:
    """Not in that in which the session stated them: `c` took the face of an older memory."""
    stated = [say(name, CHAIN[name], session_id="s") for name in "ab"]
    late = say("c", CHAIN["c"], {"old": TAKE}, session_id="s")
    history = given(say("old", "words of an earlier day"), *stated, late)
    layered = load_policy("layered").consolidate
    assert layered is not None
    found = plan(history.ledger, PLAIN, layered, "s")
    assert together(history, found) == ["cb"]


@each(
    ("fields", "rules", "rule", "eligible"),
    [
        ({}, PLAIN, {}, True),
        ({"session_id": "t"}, PLAIN, {}, False),
        ({"category": "vow"}, PLAIN, {}, True),
        ({"category": "vow"}, PLAIN, {"protected_categories": ("vow",)}, False),
        ({"category": "vow"}, policy(protected=("vow",)), {}, False),
        ({"kind": "perception"}, PLAIN, {}, True),
        ({"kind": "perception"}, PLAIN, {"protected_kinds": ("perception",)}, False),
        ({"confidence": 0.95}, PLAIN, {}, True),
        ({"confidence": 0.95}, PLAIN, {"confidence_below": 0.95}, False),
        ({"confidence": 0.9499}, PLAIN, {"confidence_below": 0.95}, True),
        ({}, PLAIN, {"confidence_below": 0.95}, True),
        (
            {},
            PLAIN.model_copy(update={"absent": Absent(confidence=0.96)}),
            {"confidence_below": 0.95},
            False,
        ),
    ],
)
def test_who_may_be_joined(
    fields: dict[str, Any], rules: Policy, rule: dict[str, Any], eligible: bool
) -> None:
    history = given(in_session("a", **fields), in_session("b", **fields))
    assert planned(history, rules, **rule).eligible == (2 if eligible else 0)


def test_what_is_retracted_or_came_without_a_session_is_not_of_it() -> None:
    history = given(in_session("a"), in_session("b"), say("c", f"{WORDS} cc"), retract("b"))
    assert planned(history).eligible == 1


def test_a_memory_is_of_the_session_that_its_face_is_of() -> None:
    history = given(in_session("a"), in_session("b"), in_session("c", session_id="t"))
    history.do(merge("a", "c", face="c"))
    assert planned(history).eligible == 1


def test_fewer_than_the_fewest_are_counted_and_left() -> None:
    two = given(in_session("a"), in_session("b"))
    assert (planned(two, fewest=2).eligible, len(planned(two, fewest=2).clusters)) == (2, 1)
    assert (planned(two, fewest=3).eligible, len(planned(two, fewest=3).clusters)) == (2, 0)


@pytest.mark.parametrize(
    "steps",
    [
        [in_session("a"), in_session("b", sees={"a": ASK})],
        [in_session("a"), in_session("b"), separate("a", "b")],
        [in_session("a"), in_session("b"), merge("a", "b"), unmerge("b")],
    ],
)
def test_two_that_something_stands_between_are_in_no_cluster_together(steps: list[Step]) -> None:
    """An open question, a separation, or a join that was taken out."""
    history = given(*steps, in_session("c"))
    assert together(history, planned(history)) == ["ca"]


def test_what_came_between_a_plan_and_its_turn_is_left_out() -> None:
    history = given(in_session("a"), in_session("b"), in_session("c"))
    found = planned(history)
    history.do(separate("a", "c"))
    made = [*joins(history.ledger, PLAIN, found, history.fresh())]
    assert [(history.name(one.a), history.name(one.b)) for one in made] == [("b", "c")]


@pytest.mark.parametrize(
    ("steps", "speaks"),
    [
        ([in_session("a"), in_session("b")], "b"),
        ([in_session("a"), in_session("b", occurred_at="2020-01-01T00:00:00Z")], "a"),
        ([in_session("a"), in_session("b"), access("a")], "a"),
        ([in_session("a"), in_session("b", confidence=0.1), access("a")], "b"),
        ([in_session("a", confidence=0.2), in_session("b", confidence=0.1)], "a"),
        (
            [
                in_session("a", confidence=0.1),
                in_session("b", confidence=0.9),
                say("x", "an otter"),
                merge("a", "x", face="a"),
            ],
            "a",
        ),
    ],
)
def test_who_speaks_is_chosen_or_most_confident_or_most_used_or_newest(
    steps: list[Step], speaks: str
) -> None:
    history = given(*steps)
    found = planned(history)
    assert together(history, found) == [speaks + ("b" if speaks == "a" else "a")]
    [join] = joins(history.ledger, PLAIN, found, history.fresh())
    taken = speaks == "b"
    assert (history.name(join.a), history.name(join.b)) == ("a", "b")
    assert (join.face, join.outright) == ("take" if taken else "keep", taken)
    assert join.decision == "superseded"
    assert join.evidence is not None
    assert join.evidence.check == "consolidate"
    assert [neighbour.jaccard for neighbour in join.evidence.neighbours] == [0.7143]


@pytest.mark.parametrize(
    ("tokenizer", "clusters"), [("words", 1), ("content", 0)], ids=["words", "content"]
)
def test_words_are_counted_as_the_rule_says(tokenizer: str, clusters: int) -> None:
    """Two texts that share only words of every text are alike by all their words."""
    history = given(
        say("a", "for with cup", session_id="s"),
        say("b", "for with winch", session_id="s"),
    )
    assert len(planned(history, tokenizer=tokenizer, above=0.4).clusters) == clusters


def test_categories_are_groups_of_their_own_and_none_is_one() -> None:
    history = given(
        in_session("a", category="x"),
        in_session("b"),
        in_session("c", category="x"),
        in_session("d"),
        in_session("e", category="y"),
    )
    found = planned(history)
    assert together(history, found) == ["db", "ca"]
    assert found.eligible == 5
