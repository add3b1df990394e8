"""A composed text, too, lives only once: it does not return beside a memory that now says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from palimpsest import Palimpsest, RefusedError
from palimpsest.api import store as api_store
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import Selection, SettleRequest
from palimpsest.streams.embedder import DEFAULT_MODEL, load_engine

BOTH = "mia plays the cello and the oboe"
ASKS = Policy.model_validate(
    {
        "name": "asks",
        "model": DEFAULT_MODEL,
        "search": "candidates",
        "embedder_fails": "store",
        "checks": [
            {"check": "cosine", "zones": [{"at_least": 0.4, "action": "pending"}], "top": 5}
        ],
    }
)


class World(NamedTuple):
    """Two candidates whose join gave their memory a composed text."""

    store: Palimpsest
    a: str
    b: str
    join: str

    def say(self, text: str, name: str) -> Any:
        """Submit a text; return its outcome."""
        return self.store.submit({"owner_id": "mia", "text": text, "id": name})[0]

    def said_again(self) -> None:
        """Submit the composed text as its own memory while `b` is forgotten, then restore `b`."""
        gone = self.store.forget(self.b, again="allow", by="person")
        self.say(BOTH, "again")
        self.store.restore(forgotten=gone["forgotten"])

    def faces(self) -> list[str]:
        """The texts of all living memories."""
        found = self.store.list("mia")["memories"]
        return [memory["face"] for memory in found]


@pytest.fixture(name="world")
def made(tmp_path: Path) -> Iterator[World]:
    with Palimpsest.open(tmp_path / "store", policy=ASKS, by="person") as store:
        world = World(store, "", "", "")
        a = world.say("mia plays the cello", "a").candidate_id
        b = world.say("mia plays the oboe", "b").candidate_id
        verdict = Verdict(neighbour_id=a, answer="compose")
        [done] = store.settle(
            [
                SettleRequest(
                    request_id=str(uuid4()), candidate_id=b, composed=BOTH, verdicts=(verdict,)
                )
            ]
        )
        assert not isinstance(done, RefusedError)
        yield World(store, a, b, str(done["decision_id"]))


def test_not_by_the_join_that_composed_it(world: World) -> None:
    world.store.unmerge(decision_id=world.join)
    world.said_again()
    with pytest.raises(RefusedError, match="same_text"):
        world.store.reinstate(world.join)
    assert world.faces().count(BOTH) == 1


def test_not_by_a_source_that_comes_back(world: World) -> None:
    world.store.retract(Selection(candidate_id=world.a))
    world.said_again()
    back = world.store.restore(Selection(candidate_id=world.a))
    assert [one["reason"] for one in back["refused"]] == ["same_text"]
    assert world.faces().count(BOTH) == 1


def undone(world: World, candidate_id: str) -> None:
    world.store.undo(candidate_id)


def retracted(world: World, candidate_id: str) -> None:
    done = world.store.retract(Selection(candidate_id=candidate_id))
    if done["refused"]:
        raise RefusedError(done["refused"][0]["reason"], done["refused"][0]["detail"])


def taken_out(world: World, candidate_id: str) -> None:
    world.store.unmerge(candidate_id=candidate_id)


@pytest.mark.parametrize("takes_back", [undone, retracted, taken_out])
def test_not_by_taking_back_what_had_displaced_it(
    world: World, takes_back: Callable[[World, str], None]
) -> None:
    newer = world.store.update(world.a, "mia has sold her instruments", by="person")
    world.store.forget(world.a, again="allow", by="person")
    world.say(BOTH, "again")
    for one in (newer["candidate_id"], world.b, world.a):
        world.store.restore(Selection(candidate_id=one))
    assert sorted(world.faces()) == ["mia has sold her instruments", BOTH]
    with pytest.raises(RefusedError, match="same_text"):
        takes_back(world, newer["candidate_id"])
    assert world.faces().count(BOTH) == 1


def test_taking_a_memory_apart_leaves_exact_repeats_in(world: World) -> None:
    store = world.store
    first, second, third = (
        world.say("the rent is due on friday", name).candidate_id for name in ("r", "s", "t")
    )
    for one in (second, third):
        store.retract(Selection(candidate_id=one))
    with pytest.raises(RefusedError, match="same_text"):
        store.unmerge(memory_id=first)
    assert len(store.restore(Selection(owner_id="mia"))["restored"]) == 2


def test_it_is_found_by_its_words_while_there_is_no_model(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each source mentions only one of the two instruments."""
    monkeypatch.setattr(api_store, "load_engine", load_engine)
    with Palimpsest.open(world.store.folder, create=False, engine="none") as without:
        [found] = without.recall("mia", "the cello and the oboe")
        assert (found["face"], found["score"]) == (BOTH, 1.0)
