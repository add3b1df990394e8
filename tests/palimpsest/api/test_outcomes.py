"""What a model is told of an offered text."""

from __future__ import annotations

import pytest

from palimpsest.api.outcomes import MEANWHILE, OVER, say_outcome
from palimpsest.streams.write.inputs import EXPIRED


@pytest.mark.parametrize(
    ("decision", "reason", "end"),
    [
        ("pending", None, MEANWHILE),
        ("pending", EXPIRED, OVER),
        ("stored", EXPIRED, OVER),
        ("stored", None, "Stored as memory m."),
    ],
)
def test_a_search_finds_it_or_it_has_expired(decision: str, reason: str | None, end: str) -> None:
    outcome = {"result": "decided", "decision": decision, "reason": reason, "joined_to": None}
    said = say_outcome({**outcome, "memory_id": "m", "candidate_id": "m"}, "m")
    assert said.endswith(end)
    assert (MEANWHILE in said) is (end == MEANWHILE)
