"""The published designs as suites: each test is a rule of the document, on both runtimes.

On a cluster they are long: that both runtimes decide the same, tests/conformance shows.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.cluster.runtime import ClusterRuntime
from tests.conformance.embedded import EmbeddedRuntime
from tests.conformance.runtime import Runtime
from tests.designs.owners import Owner
from tests.palimpsest.jobs.conftest import ada, asking, installed, opened, server

__all__ = ["ada", "asking", "opened", "server"]

Request: TypeAlias = pytest.FixtureRequest


Logged = Callable[[str], list[str]]
LINE = re.compile(r"^\S+ \S+ (\w+) palimpsest\.streams\.\S+: (DEDUP_.*)$", re.MULTILINE)
RUNTIMES = ("embedded", pytest.param("cluster", marks=pytest.mark.long))
installation = pytest.fixture(installed, params=RUNTIMES, name="installation")


def running(request: Request, folder: Path, history: Sequence[bytes] = ()) -> Runtime:
    """A runtime of the kind that the fixture's parameter names."""
    if request.param == "embedded":
        return EmbeddedRuntime(folder, history)
    bootstrap = request.getfixturevalue("broker")
    return ClusterRuntime(folder, bootstrap, request.getfixturevalue("forge"), history)


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request: Request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """One runtime for all rules of a document: each test has an owner of its own in it."""
    started = running(request, tmp_path_factory.mktemp(str(request.param)))
    yield started
    started.close()


@pytest.fixture
def owner(runtime: Runtime, request: Request) -> Owner:
    """Somebody with no memories yet, under the policy that the module names `POLICY`."""
    return Owner(runtime, request.node.name, request.module.POLICY)


@pytest.fixture
def logged(runtime: Runtime, caplog: pytest.LogCaptureFixture) -> Logged:
    """The lines of a level that whoever decides has logged since the test began.

    No level has a line that quotes a text.
    """
    caplog.set_level(logging.DEBUG, "palimpsest.streams")
    before = len(runtime.stderr()) if isinstance(runtime, ClusterRuntime) else 0

    def lines(level: str) -> list[str]:
        if isinstance(runtime, ClusterRuntime):
            said = LINE.findall(runtime.stderr()[before:])
        else:
            ours = (
                record for record in caplog.records if record.name.startswith("palimpsest.streams.")
            )
            said = [(record.levelname, record.getMessage()) for record in ours]
        assert not any("alice" in message.casefold() for _, message in said)
        return [message for of, message in said if of == level]

    return lines
