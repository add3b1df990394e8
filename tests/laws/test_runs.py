"""The laws hold under the preset whose periodic run joins by importance and asks no judge."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from palimpsest.contracts.events import Composed, Joined
from palimpsest.contracts.policy import PairsDedupe, Policy
from palimpsest.streams.core import combine
from palimpsest.streams.core.ledger import Entry
from palimpsest.streams.dedupe import by_pairs
from palimpsest.streams.policies import load_policy
from palimpsest.streams.replay.without import Without
from tests.laws import checks, consequences
from tests.laws.histories import (
    AGAINS,
    FEWER,
    ON_CANDIDATES,
    ON_JOINS,
    PAIRS,
    TAKE_BACKS,
    WHOLES,
    Act,
    Kind,
    OnCandidate,
    Say,
    Whole,
    among,
    play,
)
from tests.laws.test_breaks import search

WORTH = Kind(
    Say,
    point=range(6),
    sign=("", "", "!"),
    hours_ago=(None, None, 1, 2),
    importance=(None, None, None, 0.2, 0.9),
)
RUNS = Kind(OnCandidate, word=("ran",), which=(0,))
OTHERS = (PAIRS, *[ON_JOINS] * 4, *[ON_CANDIDATES] * 2, WHOLES, TAKE_BACKS, AGAINS)
stories = st.lists(among(*[WORTH] * 6, *[RUNS] * 3, *OTHERS), min_size=8, max_size=24)
numbers = st.integers(0, 15)
chances = st.randoms(use_true_random=False)


def importance(above: float, top: int, *, counts_itself: bool) -> Policy:
    """`importance` as it is published, but for its numbers."""
    published = load_policy("importance")
    assert isinstance(published.dedupe, PairsDedupe)
    said = {"above": above, "top": top, "counts_itself": counts_itself}
    rule = published.dedupe.model_copy(update=said)
    return published.model_copy(update={"model": "grid", "dedupe": rule})


policies = st.builds(
    importance,
    st.sampled_from([0.75, 0.875, 0.9375]),
    st.sampled_from([2, 5]),
    counts_itself=st.booleans(),
)


@pytest.mark.parametrize("law", checks.OF_ANY_STORY, ids=lambda law: law.__name__)
@FEWER
@given(policies, stories)
def test_laws_hold(law: checks.Law, policy: Policy, story: list[Act]) -> None:
    law(policy, story)


@FEWER
@given(policies, stories, chances)
def test_l7_the_fold_is_the_live_ledger(
    policy: Policy, story: list[Act], chance: random.Random
) -> None:
    checks.l7_fold_is_live(policy, story, chance)


@FEWER
@given(policies, stories, numbers)
def test_l8_redo_restores(policy: Policy, story: list[Act], which: int) -> None:
    checks.l8_redo_restores(policy, story, which)


RECOMPOSED = [Say(0, hours_ago=2), Say(3, "!"), Say(1), OnCandidate("ran", 0), Whole(13)]
"""A run concatenates three texts, and puts one together anew when two of them are taken apart."""


@FEWER
@example(importance(0.75, 5, counts_itself=True), RECOMPOSED, 1)
@given(policies, stories, numbers)
def test_unmerging_with_consequences_equals_the_history_without(
    policy: Policy, story: list[Act], which: int
) -> None:
    consequences.equals_without(policy, story, which, ["same"])


def nothing_absorbed_absorbs(policy: Policy, story: list[Act]) -> None:
    """Within a run, who does not speak any more is in no later pair."""
    log = play(policy, story).world.log
    gone: dict[str, set[str]] = {}
    for event in log:
        if isinstance(event, Joined) and event.data.cause is not None:
            absorbed = gone.setdefault(event.data.cause, set())
            pair = {event.data.candidate_id, event.data.join.to}
            assert not pair & absorbed
            match event.data.join.face:
                case "keep":
                    absorbed.add(event.data.candidate_id)
                case "take":
                    absorbed.add(event.data.join.to)
                case _:
                    pass


@FEWER
@given(policies, stories)
def test_what_was_absorbed_in_a_run_absorbs_nothing_more(policy: Policy, story: list[Act]) -> None:
    nothing_absorbed_absorbs(policy, story)


@pytest.mark.long
def test_the_histories_have_runs_of_every_kind() -> None:
    seen: Counter[str] = Counter()

    def count(policy: Policy, story: list[Act]) -> None:
        log = play(policy, story).world.log
        made = [e for e in log if isinstance(e, Joined) and e.data.cause]
        seen.update({e.data.join.face for e in made})
        seen["composed"] += any(isinstance(e, Composed) for e in log)
        ids = {e.id for e in made}
        seen["reversed"] += any(
            getattr(e.data, "decision_id", None) in ids for e in log if not isinstance(e, Joined)
        )

    search(count, policies, stories)
    assert min(seen[face] for face in ("keep", "take", "text")) > 30, seen
    assert seen["reversed"] > 30, seen
    assert seen["composed"] > 0, seen


# -- the laws can fail -----------------------------------------------------------------------------


def it_joins_what_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run asks for no separation."""
    for module in (combine, by_pairs):
        monkeypatch.setattr(module, "hindrance_of", lambda *_: None)


def it_remembers_who_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong one of a pair takes no further part."""

    def broken(planned: by_pairs.PlannedJoin) -> Entry:
        return planned.near.older if planned.face == "keep" else planned.near.newer

    monkeypatch.setattr(by_pairs, "_absorbed", broken)


def a_run_is_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run without a join, it is as if it had not been."""
    monkeypatch.setattr(Without, "_planned", lambda self, ran, run: iter(()))


def without_the_first(policy: Policy, story: list[Act]) -> None:
    """The law about consequences, of one join of each story."""
    consequences.equals_without(policy, story, 0, ["same"])


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (it_joins_what_is_apart, checks.l9_separations_bind),
        (it_remembers_who_stays, nothing_absorbed_absorbs),
        (a_run_is_not_replayed, without_the_first),
    ],
)
def test_a_break_is_found(
    broken: Callable[[pytest.MonkeyPatch], None],
    law: Callable[[Policy, list[Act]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        search(law, policies, stories)
