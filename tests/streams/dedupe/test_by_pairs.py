"""The rule `pairs` on hand-made vectors: which texts it puts together, and in which order."""

from __future__ import annotations

import pytest

from palimpsest.contracts.policy import PairsDedupe
from palimpsest.streams.dedupe.by_pairs import by_pairs
from palimpsest.streams.dedupe.run import Run
from palimpsest.streams.policies import load_policy
from tests.core.spec import given
from tests.streams.dedupe.test_by_tokens import at

IMPORTANCE = load_policy("importance")


@pytest.mark.parametrize(("first", "second"), ["ab", "ba"])
def test_the_sources_of_a_text_are_in_the_order_in_which_they_happened(
    first: str, second: str
) -> None:
    """Not in that of their ids, which are the same whatever came first."""
    history = given(
        *(
            at(name, f"{name} it is", 0, occurred_at=f"2025-01-0{day}T00:00:00Z")
            for day, name in enumerate((first, second), 1)
        ),
        policy=IMPORTANCE,
    )
    assert isinstance(IMPORTANCE.dedupe, PairsDedupe)
    run = Run(lambda _what, _share: None)
    [planned] = by_pairs(history.ledger, IMPORTANCE, IMPORTANCE.dedupe, run)
    assert planned.text == f"{first} it is. {second} it is"
    assert planned.sources == (history.id(first), history.id(second))
