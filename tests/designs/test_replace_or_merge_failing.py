"""designs/replace-or-merge.md, "Error Handling" and "Logging": where a step of it fails."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Answer
from palimpsest.contracts.policy import Policy
from palimpsest.streams.cluster.worker.worker import CRASHED
from palimpsest.streams.core.text import text_hash
from palimpsest.streams.policies import load_policy
from tests.cluster.runtime import ClusterRuntime
from tests.conformance.runtime import Runtime
from tests.designs.conftest import RUNTIMES, Logged, running
from tests.designs.owners import Owner
from tests.designs.test_replace_or_merge import AT_90, AT_95, BELOW, OLD, near
from tests.streams.write import runtime as embedded
from tests.stub_engine import NO_TOKEN

POLICY = "replace-or-merge"
PRESET = load_policy(POLICY)
COMPOSED = "Alice told the team twice."


def damaged(folder: Path, policy: Policy) -> list[bytes]:
    """A log, one of whose vectors has eight numbers: another model of the same name."""
    with embedded.Runtime(folder / "sound.sqlite", policy=policy) as sound:
        sound.submit({"owner_id": "ann", "source": "elsewhere", "id": "1", "text": OLD})
        lines = sound.lines()
    events = [orjson.loads(line) for line in lines]
    for event in events:
        if vector := event["data"].get("content", {}).get("vector"):
            vector |= {"dimension": 8, "data": base64.b64encode(bytes(16)).decode()}
    return [orjson.dumps(event) for event in events]


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runtime]:
    """A runtime for all tests, in which Ann cannot be searched."""
    folder = tmp_path_factory.mktemp(str(request.param))
    started = running(request, folder, damaged(folder, PRESET))
    yield started
    started.close()


# -- the search -----------------------------------------------------------------------------------


def test_query_fails_during_dedup_check_store_memory_anyway(
    runtime: Runtime, logged: Logged
) -> None:
    ann = Owner(runtime, "ann", POLICY)
    outcomes = ann.say(AT_95, AT_90, AT_95)
    assert [outcome["decision"] for outcome in outcomes] == ["stored", "stored", "hash_exact"]
    said = [event for event in ann.events() if isinstance(event, Decided)]
    assert [event.data.evidence.down for event in said[1:3]] == [("search",), ("search",)]
    [warning] = logged("WARNING")
    assert warning.startswith("DEDUP_FAIL: search failed")


@pytest.mark.parametrize("started", RUNTIMES, indirect=True)
def test_a_policy_that_does_not_fail_open_stops_and_says_why(started: Runtime) -> None:
    row = orjson.dumps({"owner_id": "ann", "source": "test", "id": "2", "text": AT_95})
    if isinstance(started, ClusterRuntime):
        started.cluster.publish(embedded.inputs([row]))
        assert started.stopped() == CRASHED
        assert "cannot be searched" in started.stderr()
    else:
        with pytest.raises(StoreError, match="cannot be searched"):
            started.submit([row])
        assert len(started.log()) == 2


@pytest.fixture
def started(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    """A runtime of one's own, that stops where Ann cannot be searched."""
    closed = PRESET.model_copy(update={"search_fails": "stop"})
    started = running(request, tmp_path, damaged(tmp_path, closed))
    yield started
    started.close()


# -- what the model cannot tell apart -------------------------------------------------------------


def test_what_the_model_cannot_tell_apart_is_not_replaced(owner: Owner) -> None:
    """Ours differs: the judge is asked to compose one text of both, so that neither is lost."""
    pizza, sushi = (near(19, word) for word in NO_TOKEN)
    old, new = owner.say(pizza, sushi)
    assert new["decision"] == "pending"
    owner.judged(new, old, "unavailable")
    assert owner.faces() == [pizza, sushi]


# -- logging --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "closest", "decision"),
    [
        (AT_95, "{} sim=0.95", "superseded"),
        (AT_90, "{} sim=0.9", "pending"),
        (BELOW, "None sim=None", "stored"),
    ],
)
def test_dedup_check_is_logged_for_debugging(
    owner: Owner, logged: Logged, second: str, closest: str, decision: str
) -> None:
    """What lies below the lowest zone is not a match."""
    old, _ = owner.say(OLD, second)
    match = closest.format(old["candidate_id"])
    assert logged("DEBUG") == [
        f"DEDUP_CHECK: {text_hash(OLD)[:12]} closest match None sim=None -> stored",
        f"DEDUP_CHECK: {text_hash(second)[:12]} closest match {match} -> {decision}",
    ]


def test_a_text_with_invisible_characters_is_logged_under_the_hash_that_is_searched(
    owner: Owner, logged: Logged
) -> None:
    owner.say(f"\u200b{OLD[:5]}\u200b{OLD[5:]}")
    [line] = logged("DEBUG")
    assert line.startswith(f"DEDUP_CHECK: {text_hash(OLD)[:12]} ")


def test_dedup_merge_is_logged_as_information(owner: Owner, logged: Logged) -> None:
    old, new = owner.say(OLD, AT_90)
    owner.judged(new, old, "compose", COMPOSED)
    assert logged("INFO") == [f"DEDUP_MERGE: 2 memories -> {text_hash(COMPOSED)[:12]}"]


@pytest.mark.parametrize(
    ("answer", "text", "told"),
    [
        ("unavailable", None, "DEDUP_FAIL: LLM merge failed, falling back to replace"),
        ("compose", "", "DEDUP_FAIL: nothing usable was composed, both stay"),
        ("unusable", None, "DEDUP_FAIL: nothing usable was composed, both stay"),
    ],
)
def test_dedup_fail_is_logged_as_a_warning(
    owner: Owner, logged: Logged, answer: Answer, text: str | None, told: str
) -> None:
    old, new = owner.say(OLD, AT_90)
    owner.judged(new, old, answer, text)
    [line] = logged("WARNING")
    assert line.startswith(told)


def test_dedup_fail_is_logged_where_nobody_answers_and_both_stay(
    owner: Owner, logged: Logged
) -> None:
    old, new = owner.say(*(near(19, word) for word in NO_TOKEN))
    owner.judged(new, old, "unavailable")
    [line] = logged("WARNING")
    assert line.startswith("DEDUP_FAIL: LLM merge failed, falling back: fallback_keep")
