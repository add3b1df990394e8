"""The laws where things expire, and those of expiry itself (docs/expiry.md).

What has expired is told from the log's lines alone, by `Expiries`, which shares no code with the
product. `test_expiry_breaks.py` proves that each law of expiry can fail.
"""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from palimpsest.contracts.events import Decided, ExpirySet
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from tests.laws import checks, undoing
from tests.laws.expiries import (
    PINNED_AGAIN,
    VERBATIM,
    decisions_see_nobody_expired,
    hidden_with_the_last_one,
    long_lived_is_for_ever,
    one_current_memory_per_text,
)
from tests.laws.histories import AT_ONCE, FEW, Act, Say, expiring, play, policies

any_policy = policies()
candidates_policy = policies(search="candidates")
numbers = st.integers(0, 15)
chances = st.randoms(use_true_random=False)
patient = settings(FEW, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@given(any_policy, expiring)
def test_no_decision_rests_on_what_has_expired(policy: Policy, story: list[Act]) -> None:
    decisions_see_nobody_expired(policy, story)


@example(VERBATIM, PINNED_AGAIN)
@given(any_policy, expiring)
def test_at_most_one_current_memory_says_a_text(policy: Policy, story: list[Act]) -> None:
    one_current_memory_per_text(policy, story)


@given(any_policy, expiring)
def test_a_memory_expires_when_its_last_living_member_does(
    policy: Policy, story: list[Act]
) -> None:
    hidden_with_the_last_one(policy, story)


@FEW
@given(any_policy, expiring)
def test_what_outlives_a_story_is_decided_on_as_what_never_expires(
    policy: Policy, story: list[Act]
) -> None:
    long_lived_is_for_ever(policy, story)


@patient
@given(candidates_policy, expiring, numbers, st.booleans())
def test_L2_unmerging_leaves_what_would_be_there(  # noqa: N802
    policy: Policy, story: list[Act], which: int, never: bool
) -> None:
    check = undoing.l2_equals_never if never else undoing.l2_late_equals_at_once
    check(policy, story, which)


@FEW
@given(any_policy, expiring)
def test_L1_L3_L4_L5_L12_hold_while_things_expire(  # noqa: N802
    policy: Policy, story: list[Act]
) -> None:
    for law in (
        undoing.l1_unmerge_restores,
        checks.l3_twice_is_once,
        checks.l4_nothing_outside,
        checks.l5_partition,
        checks.l12_as_of,
        checks.touched_is_all,
    ):
        law(policy, story)


@FEW
@given(any_policy, expiring, chances, st.integers(2, 7))
def test_L7_L14_L15_hold_while_things_expire(  # noqa: N802
    policy: Policy, story: list[Act], chance: random.Random, size: int
) -> None:
    """In L15 the k nearest of the real indexes are those of everyone who has not expired."""
    checks.l7_fold_is_live(policy, story, chance)
    checks.l14_order_of_neighbours(policy, story, chance)
    checks.l15_batch_size(policy, story, size)


@patient
@given(any_policy, expiring, numbers)
def test_L8_redo_restores_while_things_expire(  # noqa: N802
    policy: Policy, story: list[Act], which: int
) -> None:
    checks.l8_redo_restores(policy, story, which)


LEAST = {"expires": 500, "expiry_set": 60, "pinned": 10, "said again": 40, "prolonged": 15}


def test_the_histories_have_enough_of_everything() -> None:
    counted: Counter[str] = Counter()

    @settings(
        max_examples=100,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(any_policy, expiring)
    def count(policy: Policy, story: list[Act]) -> None:
        told = play(policy, story)
        for event in told.world.log:
            match event:
                case Decided():
                    counted["expires"] += event.data.expires_at is not None
                case ExpirySet():
                    counted["expiry_set"] += 1
                    counted["pinned"] += event.data.expires_at is None
                case _:
                    pass
        for scope in told.world.ledger.scopes.values():
            counted["said again"] += len(scope.rows) - len({row.hash for row in scope.rows})
            for row in scope.rows:
                ends = [entry.expires_at for entry in row.members]
                counted["prolonged"] += len(ends) > 1 and len({*ends}) > 1

    count()
    assert {what: counted[what] for what in LEAST if counted[what] < LEAST[what]} == {}


def test_who_has_expired_on_arrival_takes_no_place_among_the_nearest() -> None:
    """Nor of a window that was looked up before it came."""
    zones = (Zone(at_least=0.5, action="pending"),)
    nearest = CosineCheck(check="cosine", zones=zones, top=1)
    policy = VERBATIM.model_copy(update={"checks": (nearest,)})
    checks.l15_batch_size(policy, [Say(1), Say(0, ttl=AT_ONCE), Say(0, "!")], 3)
