"""Stores without a model, with memories from before any policy compared them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.contracts.policy import CosineCheck, Policy
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import load_policy
from tests.cluster.cluster import Cluster
from tests.palimpsest.jobs.speaker import Installation, Speaker
from tests.streams.judge.conftest import server
from tests.stub_engine import load_stub

__all__ = ["server"]

STORE_TIME = load_policy("store-time")


def unguarded(policy: Policy) -> Policy:
    """The same policy with only scores deciding: without a judge, the gray zone is joined."""
    checks = tuple(
        check.model_copy(
            update={"zones": tuple(z.model_copy(update={"guard": False}) for z in check.zones)}
        )
        if isinstance(check, CosineCheck)
        else check
        for check in policy.checks
    )
    return policy.model_copy(update={"checks": checks, "name": "unguarded"})


QUICK = JudgeSettings(patience=2.0, retries=1)
"""Settings with short waits, for servers that a test has stopped."""
RUNTIMES = ("embedded", "cluster")
embedded_alone = pytest.mark.parametrize("installation", ["embedded"], indirect=True)
"""Only the embedded store: a run's plan is the same on both, and a design's rules test both."""


def unseeing() -> Policy:
    """`store-time` without any comparison, for memories from an earlier time."""
    return STORE_TIME.model_copy(update={"checks": (), "name": "unseeing"})


def alone(folder: Path) -> Installation:
    """A new embedded store."""
    made = Palimpsest.open(folder / "store", policy=unseeing(), by="person")
    return Installation(made, ("--store", str(made.folder)))


def following(cluster: Cluster) -> Installation:
    """The store that follows a cluster, without cached verdicts of other tests."""
    folder, where = cluster.folder / "store", cluster.connection
    for file in folder.glob("judge.sqlite*"):
        file.unlink()
    options = ("--store", str(folder), "--bootstrap", where.bootstrap, "--prefix", where.prefix)
    made = Palimpsest.open(folder, create=False, cluster=where, by="person")
    return Installation(made, options, cluster.children[0])


def installed(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    """An embedded store, and one that follows a cluster."""
    monkeypatch.setattr(store, "load_engine", load_stub)
    if request.param == "embedded":
        made = alone(tmp_path)
    else:
        made = following(request.getfixturevalue("followed"))
    with made.store:
        yield made


installation = pytest.fixture(installed, params=RUNTIMES, name="installation")


@pytest.fixture
def opened(installation: Installation) -> Palimpsest:
    """The store."""
    return installation.store


@pytest.fixture
def ada(opened: Palimpsest, request: pytest.FixtureRequest) -> Speaker:
    """An owner without memories; nothing is compared until another policy is set."""
    return Speaker(opened, request.node.name, unseeing())


@pytest.fixture
def asking(server: JudgeServer) -> JudgeSettings:
    """The settings for asking the local server."""
    return JudgeSettings(base_url=server.url, **QUICK.model_dump(exclude={"base_url"}))
