"""Each law of expiry can fail: a deliberate break of the code is found."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import pytest
from hypothesis import strategies as st

from palimpsest.contracts.events import ExpirySet
from palimpsest.streams.core import decide as deciding
from palimpsest.streams.core import evolve, expiry
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger, Memory
from palimpsest.streams.core.neighbour_lookup import NeighbourLookup
from palimpsest.streams.core.touched import Touched
from tests.laws import checks, undoing, world
from tests.laws.expiries import (
    PINNED_AGAIN,
    VERBATIM,
    decisions_see_nobody_expired,
    hidden_with_the_last_one,
    long_lived_is_for_ever,
    one_current_memory_per_text,
)
from tests.laws.histories import expiring, policies
from tests.laws.test_breaks import Check, Patch, search


def nobody_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger is never taken to another moment."""
    for module in (deciding, evolve, world):
        monkeypatch.setattr(module, "advance", lambda _ledger, _moment: None)


def a_repeat_joins_whoever_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verbatim repeat joins the earliest living candidate, expired or not."""

    def broken(self: Distinct, homes: Collection[Memory]) -> Entry | None:
        said = (entry for entry in self.members if entry.living and entry.memory not in homes)
        return next(said, None) or self.spoken_outside(homes)

    monkeypatch.setattr(Distinct, "lives_outside", broken)


def a_pin_looks_at_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has expired comes back although its text was said again."""
    monkeypatch.setattr(expiry, "_said_since", lambda _ledger, _entry: None)


def a_pinned_text_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeat of a text that was pinned does not find it."""

    def broken(ledger: Ledger, event: ExpirySet, touched: Touched) -> None:
        scope = ledger.scope(ledger.entries[event.data.candidate_id].fields.namespace)
        before = dict(scope.by_hash)
        expiry.fold_expiry_set(ledger, event, touched)
        scope.by_hash.update(before)

    monkeypatch.setattr(evolve, "fold_expiry_set", broken)


def a_memory_goes_with_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory expires with the first of its members that does."""

    def broken(self: Memory) -> datetime | None:
        ends = [entry.expires_at for entry in self.members if entry.expires_at]
        return min(ends, default=None)

    monkeypatch.setattr(Memory, "expires_at", property(broken))


def all_that_expires_has_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever says when it expires is hidden at once."""

    def broken(_ledger: Ledger, entry: Entry) -> None:
        entry.expired = entry.expires_at is not None

    monkeypatch.setattr(evolve, "begin_expiry", broken)


def searches_do_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index keeps the row of what has expired: it stands among the nearest."""
    monkeypatch.setattr(expiry, "_search_again", lambda _ledger, _entry: None)


def a_memory_keeps_its_members_in_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate is compared as long as its memory has not expired: that rests on a join."""

    def current(self: Distinct) -> Entry | None:
        return next((one for one in self.members if one.living and one.memory.current), None)

    def eligible(_self: NeighbourLookup, entry: Entry) -> bool:
        return entry.living and entry.memory.current

    monkeypatch.setattr(Distinct, "current", property(current))
    monkeypatch.setattr(NeighbourLookup, "_is_current", eligible)


any_policy, numbers = policies(), st.integers(0, 15)
candidates_policy = policies(search="candidates")
BREAKS: list[tuple[Patch, Check, tuple[st.SearchStrategy[object], ...]]] = [
    (nobody_expires, decisions_see_nobody_expired, (any_policy, expiring)),
    (a_repeat_joins_whoever_lives, decisions_see_nobody_expired, (any_policy, expiring)),
    (a_pin_looks_at_nobody, one_current_memory_per_text, (any_policy, expiring)),
    (
        a_pinned_text_is_not_repeated,
        one_current_memory_per_text,
        (st.just(VERBATIM), st.just(PINNED_AGAIN)),
    ),
    (a_memory_goes_with_its_first, hidden_with_the_last_one, (any_policy, expiring)),
    (all_that_expires_has_expired, long_lived_is_for_ever, (any_policy, expiring)),
    (searches_do_not_read_again, checks.l15_batch_size, (any_policy, expiring, st.integers(2, 7))),
    (
        a_memory_keeps_its_members_in_search,
        undoing.l2_equals_never,
        (candidates_policy, expiring, numbers),
    ),
]


@pytest.mark.parametrize(
    ("patch", "check", "drawn"), BREAKS, ids=[patch.__name__ for patch, *_ in BREAKS]
)
def test_a_break_is_found(
    monkeypatch: pytest.MonkeyPatch,
    patch: Patch,
    check: Check,
    drawn: tuple[st.SearchStrategy[object], ...],
) -> None:
    patch(monkeypatch)
    with pytest.raises(AssertionError):
        search(check, *drawn)
