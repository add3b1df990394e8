"""The same stories, whatever other tests were collected."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis.internal.conjecture import providers


@pytest.fixture(autouse=True, scope="package")
def _no_literals_of_other_tests() -> Iterator[None]:
    """Hypothesis draws the literals of all imported modules too, one time in twenty.

    A story's act is a draw of bytes: a literal of their length, anywhere in the repository, made
    every twentieth act the same one, in a run of all tests alone.
    """
    none = providers.Constants()
    with patch.object(providers, "_get_local_constants", lambda: none):
        providers.CONSTANTS_CACHE.cache.clear()
        yield
    providers.CONSTANTS_CACHE.cache.clear()
