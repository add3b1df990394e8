"""Another embedding model in every runtime: vectors beside the old, a switch, what stays."""

from __future__ import annotations

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store as facade
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Embedded, PolicySet
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.policies import load_policy
from tests.conformance.runtime import Runtime
from tests.conformance.test_conformance import events, folded, of, row
from tests.stub_engine import OtherStub, load_stub

OWNERS = ("ann", "bob", "ada", "gus")
TEXTS = [
    "every winter evening since the move two cats sleep indoors on our old sofa until dawn",
    "every winter evening since the move two cats sleep indoors on our old sofa until noon",
    "the red mill has a blue door",
]
NEAR = "every wintry even since the move two cats sleep indoors on our old sofas until dawns"
"""Its words begin as those of the first text do: to the stub it is another, to the other one no."""


@pytest.fixture(autouse=True)
def _without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facade, "load_engine", load_stub)


def models_of(runtime: Runtime, owner: str) -> set[str]:
    found = [event.data.vector.model for event in of(owner, runtime) if isinstance(event, Embedded)]
    return {*found}


def decisions(runtime: Runtime, text: str, number: int) -> list[object]:
    return [runtime.submit([row(text, number, owner)])[0]["decision"] for owner in OWNERS]


def switched(memories: Palimpsest) -> None:
    done = memories.switch_model(
        OtherStub.model,
        policy=load_policy("standard").model_copy(update={"model": OtherStub.model}),
    )
    assert done["policy"] == "standard"


def test_texts_are_compared_by_the_new_model_after_the_switch_alone(runtime: Runtime) -> None:
    """Owners of several partitions; a text comes between; the deciding process is replaced."""
    for owner in OWNERS:
        runtime.submit([row(text, number, owner) for number, text in enumerate(TEXTS)])
    before = {owner: folded(runtime, owner) for owner in OWNERS}
    with runtime.client() as memories:
        plan = memories.plan_embedding(OtherStub.model)
        assert (plan["left"], plan["texts"]) == (3 * len(OWNERS), 3 * len(OWNERS))
        assert not any(models_of(runtime, owner) for owner in OWNERS), "a dry run records nothing"
        with pytest.raises(RefusedError, match="a vector of other is missing for 12 texts"):
            switched(memories)
        memories.embed_with(OtherStub.model)
        assert decisions(runtime, NEAR, 10) == ["stored"] * len(OWNERS), "by the old vectors"
        with pytest.raises(RefusedError, match="a vector of other is missing for 4 texts"):
            switched(memories)
        runtime.restart()
        assert memories.embed_with(OtherStub.model) == {
            "model": "other",
            "embedded": len(OWNERS),
            "left": 0,
        }
        switched(memories)
    runtime.restart()
    again = NEAR.replace("wintry", "winters")
    assert decisions(runtime, again, 11) == ["pending"] * len(OWNERS), "by the new vectors"
    [switch] = {
        event.id: event
        for event in events(runtime)
        if isinstance(event, PolicySet) and event.data.former
    }.values()
    assert (switch.data.former, switch.data.policy["model"]) == (DEFAULT_MODEL, "other")
    for owner in OWNERS:
        assert folded(runtime, owner) == runtime.memories(owner)
        kept = {one["memory_id"]: one for one in folded(runtime, owner)}
        assert all(kept[one["memory_id"]] == one for one in before[owner]), "decided stays decided"


def test_old_vectors_are_dropped_and_what_is_replayed_still_has_them(runtime: Runtime) -> None:
    runtime.submit([row(text, number) for number, text in enumerate(TEXTS)])
    with runtime.client() as memories:
        assert memories.drop_old_vectors()["dropped"] == []
        memories.embed_with(OtherStub.model)
        switched(memories)
        seen = memories.drop_old_vectors(dry_run=True)
        assert (seen["dropped"], seen["vectors"]) == ([DEFAULT_MODEL], len(TEXTS))
        assert memories.drop_old_vectors() == seen
        assert memories.drop_old_vectors()["dropped"] == []
        with pytest.raises(RefusedError, match=f"missing for {len(TEXTS)} texts"):
            memories.switch_model(DEFAULT_MODEL)
    assert runtime.submit([row(TEXTS[0], 20)])[0]["decision"] == "hash_exact"
    assert folded(runtime, "ann") == runtime.memories("ann")
