"""The laws where an owner has names, and those of names themselves (docs/guard.md, Names)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from palimpsest.contracts.events import Compacted, Decided, NamesSet, Ran
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core import evolve, neighbour_lookup
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.guard import names as naming
from palimpsest.streams.guard import reading
from tests.laws import checks, undoing
from tests.laws.histories import FEW, GUARDED, Act, calling, play, policies
from tests.laws.namings import (
    names_of_nobody_change_nothing,
    rules_join_by_names_in_force_alone,
    what_names_make_one_is_joined,
)
from tests.laws.test_breaks import Patch, search

numbers = st.integers(0, 15)
patient = settings(FEW, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@given(calling)
def test_a_rule_joins_by_the_names_in_force_alone(story: list[Act]) -> None:
    rules_join_by_names_in_force_alone(GUARDED, story)


@given(calling)
def test_what_names_make_one_is_joined(story: list[Act]) -> None:
    what_names_make_one_is_joined(GUARDED, story)


@FEW
@given(calling)
def test_names_of_nobody_change_nothing(story: list[Act]) -> None:
    names_of_nobody_change_nothing(GUARDED, story)


@patient
@given(calling, numbers, st.booleans())
def test_L2_unmerging_leaves_what_would_be_there(  # noqa: N802
    story: list[Act], which: int, never: bool
) -> None:
    check = undoing.l2_equals_never if never else undoing.l2_late_equals_at_once
    check(GUARDED, story, which)


@FEW
@given(policies(), calling, st.randoms(use_true_random=False), st.integers(2, 7))
def test_the_other_laws_hold_while_names_change(
    policy: Policy, story: list[Act], chance: random.Random, size: int
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
    checks.l7_fold_is_live(policy, story, chance)
    checks.l15_batch_size(policy, story, size)


def names_are_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is called by names is compared as if nobody were."""
    monkeypatch.setattr(evolve, "_noted", lambda _ledger, _event: None)


def names_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that were taken back still count."""

    def broken(ledger: Ledger, event: Compacted | Ran | NamesSet) -> None:
        whole(ledger, event)
        if isinstance(event, NamesSet):
            ledger.names = tuple(sorted({*event.data.names, *event.data.was}))

    whole = evolve._noted
    monkeypatch.setattr(evolve, "_noted", broken)


def everybody_is_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any capitalised word that opens a text is a name of the owner."""

    def broken(text: str, names: tuple[str, ...]) -> str | None:
        return whole(text, (*names, "Bob"))

    whole = naming.called_alike
    monkeypatch.setattr(reading, "called_alike", broken)


def the_rest_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is exchanged although another of the owner's stands in the text."""
    monkeypatch.setattr(naming, "_is_plain", lambda *_: True)


BREAKS: list[tuple[Patch, Callable[..., None]]] = [
    (names_add_up, rules_join_by_names_in_force_alone),
    (names_are_not_folded, what_names_make_one_is_joined),
    (everybody_is_the_owner, rules_join_by_names_in_force_alone),
    (the_rest_is_not_looked_at, rules_join_by_names_in_force_alone),
]


@pytest.mark.parametrize(("patch", "check"), BREAKS, ids=[patch.__name__ for patch, _ in BREAKS])
def test_a_break_is_found(
    monkeypatch: pytest.MonkeyPatch, patch: Patch, check: Callable[..., None]
) -> None:
    reading_kept_nothing(monkeypatch)
    patch(monkeypatch)
    with pytest.raises(AssertionError):
        search(check, st.just(GUARDED), calling)


def reading_kept_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are read anew: a break must not meet what was read before it."""
    monkeypatch.setattr(neighbour_lookup, "kept_reading", reading.read)


LEAST = {"names_set": 150, "joined by a name": 30}


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
    @given(calling)
    def count(story: list[Act]) -> None:
        for event in play(GUARDED, story).world.log:
            counted["names_set"] += isinstance(event, NamesSet)
            if isinstance(event, Decided) and event.data.decision == "auto_reject":
                counted["joined by a name"] += 1

    count()
    assert {what: counted[what] for what in LEAST if counted[what] < LEAST[what]} == {}, counted
