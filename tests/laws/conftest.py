"""The same stories, whatever else was imported."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants


@pytest.fixture(autouse=True, scope="package")
def _no_literals_of_modules() -> Iterator[None]:
    """Hypothesis draws the literals of imported modules too, one time in twenty.

    An act is a draw of bytes: a literal of that length, in whatever module other tests import,
    makes every twentieth act the same one, and only when these tests run together.
    """
    none = Constants()
    with patch.object(providers, "_get_local_constants", lambda: none):
        providers.CONSTANTS_CACHE.cache.clear()
        yield
    providers.CONSTANTS_CACHE.cache.clear()
