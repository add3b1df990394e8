"""The laws hold under a policy that consolidates a session's memories when it ends."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from palimpsest.contracts.events import Joined, Ran
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core import combine
from palimpsest.streams.dedupe import alike, consolidate
from palimpsest.streams.replay.without import Without
from palimpsest.streams.search.content import content_tokens, jaccard
from tests.laws import checks, consequences
from tests.laws.histories import (
    AGAINS,
    FEWER,
    ON_CANDIDATES,
    ON_JOINS,
    PAIRS,
    SAYS,
    TAKE_BACKS,
    WHOLES,
    Act,
    Kind,
    OnCandidate,
    Say,
    among,
    play,
)
from tests.laws.test_breaks import search
from tests.laws.test_consequences import layered

IN_SESSION = Kind(Say, point=range(12), session=("s",))
ENDS = Kind(OnCandidate, word=("end",), which=(0,))
OTHERS = (PAIRS, ON_JOINS, ON_CANDIDATES, WHOLES, TAKE_BACKS, AGAINS)
stories = st.lists(among(*[IN_SESSION] * 6, SAYS, *[ENDS] * 2, *OTHERS), min_size=8, max_size=24)
policies = st.sampled_from([layered(0.6, 1.0), layered(0.75, 0.9375), layered(1.0, 1.0)])
numbers = st.integers(0, 15)
chances = st.randoms(use_true_random=False)


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


def clusters_are_cliques(policy: Policy, story: list[Act]) -> None:
    """Every two of a cluster are alike by more than the threshold, and a memory is in one."""
    ledger = play(policy, story).world.ledger
    rule = policy.consolidate
    assert rule is not None
    planned = consolidate.plan(ledger, policy, rule, "s")
    seen: Counter[str] = Counter()
    for cluster in planned.clusters:
        everyone = [cluster.speaker, *(entry for entry, _ in cluster.others)]
        seen.update(entry.id for entry in everyone)
        texts = [content_tokens(entry.memory.face.text) for entry in everyone]
        scores = [round(jaccard(a, b), 4) for a, b in combinations(texts, 2)]
        assert min(scores) > rule.above
        assert (len(scores), round(sum(scores), 4)) == (cluster.pairs, round(cluster.total, 4))
    assert set(seen.values()) <= {1}


@FEWER
@given(policies, stories)
def test_all_pairs_of_a_cluster_are_alike_and_a_memory_is_in_one(
    policy: Policy, story: list[Act]
) -> None:
    clusters_are_cliques(policy, story)


@FEWER
@given(policies, stories)
def test_a_run_counts_its_joins(policy: Policy, story: list[Act]) -> None:
    log = play(policy, story).world.log
    joins = Counter(e.data.cause for e in log if isinstance(e, Joined) and e.data.cause)
    made = {event_id(cause, "0"): count for cause, count in joins.items()}
    runs = [e for e in log if isinstance(e, Ran) and e.data.session_id == "s"]
    counted = {run.id: run.data.figures.get("superseded_count", 0) for run in runs}
    assert {run: count for run, count in counted.items() if count} == made


@FEWER
@given(policies, stories, numbers)
def test_unmerging_with_consequences_equals_the_history_without(
    policy: Policy, story: list[Act], which: int
) -> None:
    consequences.equals_without(policy, story, which, ["same"])


def test_the_histories_consolidate() -> None:
    """What is drawn has runs that join, and joins that are taken back and brought back."""
    seen: Counter[str] = Counter()

    def count(policy: Policy, story: list[Act]) -> None:
        log = play(policy, story).world.log
        made = {e.id for e in log if isinstance(e, Joined) and e.data.cause}
        seen["joins"] += bool(made)
        seen["reversed"] += any(
            getattr(e.data, "decision_id", None) in made for e in log if not isinstance(e, Joined)
        )

    search(count, policies, stories, examples=300)
    assert seen["joins"] > 60
    assert seen["reversed"] > 10


# -- the laws can fail -----------------------------------------------------------------------------


def it_joins_what_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (combine, consolidate):
        monkeypatch.setattr(module, "hindrance_of", lambda *_: None)


def every_pair_is_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single linkage: who is near the first is in."""
    like = alike.SimilarSets._like

    def broken(self: alike.SimilarSets, number: int) -> NDArray[np.bool_]:
        first: int = self.__dict__.setdefault("first", number)
        return like(self, first)

    monkeypatch.setattr(alike.SimilarSets, "_like", broken)


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
        (every_pair_is_alike, clusters_are_cliques),
        (a_run_is_not_replayed, without_the_first),
    ],
    ids=lambda one: one.__name__,
)
def test_a_break_is_found(
    broken: Callable[[pytest.MonkeyPatch], None],
    law: Callable[[Policy, list[Act]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, IndexError, KeyError)):
        search(law, policies, stories)
