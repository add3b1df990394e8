"""What is kept of a ledger for the next question is what a fresh look at it finds."""

from __future__ import annotations

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
