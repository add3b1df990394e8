"""A store without a model, in which memories were said before any policy compared them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.policy import Policy
from palimpsest import Palimpsest, store
from palimpsest.demo_judge import JudgeServer
from streams.judge.settings import JudgeSettings
from streams.policies import load_policy
from tests.stub_engine import load_stub

STORE_TIME = load_policy("store-time")
QUICK = JudgeSettings(patience=2.0, retries=1)
"""Nobody waits long for a server that a test has stopped."""


def unseeing() -> Policy:
    """Store-time as it is before it compares anything: for memories of another time."""
    return STORE_TIME.model_copy(update={"checks": (), "name": "unseeing"})


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Palimpsest]:
    """An empty store; candidates are stored without a comparison until `store-time` is set."""
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Palimpsest.open(tmp_path / "store", policy=unseeing()) as made:
        yield made


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    """The local server; the SDK has a key, and waits next to nothing before it tries again."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    with JudgeServer() as running:
        yield running


Say = Callable[..., list[str]]


@pytest.fixture
def say(opened: Palimpsest) -> Say:
    """Says texts as one owner; the candidates' ids."""

    def said(*texts: str, owner: str = "ada") -> list[str]:
        rows = [{"owner_id": owner, "text": text} for text in texts]
        return [str(outcome.candidate_id) for outcome in opened.submit(rows)]

    return said
