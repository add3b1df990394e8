"""One effect for each input, in order, told in events that are the same in every runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import orjson
import pytest

from contracts.errors import RefusedError
from contracts.events import AnyEvent, Decided, Invalid, PolicySet, Refused, Reversed, Settled
from contracts.requests import (
    JoinSelection,
    MergeRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    UnmergeRequest,
)
from contracts.wire import decode, encode
from streams.core.evolve import evolve
from streams.core.ledger import Ledger
from streams.core.picture import picture
from tests.conformance.runtime import Runtime, decided
from tests.judge.stand_in import StandIn
from tests.reliability.rows import BROKEN, lines, rows

STREAM: Sequence[bytes] = [*lines(rows(90, owners=3), BROKEN)]
NOBODY = "00000000-0000-5000-8000-000000000000"


def row(text: str, number: object, owner: str = "ann") -> bytes:
    return orjson.dumps({"owner_id": owner, "text": text, "id": str(number), "source": "test"})


def events(runtime: Runtime) -> list[AnyEvent]:
    return [decode(line) for line in runtime.log()]


def folded(runtime: Runtime, owner_id: str, *, times: int = 1) -> list[dict[str, Any]]:
    """The owner's living memories by folding the log, each event as often as said."""
    ledger = Ledger(owner_id)
    for event in events(runtime):
        if event.owner_id == owner_id:
            for _ in range(times):
                evolve(ledger, event)
    pictures = [picture(memory) for memory in ledger.memories()]
    return sorted(
        (
            {
                "memory_id": one["memory_id"],
                "face": one["face"],
                "members": sum(member["living"] for member in one["members"]),
            }
            for one in pictures
            if one["living"]
        ),
        key=lambda one: str(one["memory_id"]),
    )


def fresh() -> str:
    return str(uuid4())


def pair(runtime: Runtime) -> tuple[str, str]:
    a, b = runtime.submit([row("the bridge is closed", 1), row("no way over the river", 2)])
    return str(a["candidate_id"]), str(b["candidate_id"])


# -- inputs --------------------------------------------------------------------------------------


def test_what_comes_twice_has_one_effect(runtime: Runtime) -> None:
    first = runtime.submit(STREAM)
    before, letters = runtime.log(), runtime.letters()
    again = runtime.submit(STREAM)
    assert runtime.log() == before
    assert runtime.letters() == letters
    assert {outcome["result"] for outcome in again} == {"known", "invalid"}
    assert [o["decision_id"] for o in again] == [o["decision_id"] for o in first]


def test_the_size_of_what_comes_together_changes_nothing(new: Callable[[], Runtime]) -> None:
    whole, parts = new(), new()
    whole.submit(STREAM)
    for start in range(0, len(STREAM), 21):
        parts.submit(STREAM[start : start + 21])
    assert decided(events(parts)) == decided(events(whole))


def test_a_restart_between_inputs_changes_nothing(new: Callable[[], Runtime]) -> None:
    whole, restarted = new(), new()
    whole.submit(STREAM)
    for start in range(0, len(STREAM), 33):
        restarted.submit(STREAM[start : start + 33])
        restarted.restart()
    assert decided(events(restarted)) == decided(events(whole))


def test_an_owner_is_decided_as_if_alone(new: Callable[[], Runtime]) -> None:
    """Law L11: what another says changes nothing, wherever it comes in between."""
    together, alone = new(), new()
    together.submit(STREAM)
    owner = "owner 1"
    alone.submit([line for line in STREAM if f'"{owner}"'.encode() in line])
    assert of(owner, events(together)) == of(owner, events(alone))
    assert together.memories(owner) == alone.memories(owner)


def of(owner_id: str, found: Sequence[AnyEvent]) -> list[dict[str, Any]]:
    return decided([event for event in found if event.owner_id == owner_id])


def test_an_exact_repeat_joins_the_earliest_with_its_text(runtime: Runtime) -> None:
    first, second, other = runtime.submit(
        [row("Ada plays chess", 1), row("ada  plays chess", 2), row("Ada plays chess", 1, "bob")]
    )
    assert (second["decision"], second["joined_to"]) == ("hash_exact", first["candidate_id"])
    assert other["decision"] == "stored"


def test_an_id_with_other_content_is_invalid(runtime: Runtime) -> None:
    runtime.submit([row("a text", 1)])
    [outcome] = runtime.submit([row("another text", 1)])
    assert (outcome["result"], outcome["reason"]) == ("invalid", "id_conflict")
    assert runtime.letters() == [row("another text", 1)]
    [event] = [event for event in events(runtime) if isinstance(event, Invalid)]
    assert event.id == outcome["decision_id"]


def test_what_cannot_be_read_is_kept_byte_for_byte_and_the_rest_goes_on(runtime: Runtime) -> None:
    outcomes = runtime.submit(STREAM)
    assert sorted(runtime.letters()) == sorted(BROKEN)
    assert len(outcomes) == len(STREAM)
    invalid = [o["decision_id"] for o in outcomes if o["result"] == "invalid"]
    assert {event.id for event in events(runtime) if isinstance(event, Invalid)} == {*invalid}


# -- the log -------------------------------------------------------------------------------------


def test_ids_are_unique_and_lines_are_as_they_were_written(runtime: Runtime) -> None:
    runtime.submit(STREAM)
    found = events(runtime)
    assert len({event.id for event in found}) == len(found)
    assert [encode(event) for event in found] == runtime.log()


def test_the_policy_is_recorded_before_the_first_decision(runtime: Runtime) -> None:
    runtime.submit(STREAM)
    runtime.restart()
    runtime.submit([row("one more", 1)])
    first, *rest = events(runtime)
    assert isinstance(first, PolicySet)
    assert not any(isinstance(event, PolicySet) for event in rest)
    named = {e.data.evidence.policy for e in rest if isinstance(e, Decided)}
    assert named == {first.data.hash}


def test_times_never_go_back_within_an_owner(runtime: Runtime) -> None:
    runtime.submit(STREAM)
    for owner in ("owner 0", "owner 1", "owner 2"):
        times = [event.time for event in events(runtime) if event.owner_id == owner]
        assert times == sorted(times)


def test_the_read_side_shows_what_the_log_folds_into(runtime: Runtime) -> None:
    """Law L7: also where every event comes twice."""
    runtime.submit(STREAM)
    for owner in ("owner 0", "owner 1", "owner 2"):
        shown = runtime.memories(owner)
        assert shown == folded(runtime, owner) == folded(runtime, owner, times=2)
        assert len(shown) > 3


# -- requests ------------------------------------------------------------------------------------


def test_a_merge_is_one_event_and_taken_back_by_one(runtime: Runtime) -> None:
    a, b = pair(runtime)
    before = runtime.memories("ann")
    joined = runtime.ask(MergeRequest(request_id=fresh(), a=a, b=b))
    assert [memory["members"] for memory in runtime.memories("ann")] == [2]
    request = UnmergeRequest(request_id=fresh(), decision_id=joined["decision_id"])
    assert runtime.ask(request)["reversed"] == [joined["decision_id"]]
    assert runtime.memories("ann") == before
    assert [isinstance(event, Reversed) for event in events(runtime)].count(True) == 1
    runtime.ask(ReinstateRequest(request_id=fresh(), decision_id=joined["decision_id"]))
    assert [memory["members"] for memory in runtime.memories("ann")] == [2]


def test_a_request_that_comes_twice_has_one_effect(runtime: Runtime) -> None:
    a, b = pair(runtime)
    request = MergeRequest(request_id=fresh(), a=a, b=b)
    runtime.ask(request)
    before = runtime.log()
    runtime.restart()
    runtime.ask(request)
    assert runtime.log() == before


def test_a_refusal_tells_the_reason_and_is_recorded(runtime: Runtime) -> None:
    a, _ = pair(runtime)
    with pytest.raises(RefusedError) as refused:
        runtime.ask(MergeRequest(request_id=fresh(), a=a, b=NOBODY))
    assert refused.value.reason == "unknown_candidate"
    last = events(runtime)[-1]
    assert isinstance(last, Refused)
    assert last.data.reason == "unknown_candidate"


@pytest.mark.parametrize("unknown", [NOBODY, "no id at all"])
def test_a_request_about_nobody_is_refused(runtime: Runtime, unknown: str) -> None:
    pair(runtime)
    with pytest.raises(RefusedError):
        runtime.ask(UnmergeRequest(request_id=fresh(), candidate_id=unknown))


def test_a_separation_binds_what_comes_later(runtime: Runtime) -> None:
    """Law L9, and after a restart too."""
    first, second = runtime.submit([row("Ada paints a boat", 1), row("Ben mends a roof", 2)])
    a, b = str(first["candidate_id"]), str(second["candidate_id"])
    runtime.ask(SeparateRequest(request_id=fresh(), a=a, b=b))
    runtime.restart()
    runtime.submit([row("Ada paints the boat", 3), row("Ben mends the roof", 4)])
    assert [memory["members"] for memory in runtime.memories("ann")] == [2, 2]


def test_bulk_requests_reach_every_owner_and_a_rehearsal_writes_nothing(runtime: Runtime) -> None:
    runtime.submit(STREAM)
    for request in (
        ReverseRequest(request_id=fresh(), selection=JoinSelection(source="made-up")),
        RetractRequest(request_id=fresh(), selection=Selection(source="made-up")),
    ):
        before = runtime.log()
        shown = runtime.rehearse(request)
        assert runtime.log() == before
        assert plain(runtime.ask(request)) == plain(shown)
        assert len(runtime.log()) > len(before)
    assert [runtime.memories(f"owner {n}") for n in range(3)] == [[], [], []]


def plain(answer: Mapping[str, Any]) -> Any:
    return orjson.loads(orjson.dumps(answer))


# -- the judge -----------------------------------------------------------------------------------

BOATS = [row(f"Ada paints {n} wooden boats in the harbour", n) for n in range(2, 7)]


def told(runtime: Runtime) -> list[str]:
    return [event.data.decision for event in events(runtime) if isinstance(event, Settled)]


def test_a_verifier_settles_what_is_pending_and_asks_nothing_twice(runtime: Runtime) -> None:
    """Law L13: what was seen before costs no call."""
    runtime.submit(BOATS)
    runtime.restart()
    judge = StandIn(lambda _: "same")
    assert runtime.verify(judge).questions == len(BOATS) - 1
    assert sorted(told(runtime)) == ["llm_reject"] * (len(BOATS) - 1)
    assert [memory["members"] for memory in runtime.memories("ann")] == [len(BOATS)]
    calls = judge.calls
    runtime.submit(BOATS)
    runtime.restart()
    assert runtime.verify(judge).questions == 0
    assert judge.calls == calls


def test_what_is_said_before_the_judge_answers_holds(runtime: Runtime) -> None:
    """Merged, separated, retracted and restored meanwhile; nobody answers about the last one."""
    a, b, c, d, e = (str(one["candidate_id"]) for one in runtime.submit(BOATS))
    runtime.ask(MergeRequest(request_id=fresh(), a=a, b=b))
    runtime.ask(SeparateRequest(request_id=fresh(), a=a, b=c))
    runtime.ask(SeparateRequest(request_id=fresh(), a=b, b=c))
    runtime.ask(RetractRequest(request_id=fresh(), selection=Selection(candidate_id=d)))
    asked = StandIn(lambda pair: "same" if pair.newer.candidate_id == d else "different")
    runtime.verify(asked)
    runtime.ask(RestoreRequest(request_id=fresh(), selection=Selection(candidate_id=d)))
    runtime.verify(asked)
    assert folded(runtime, "ann") == runtime.memories("ann")
    members = {memory["memory_id"]: memory["members"] for memory in runtime.memories("ann")}
    assert members == {a: 3, c: 1, e: 1}


def test_where_nobody_answers_the_policy_says_what_becomes_of_it(runtime: Runtime) -> None:
    runtime.submit(BOATS[:2])
    away = StandIn()
    away.away = True
    runtime.verify(away)
    assert told(runtime) == ["fallback_keep"]
