"""What is filed of memories follows them: it is what filing all anew finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings

from palimpsest.contracts.policy import Policy
from palimpsest.projections.recall.sayings import Sayings
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger, Memory
from tests.laws.histories import Act, play, policies, stories
from tests.long import examples

NAMES = ("I", "the user")


def filed(sayings: Sayings, among: list[Memory]) -> list[Any]:
    """Under what these memories are filed."""
    each: list[Mapping[Any, set[Memory]]] = [
        *(sayings.now, sayings.before, sayings.by_key, sayings.by_gist)
    ]
    return [
        {at: found for at, memories in under.items() if (found := memories & {*among})}
        for under in each
    ]


def said(sayings: Sayings, memory: Memory) -> list[Any]:
    """All that a memory says."""
    found = sayings.of(memory)
    forms = {same: form.text for same, form in found.forms.items()}
    return [found.moment, forms, [one.text for one in sayings.statements_of(memory)]]


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow])
@given(policy=policies(), story=stories)
def test_what_is_filed_follows_the_memories(policy: Policy, story: list[Act]) -> None:
    told, ledger = play(policy, story), Ledger("ada")
    kept, asked = Sayings(NAMES), Sayings(NAMES)
    for event in told.world.log:
        evolve(ledger, event)
        fresh, memories = Sayings(NAMES), ledger.memories()
        kept.file(memories)
        fresh.file(memories)
        assert filed(kept, memories) == filed(fresh, memories)
        for memory in memories:
            assert said(asked, memory) == said(fresh, memory)
