"""designs/namespaced.md, "Graceful Degradation": each row of its table with the fault in it.

Ann cannot be searched: a vector of her log is of another length. Whoever says `unplugged` meets a
model that is down, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Decided, Embedded
from palimpsest.contracts.requests import EmbedRequest
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.policies import load_policy
from tests.conformance.runtime import Runtime
from tests.designs.conftest import RUNTIMES, running
from tests.designs.owners import Owner, fresh
from tests.designs.test_namespaced import TEXT, decisions, near
from tests.designs.test_replace_or_merge_failing import damaged
from tests.stub_engine import UNPLUGGED

POLICY = "namespaced"
RULES = load_policy(POLICY)


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runtime]:
    """A runtime for all tests, in which Ann cannot be searched."""
    folder = tmp_path_factory.mktemp(str(request.param))
    started = running(request, folder, damaged(folder, RULES))
    yield started
    started.close()


@pytest.fixture(scope="module")
def ann(runtime: Runtime) -> Owner:
    return Owner(runtime, "ann", POLICY)


def downs(owner: Owner) -> list[Any]:
    """What could not be done for each of the owner's newcomers."""
    return [e.data.evidence.down for e in owner.events() if isinstance(e, Decided)]


def lacking(owner: Owner) -> int:
    """How many texts of the owner wait for a vector."""
    ledger = Ledger(owner.name)
    for event in owner.events():
        evolve(ledger, event)
    return len(ledger.unembedded)


def embed(owner: Owner) -> dict[str, Any]:
    """Embed the texts late; it may be the first time that the model is asked."""
    with suppress(RefusedError):
        return dict(owner.ask(EmbedRequest(request_id=fresh(), owner_id=owner.name)))
    return dict(owner.ask(EmbedRequest(request_id=fresh(), owner_id=owner.name)))


def test_embeddings_unavailable_skip_semantic_check_use_exact_and_recent_only(
    owner: Owner,
) -> None:
    """And vectors follow, so that what comes then is compared with all."""
    down = f"{TEXT} {UNPLUGGED} {owner.name}"
    assert decisions(owner, down, f" {down}") == ["stored", "recent_capture"]
    assert decisions(owner, near(96)) == ["stored"], "it is not asked again at once"
    assert downs(owner) == [("embedder",), None, ("embedder",)]
    assert lacking(owner) == 2
    assert embed(owner) == {"embedded": 2, "left": 0}
    assert lacking(owner) == 0
    [joined] = owner.say(TEXT)
    assert joined["decision"] == "auto_reject"
    assert sum(isinstance(event, Embedded) for event in owner.events()) == 2


def test_vectors_that_followed_stay_when_a_merge_is_taken_back(owner: Owner) -> None:
    down = f"{TEXT} {UNPLUGGED} {owner.name}"
    owner.say(down)
    embed(owner)
    [joined] = owner.say(f"{TEXT} {owner.name}")
    assert joined["decision"] == "auto_reject"
    owner.unmerge(joined["decision_id"])
    assert owner.faces() == [down, f"{TEXT} {owner.name}"]
    assert decisions(owner, down.upper()) == ["recent_capture"]
    assert lacking(owner) == 0


def test_index_unavailable_is_no_row_of_ours(ann: Owner) -> None:
    """Exact repeats are found in the ledger, which is there or nothing is decided."""
    said = f"{TEXT} again"
    assert decisions(ann, said, f" {said}") == ["stored", "recent_capture"]
    assert downs(ann)[-2:] == [("search",), None]


def test_vector_search_fails_skip_semantic_check_use_exact_and_recent_only(ann: Owner) -> None:
    close = near(98)
    assert decisions(ann, TEXT, close, f" {TEXT}") == ["stored", "stored", "recent_capture"]
    assert downs(ann)[-3:] == [("search",), ("search",), None]


def test_cache_unavailable_is_no_row_of_ours(runtime: Runtime, owner: Owner) -> None:
    """What was captured last is in the log: no process takes it with it."""
    owner.say("a text that is here before and after")
    runtime.restart()
    assert decisions(owner, "A text that is here before and after") == ["recent_capture"]


def test_all_checks_fail_proceed_with_capture(ann: Owner) -> None:
    """Neither a model nor a search: what is new is stored."""
    down = f"{UNPLUGGED} for the second time, and nothing can be searched"
    [told] = ann.say(down)
    assert (told["result"], told["decision"]) == ("decided", "stored")
    assert downs(ann)[-1] == ("embedder",)
    assert down in ann.faces()


def test_what_came_without_a_vector_is_shown_and_projected(owner: Owner) -> None:
    """Its memory is a row like any other, before its vector and after."""
    owner.say(f"{UNPLUGGED}: the shed is green {owner.name}")
    [row] = owner.runtime.memories(owner.name)
    assert row["face"].startswith(UNPLUGGED)
    embed(owner)
    assert owner.runtime.memories(owner.name) == [row]
