"""Under the published presets, un-merging with consequences leaves nothing of the join behind."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from palimpsest.contracts.commands import Unmerge
from palimpsest.contracts.events import Redecided
from palimpsest.contracts.evidence import Answer
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core import evolve, operate
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.policies import load_policy
from palimpsest.streams.replay import without
from palimpsest.streams.replay.without import Without
from tests.laws import checks as laws
from tests.laws import consequences
from tests.laws.histories import (
    COSINES,
    JUDGES,
    SAYS,
    Act,
    Batch,
    Judge,
    OnJoin,
    Pair,
    Say,
    SettleAgain,
    Whole,
    among,
    answers,
    policies,
    stories,
)
from tests.laws.test_breaks import search
from tests.long import elsewhere

lates = st.lists(answers, min_size=1, max_size=4)
numbers = st.integers(0, 15)
asked = st.lists(among(SAYS, JUDGES), min_size=6, max_size=20)
"""Short stories of candidates and verdicts alone."""


def preset(name: str, lower: float, upper: float, guard: bool = True) -> Policy:
    """`store-time` or `replace-or-merge` as they are published, but for their thresholds."""
    store_time = name == "store-time"
    above: dict[str, Any] = {"at_least": upper, "action": "superseded"}
    if store_time:
        above = {"at_least": upper, "action": "auto_reject", "guard": guard}
    zones = [above, {"at_least": lower, "action": "pending"}]
    return Policy.model_validate(
        {
            "name": "drawn",
            "model": "grid",
            "search": "memories",
            "checks": [{"check": "cosine", "zones": zones, "top": 5 if store_time else 1}],
            "judge": {
                "neighbours": 3 if store_time else 1,
                "ask": "same" if store_time else "compose",
                "unavailable": "reject" if store_time else "supersede",
            },
        }
    )


def namespaced(work: float, default: float) -> Policy:
    """`namespaced` as it is published, but for thresholds, window and capacity."""
    published = load_policy("namespaced").model_dump(mode="json") | {"name": "drawn"}
    semantic = {
        "check": "cosine",
        "zones": [{"at_least": default, "action": "auto_reject"}],
        "namespaces": {"work": work},
    }
    recent = {"check": "recent", "seconds": 3, "capacity": 2}
    return Policy.model_validate(published | {"model": "grid", "checks": [semantic, recent]})


def layered(jaccard: float, near: float) -> Policy:
    """`layered` as it is published, but for its thresholds, and fewer looked at."""
    published = load_policy("layered").model_dump(mode="json") | {"name": "drawn"}
    tokens, by_cosine, session = published["checks"]
    checks = [
        tokens | {"threshold": jaccard, "top": 2},
        by_cosine | {"zones": [{"at_least": near, "action": "auto_reject"}], "top": 1},
        session | {"threshold": near, "nearest": 3},
    ]
    return Policy.model_validate(published | {"model": "grid", "checks": checks})


@st.composite
def presets(draw: st.DrawFn) -> Policy:
    """The presets that compare newcomers with memories, with any thresholds."""
    lower, upper = sorted(draw(st.sets(st.sampled_from(COSINES), min_size=2, max_size=2)))
    name = draw(st.sampled_from(["store-time", "replace-or-merge", "namespaced", "layered"]))
    if name == "layered":
        return layered(lower, upper)
    if name == "namespaced":
        return namespaced(lower, upper)
    return preset(name, lower, upper, draw(st.booleans()))


COMPOSING = preset("replace-or-merge", 0.875, 1.0)
HELD_BACK: list[Act] = [
    *(Say(point) for point in (0, 2, 3)),
    Judge(which=0, answers=("compose",), point=1),
    Say(1),
    Pair(same=False, a=2, b=2),
    Judge(which=0, answers=("same",)),
]
"""A verdict waits for a join that would not have been, and is about a text that is gone with it."""

COMPOSED_BEFORE: list[Act] = [
    *(Say(point) for point in (0, 2, 8, 10)),
    *[Judge(which=0, answers=("compose",), point=5)] * 2,
]
"""A text that was composed of one pair and keeps the next would have been the first of its kind."""


STALE_BETTER: list[Act] = [
    *(Say(1), Say(3), Say(4)),
    Judge(which=12, answers=("unavailable", "compose"), point=4),
    Judge(which=14, answers=("unusable", "unavailable"), point=2),
]
"""Nobody answered, after a better neighbour's answer that was about a text of the merge."""
STALE_OWN: list[Act] = [Say(2), Say(0), Say(3, "!"), Judge(which=15, answers=("unavailable",))]
"""Nobody answered about a text that would not have spoken."""
TAKEN_APART: list[Act] = [
    *(Say(2), Say(2), Say(0), Say(4), Say(5), Say(4)),
    Judge(which=8, answers=("unavailable",)),
    *(Say(4), Say(5)),
    Judge(which=1, answers=("update",), point=2),
    *(Say(2), Say(0, "?")),
    Pair(same=True, a=5, b=8, rank="review", newer_speaks=True),
    Whole(which=3, back=False),
]
"""A candidate waits for a neighbour that is taken apart from it, and stays where it was."""
COMPOSED_AGAIN: list[Act] = [
    *(Say(4), Say(5), Say(1)),
    Judge(which=11, answers=("same", "same"), point=11),
    Say(6),
    Judge(which=3, answers=("unusable", "compose"), point=3),
    Judge(which=8, answers=("unusable",)),
]
"""An answer was about a composed text, whose candidate is decided on anew with the same text."""


ASKED_OF_A_TEXT: list[Act] = [
    *(Say(5), Say(2, "?", session="s", hours_ago=2)),
    Judge(which=15, answers=("compose",), point=10),
    Say(9, "?", session="s"),
]
"""The same neighbour is asked about, but was compared as the text that is gone, with other cues."""
APART_FROM_A_SPEAKER: list[Act] = [
    *(Say(5), Say(4), Say(2, "?")),
    Judge(which=0, answers=("unavailable",)),
    Judge(which=7, answers=("update", "same"), point=5),
    Judge(which=8, answers=("different",)),
]
"""A late answer separates one from whoever spoke, who waits for it."""


SAME_TEXT: list[Act] = [
    *(Say(4), Say(0), Say(1), Say(2)),
    Judge(which=1, answers=("same",)),
    Say(3),
    Judge(which=1, answers=("unavailable",)),
    Judge(which=1, answers=("compose", "different", "unusable"), point=5),
    Judge(which=1, answers=("different",)),
]
"""An answer was about a composed text, which the other history has by another event."""
SAME_TEXT_KEPT: list[Act] = [
    *(Say(7, "!"), Say(0), Say(11), Say(7)),
    Judge(which=1, answers=("different",)),
    Say(6),
    Judge(which=3, answers=("compose", "unusable", "unusable"), point=2),
    Judge(which=13, answers=("same",)),
]
"""Whoever joined such a text by its answer is named by no plan: nothing of it would be another."""
TEXT_OF_A_REINSTATED: list[Act] = [
    *(Say(3), Say(1, hours_ago=1), Judge(which=0, answers=("update",)), Whole(which=1)),
    Say(3, "?", hours_ago=2),
    Judge(which=3, answers=("compose", "unavailable"), point=5),
    OnJoin(which=13, standing=False),
    Say(2, "!", hours_ago=1),
    Judge(which=5, answers=("compose",), point=8),
]
"""A text was composed anew by a consequence, and an answer was about it."""

TEXT_OF_OTHERS: list[Act] = [
    *(Say(11), Say(8, hours_ago=1), Judge(which=1, answers=("update",)), Say(0), Say(9), Say(2)),
    *[Judge(which=2, answers=("compose",), point=4)] * 2,
]
"""A text was composed of two, of which one leaves, and then of others, whose it is now."""


BACK_TOGETHER: list[Act] = [
    *(Say(3), Say(1), Say(0), Say(1), Say(5), Say(0), Say(0)),
    *(SettleAgain(which=0), OnJoin(which=0), Pair(same=True, a=10, b=9)),
    *(Say(2), Whole(which=0, back=False), OnJoin(which=13, standing=False)),
]
"""A person's one word brings two joins back, each of which barred the other."""


@example(preset("store-time", 0.75, 0.9375, guard=False), BACK_TOGETHER, 0, ["same"])
@example(preset("store-time", 0.5, 0.875), TEXT_OF_OTHERS, 2, ["different"])
@example(preset("store-time", 0.6875, 0.8125), SAME_TEXT, 0, ["same"])
@example(preset("store-time", 0.5, 0.6875), SAME_TEXT_KEPT, 0, ["same"])
@example(preset("store-time", 0.625, 0.75), TEXT_OF_A_REINSTATED, 0, ["same"])
@example(COMPOSING, HELD_BACK, 0, ["same"])
@example(preset("store-time", 0.75, 0.8125), ASKED_OF_A_TEXT, 0, ["unavailable"])
@example(preset("store-time", 0.5, 1.0, guard=False), APART_FROM_A_SPEAKER, 0, ["unavailable"])
@example(COMPOSING, COMPOSED_BEFORE, 0, ["same"])
@example(preset("store-time", 0.75, 0.9375), STALE_BETTER, 0, ["update"])
@example(preset("replace-or-merge", 0.75, 0.9375), STALE_OWN, 0, ["update"])
@example(COMPOSING, TAKEN_APART, 0, ["compose"])
@example(preset("store-time", 0.5625, 0.875), COMPOSED_AGAIN, 0, ["unusable", "update"])
@settings(max_examples=elsewhere())
@given(presets(), stories, numbers, lates)
def test_with_consequences_equals_the_history_without(
    policy: Policy, story: list[Act], which: int, late: list[Answer]
) -> None:
    consequences.equals_without(policy, story, which, late)


@pytest.mark.long
@given(policies(search="memories"), stories, numbers, lates)
def test_so_under_any_policy_that_searches_memories(
    policy: Policy, story: list[Act], which: int, late: list[Answer]
) -> None:
    consequences.equals_without(policy, story, which, late)


FREED_AND_OUT: list[Act] = [
    *(Say(7), Say(7, "?"), Say(11)),
    Pair(same=False, a=2, b=0),
    Judge(which=0, answers=("same",)),
]
"""What the un-merge freed went out again, as a consequence: none of it was there before."""
WORD_TAKEN_BACK: list[Act] = [
    *(Say(3), Say(4), Say(5)),
    Pair(same=True, a=2, b=1),
    *(Whole(which=0), OnJoin(which=0, standing=False)),
]
"""A person's word on a pair was taken back, before a consequence joined the two."""


REPEATED_WHAT_WAS_COMPOSED: list[Act] = [
    *(Say(1, hours_ago=2), Say(10, "?"), Say(10, "?", category="gotcha", hours_ago=2)),
    Say(4, "!", hours_ago=1),
    Batch(a=4, b=12, face="text", point=7, outright=True),
    Judge(which=12, answers=("compose", "unusable", "update"), point=5),
    Say(9, "!", session="s"),
    Pair(same=False, a=4, b=3, rank="review"),
    Judge(which=1, answers=("compose", "unavailable", "same"), point=1),
    Say(1, "?", session="s"),
]
"""A consequence composes what a later one then repeats; and it was closed before it was joined."""


@example(preset("store-time", 0.5, 0.6875), REPEATED_WHAT_WAS_COMPOSED, 4)
@example(preset("replace-or-merge", 0.5, 1.0), FREED_AND_OUT, 0)
@example(preset("store-time", 0.5, 0.875, guard=False), WORD_TAKEN_BACK, 0)
@given(presets(), stories, numbers)
def test_reinstating_takes_the_consequences_back(
    policy: Policy, story: list[Act], which: int
) -> None:
    consequences.reinstating_restores(policy, story, which)


REPEATED_ALONE: list[Act] = [Say(0), Say(1), Judge(0, ("compose",), point=8), Say(8, "?")]
"""A repeat of what the join composed goes out with it, and says that text until it is back."""


@pytest.mark.long
@example(preset("replace-or-merge", 0.9375, 1.0), REPEATED_ALONE, 0)
@given(policies(search="memories"), stories, numbers)
def test_so_does_reinstating_under_any_policy_that_searches_memories(
    policy: Policy, story: list[Act], which: int
) -> None:
    consequences.reinstating_restores(policy, story, which)


@pytest.mark.long
@given(presets(), stories, st.integers(2, 7))
def test_under_a_preset_neither_does_the_batch_size(
    policy: Policy, story: list[Act], size: int
) -> None:
    laws.l15_batch_size(policy, story, size)


@pytest.mark.long
@given(presets(), stories, st.randoms(use_true_random=False))
def test_under_a_preset_the_order_of_neighbours_changes_no_decision(
    policy: Policy, story: list[Act], chance: random.Random
) -> None:
    laws.l14_order_of_neighbours(policy, story, chance)


LEAST = {
    "redecided": 60,
    "reversed": 35,
    "asks another": 15,
    "overtaken": 40,
    "taken back": 120,
}
"""Of each kind, in the same two hundred stories on every run."""


@pytest.mark.long
def test_the_histories_have_consequences_of_every_kind() -> None:
    counted: Counter[str] = Counter()

    @settings(
        max_examples=200,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(presets(), stories, numbers)
    def count(policy: Policy, story: list[Act], which: int) -> None:
        counted.update(consequences.made_of(policy, story, which))

    count()
    lacking = {what: counted[what] for what in LEAST if counted[what] < LEAST[what]}
    assert lacking == {}


# -- the law can fail ----------------------------------------------------------------------------


def what_is_decided_anew_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join made anew is folded at its own position, as a person's, not at the arrival."""
    redecided = evolve._redecided

    def broken(ledger: Ledger, event: Redecided, touched: Touched) -> None:
        redecided(ledger, event, touched)
        if event.id in ledger.edges:
            ledger.edges[event.id].place = ledger.seen
            ledger.entries[event.subject].memory.refold()

    monkeypatch.setattr(evolve, "_redecided", broken)


def later_decisions_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later decision is held to have met what it met."""
    monkeypatch.setattr(Without, "_is_the_same", lambda self, event, target, found: True)


def a_consequence_separates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join that goes out as a consequence counts as a person's word against the pair."""
    unmerge = operate.unmerge

    def broken(command: Unmerge, ledger: Ledger, now: datetime) -> operate.Result:
        alone = command.model_copy(update={"consequence_of": None, "rank": "person"})
        return unmerge(alone, ledger, now)

    monkeypatch.setattr(operate, "unmerge", broken)


@pytest.mark.parametrize(
    "broken",
    [
        what_is_decided_anew_comes_last,
        later_decisions_stay,
        a_consequence_separates,
    ],
    ids=lambda broken: broken.__name__,
)
def test_a_break_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        search(consequences.equals_without, presets(), asked, numbers, lates)


def test_a_text_is_the_same_whichever_event_composed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(without, "same_text", lambda ledger, text: None)
    with pytest.raises(AssertionError):
        search(
            consequences.equals_without,
            *map(st.just, (preset("store-time", 0.6875, 0.8125), SAME_TEXT, 0, ["same"])),
        )
