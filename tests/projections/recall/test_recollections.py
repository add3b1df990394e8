"""What is kept of a ledger for the next question is what a fresh look at it finds."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from palimpsest.contracts.policy import Policy
from palimpsest.projections.recall import from_ledger
from palimpsest.projections.recall.collapse import Folding
from palimpsest.projections.recall.from_ledger import Recollection
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from tests.laws.histories import Act, play, policies, stories
from tests.laws.world import DIMENSION
from tests.long import examples
from tests.projections.histories import DIMENSION as HISTORY_DIMENSION
from tests.projections.histories import History

LOOK_AT_ALL = Recollection._look_at_all


@settings(
    max_examples=examples(200),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(policy=policies(), story=stories)
def test_a_recollection_that_follows_recalls_as_one_made_anew(
    monkeypatch: pytest.MonkeyPatch, policy: Policy, story: list[Act]
) -> None:
    """Also if it follows however many memories have changed."""
    monkeypatch.setattr(from_ledger, "FEW_CHANGED", 0)
    monkeypatch.setattr(from_ledger, "LOOKED_AT", 2)
    told, ledger = play(policy, story), Ledger("ada")
    kept = Recollection(ledger, DIMENSION)
    query = np.arange(1, DIMENSION + 1, dtype=np.float32)
    wanted = RecallOptions(99, folding=Folding(policy), former=True)
    few = RecallOptions(2, folding=Folding(policy))
    for event in told.world.log:
        evolve(ledger, event)
        fresh = Recollection(ledger, DIMENSION)
        for asked in (wanted, few):
            names = ledger.names
            assert kept.recall(query, asked, names) == fresh.recall(query, asked, names)


def test_while_a_clock_that_went_back_catches_up_no_memory_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that is new has the time of the last event before, so its ids alone say its order."""
    history = History()
    for number in range(8):
        history.admit("ada", f"She keeps {number} boats.")
    ledger = history.ledgers["ada"]
    kept = Recollection(ledger, HISTORY_DIMENSION)
    query = np.arange(1, HISTORY_DIMENSION + 1, dtype=np.float32)
    wanted = RecallOptions(99, former=True)
    kept.recall(query, wanted, ())
    monkeypatch.setattr(Recollection, "_look_at_all", unwanted)
    history._now -= timedelta(days=9)
    for number in range(12):
        history.admit("ada", f"She sells {number} kettles.")
        found = kept.recall(query, wanted, ())
        with monkeypatch.context() as fresh:
            fresh.setattr(Recollection, "_look_at_all", LOOK_AT_ALL)
            assert found == Recollection(ledger, HISTORY_DIMENSION).recall(query, wanted, ())
    late = list(ledger.entries.values())[8:]
    assert len({entry.decided_at for entry in late}) == 1
    assert [entry.id for entry in late] != sorted(entry.id for entry in late)


def unwanted(_: Recollection) -> None:
    raise AssertionError("all memories were looked at")
