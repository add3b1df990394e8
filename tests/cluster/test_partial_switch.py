"""A switch to another model that one of two partitions refuses: what is said, and how it goes on.

Partitions decide one by one, and a text may come to one of them after the store has counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest.api import store as facade
from palimpsest.contracts.answers import OTHER_MODEL
from palimpsest.contracts.errors import RefusedError
from palimpsest.jobs.embed import policy_request
from palimpsest.streams.cluster.topics import partition_of
from palimpsest.streams.policies import load_policy
from tests.cluster.runtime import FEW_PARTITIONS, ClusterRuntime
from tests.conformance.test_conformance import folded, row
from tests.reliability.processes import Forge
from tests.stub_engine import OtherStub, load_stub

OTHER = OtherStub.model
FIRST, LAST = (
    next(
        name
        for name in ("ann", "bob", "cy", "dee", "eve", "fay", "gus")
        if partition_of(name, FEW_PARTITIONS) == p
    )
    for p in range(FEW_PARTITIONS)
)
"""An owner of either partition."""
TEXT = "every winter evening since the move two cats sleep indoors on our old sofa until dawn"


def near(letter: str) -> str:
    """A text that is near the first to the other model, and near nothing to the old one."""
    return " ".join(f"{word}{letter}" if len(word) > 3 else word for word in TEXT.split())


RULES = load_policy("standard").model_copy(update={"model": OTHER})


@pytest.fixture(autouse=True)
def _without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facade, "load_engine", load_stub)


@pytest.fixture
def runtime(tmp_path: Path, broker: str, forge: Forge) -> Iterator[ClusterRuntime]:
    running = ClusterRuntime(tmp_path, broker, forge)
    yield running
    running.close()


def decision(runtime: ClusterRuntime, owner: str, text: str, number: int) -> object:
    return runtime.submit([row(text, number, owner)])[0]["decision"]


def test_a_switch_that_one_partition_refuses_is_told_and_goes_on_when_repeated(
    runtime: ClusterRuntime,
) -> None:
    for owner in (FIRST, LAST):
        runtime.submit([row(TEXT, 1, owner)])
    with runtime.client() as memories:
        memories.embed_with(OTHER)
        late = "the red mill has a blue door"
        runtime.submit([row(late, 2, LAST)])  # after the store has counted what lacks a vector
        with pytest.raises(RefusedError) as refused:
            memories.writer.ask(policy_request(memories.writer, RULES, None))
        assert refused.value.reason == OTHER_MODEL
        assert "a vector of other is missing for 1 text" in refused.value.detail
        assert "1 of 2 partitions have switched" in refused.value.detail
        assert decision(runtime, FIRST, near("x"), 3) == "pending", "by the new vectors"
        assert decision(runtime, LAST, near("x"), 3) == "stored", "by the old ones"
        runtime.restart()
        assert decision(runtime, FIRST, near("y"), 4) == "pending"
        assert decision(runtime, LAST, near("y"), 4) == "stored"
        with pytest.raises(RefusedError, match="a vector of other is missing for 3 texts"):
            memories.switch_model(OTHER, policy=RULES)
        assert memories.embed_with(OTHER)["left"] == 0
        memories.switch_model(OTHER, policy=RULES)
    runtime.restart()
    for owner in (FIRST, LAST):
        assert decision(runtime, owner, near("z"), 5) == "pending", "by the new vectors"
        assert folded(runtime, owner) == runtime.memories(owner)
