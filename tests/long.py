"""Parameters with which a test is tried in turns: by `make test` with some, in CI with all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def long_but(*kept: object, of: Iterable[object]) -> list[Any]:
    """All of the parameters for `pytest.mark.parametrize`; those that are not kept are long."""
    return [pytest.param(one, marks=[] if one in kept else pytest.mark.long) for one in of]
