"""What is tried in turns: by `make test` in part, in CI in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def long_but(*kept: object, of: Iterable[object]) -> list[Any]:
    """All of the parameters for `pytest.mark.parametrize`; those that are not kept are long."""
    every = [*of]
    assert all(one in every for one in kept), f"{kept} are not all among {every}"
    return [pytest.param(one, marks=[] if one in kept else pytest.mark.long) for one in every]


def elsewhere() -> int:
    """How many examples CI takes: for a law that finds a break late, or takes a part of them."""
    quick = settings.get_current_profile_name() == "quick"
    return (settings.get_profile("default") if quick else settings()).max_examples


def examples(count: int) -> int:
    """How many examples of a property that is no law: a quarter in `make test`, but three at least.

    In proportion elsewhere.
    """
    if settings.get_current_profile_name() == "quick":
        return max(min(count, 3), count // 4)
    return max(1, count * settings().max_examples // 200)
