"""The sessions of three designs' pages, on a cluster: what workers decide is what the pages show.

Where a cluster answers otherwise, the test says how: candidates are sent and not waited for, a
second use within a minute is recorded later, and a store is compared once nobody follows with it.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palimpsest.backends.paths import LOG_FILE
from palimpsest.cli.main import app
from tests.cluster.cluster import Cluster, environment, eventually
from tests.docs.pages import blocks
from tests.docs.test_session import comparable, typed
from tests.reliability.processes import Forge

DESIGNS = ("importance", "namespaced", "layered")
COUNT = re.compile(r"\d+$")


@pytest.fixture
def cluster(tmp_path: Path, broker: str, forge: Forge, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(tmp_path, broker, forge)
    for name, value in environment(made.connection).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    return made


@pytest.fixture
def projector(cluster: Cluster, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """What follows into the store; a worker beside it decides. Both have the real model."""
    command = [sys.executable, "-m", "palimpsest"]
    words = [["worker", "--instance", "one", "--data", str(tmp_path / "copies")], ["project"]]
    worker, follows = (
        subprocess.Popen(command + more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for more in words
    )
    try:
        eventually((tmp_path / "store" / LOG_FILE).exists, "the projector follows")
        yield follows
    finally:
        for child in (worker, follows):
            child.terminate()
            child.wait()


@pytest.mark.long
@pytest.mark.parametrize("name", DESIGNS)
def test_a_whole_life(name: str, cluster: Cluster, projector: subprocess.Popen[bytes]) -> None:
    [session] = blocks(f"docs/designs/{name}.md", "console")
    for command, shown in typed(session.text):
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).write_text("\n".join(shown))
            continue
        if words[1] == "verify":
            projector.terminate()
            projector.wait()
        ran = CliRunner().invoke(app, words[1:])
        assert ran.exit_code == 0, ran.output
        if words[1] in ("ingest", "hook"):
            cluster.decided()
            cluster.followed()
        compare(words, ran.stdout, shown)


def compare(words: list[str], printed: str, shown: list[str]) -> None:
    """What a command printed on a cluster with what it prints where one process decides."""
    if words[1] == "ingest":
        assert "published to the cluster" in printed
    elif words[1] == "hook":
        assert "to the cluster before compaction" in printed
    elif words[1] == "verify":
        assert printed.startswith("0 differences, ")
    elif words[1] == "sql" and "accesses" in words[2]:
        told, page = (
            [COUNT.sub("", line.rstrip()) for line in one] for one in (printed.splitlines(), shown)
        )
        assert told == page
    else:
        assert comparable(printed.splitlines()) == comparable(shown)
