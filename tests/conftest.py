"""How long the property tests search (`HYPOTHESIS_PROFILE`), and what all tests share."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.light import lighten

lighten()
pytest_plugins = ("tests.cluster.shared",)

# The same examples on every run, so that a failure is the change's and not the day's.
settings.register_profile(
    "default", derandomize=True, max_examples=200, stateful_step_count=30, deadline=None
)
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


@pytest.fixture(autouse=True, scope="session")
def _whatever_is_imported() -> Iterator[None]:
    """Hypothesis draws constants of the modules that are loaded: which depends on the tests before.

    With them, the same examples would be others in another process, or when tests are chosen.
    """
    none = Constants()
    with patch.object(providers, "_get_local_constants", lambda: none):
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_less_urgent() -> Iterator[None]:
    """A priority that was given away does not come back: all tests after it would be slower."""
    with patch.object(os, "nice", lambda _: 0, create=True):
        yield


_numbers = count()
IN_ONE_PLACE = ("palimpsest", "projections", "streams")
"""Folders of tests that close what they open, and end each process that they start."""
BY_TURNS = ("bench", "designs", "palimpsest/jobs", "palimpsest/server", "palimpsest/web")
"""Folders of tests whose processes, when they are killed, may be there for some tests more."""
TURNS = 6
TESTS = Path(__file__).parent
# Renamed, a folder would lose its places, and its tests would only take longer.
if missing := [at for at in (*IN_ONE_PLACE, *BY_TURNS) if not (TESTS / at).is_dir()]:
    raise NotADirectoryError(f"conftest.py names folders of tests that are not there: {missing}")


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """An empty folder; in some folders of tests it is in one place for all of them, or by turns.

    In a store are views that name the place where it is, and writing them costs more than all else
    of a new store: see `tests.light`. Elsewhere a process that was killed, or a store that a page
    leaves open, may end late, so that nothing else may come to its place.
    """
    number, file = next(_numbers), request.path.relative_to(TESTS)
    if any(file.is_relative_to(folder) for folder in BY_TURNS):
        place = f"here-{number % TURNS}"
    elif any(file.is_relative_to(folder) for folder in IN_ONE_PLACE):
        place = "here"
    else:
        yield tmp_path_factory.mktemp("alone")
        return
    here = tmp_path_factory.getbasetemp() / place
    with suppress(OSError):
        here.rename(here.with_name(f"left-{number}"))  # by a test that could not move it away
    if here.exists():
        here = tmp_path_factory.mktemp("alone")
    else:
        here.mkdir()
    yield here
    name = re.sub(r"\W", "_", request.node.name)[:30]
    here.rename(here.with_name(f"{name}-{number}"))
