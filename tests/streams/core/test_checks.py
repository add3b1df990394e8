"""Which neighbours the cosine check looks at."""

from __future__ import annotations

from unittest.mock import Mock

from palimpsest.contracts.policy import CosineCheck, Zone
from palimpsest.streams.core.checks import in_zones, nearest_of
from palimpsest.streams.policies import load_policy
from tests.laws import world


def test_of_several_cosine_checks_the_first_says_whether_a_text_is_long_enough() -> None:
    zones = (Zone(at_least=0.9, action="pending"),)
    long, short = (CosineCheck(check="cosine", zones=zones, min_characters=n) for n in (1_000, 0))
    policy = load_policy("standard").model_copy(update={"checks": (long, short)})
    newcomer, lookup = world.admit_at("ada", "1", 0), Mock()
    assert nearest_of(policy, newcomer, lookup) == in_zones(policy, newcomer, lookup) == []
    lookup.by_cosine.assert_not_called()
