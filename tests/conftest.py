"""How long the property tests search (`HYPOTHESIS_PROFILE`), and what all tests share."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from palimpsest.projections.duckdb import queries
from tests.light import lighten, write_views

lighten()
pytest_plugins = ("tests.cluster.shared",)

# The same examples on every run, so that a failure is the change's and not the day's.
settings.register_profile(
    "default", derandomize=True, max_examples=200, stateful_step_count=30, deadline=None
)
# For `make test`. All breaks in tests/laws/test_breaks.py but one are found among the first 35
# histories. A law that needs more takes as many as in CI (`tests.long.elsewhere`), and so does one
# that takes a part of them; properties that are no laws take fewer still (`tests.long.examples`).
settings.register_profile("quick", settings.get_profile("default"), max_examples=100)
# For other Pythons (infra/pythons.py): that a law holds is shown by the profile above.
settings.register_profile("brief", settings.get_profile("default"), max_examples=20)
# A search that is slow, or that leaves much out, has found nothing wrong.
settings.register_profile(
    "campaign",
    max_examples=2_000,
    stateful_step_count=80,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


_NONE = Constants()
vars(providers)["_get_local_constants"] = lambda: _NONE
"""Hypothesis draws constants of the modules that are loaded: which depends on the tests before.

With them, the same examples would be others in another process, or when tests are chosen; and it
looks for them in all modules after each collection.
"""


@pytest.fixture(autouse=True, scope="session")
def _no_less_urgent() -> Iterator[None]:
    """A priority that was given away does not come back: all tests after it would be slower."""
    with patch.object(os, "nice", lambda _: 0, create=True):
        yield


@pytest.fixture(autouse=True, scope="session")
def _a_terminal_that_closes() -> None:
    """Under `nohup`, SIGHUP is ignored, by child processes, too; a handler is not inherited."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture
def set_aside() -> Iterator[None]:
    """The collector looks only at what the test makes, not at a million objects of pytest too."""
    gc.freeze()
    yield
    gc.unfreeze()


_numbers = count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, as pytest's own, which looks at all others for a number that is free."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(_numbers)}"
    folder.mkdir()
    return folder


@pytest.fixture
def own_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each store has its own file of views, for those who open it as analysts do: `tests.light`."""
    monkeypatch.setattr(queries, "_write_views", write_views)
