"""One effect for each input, in order, told in events that are the same in every runtime."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import orjson
import pytest

from palimpsest import AsyncPalimpsest, Palimpsest
from palimpsest.api.offers import Offer
from palimpsest.contracts.errors import InvalidInputError, RefusedError
from palimpsest.contracts.events import (
    Again,
    AnyEvent,
    Decided,
    Invalid,
    JudgeSet,
    PolicySet,
    Rank,
    Refused,
    Reversed,
    Settled,
)
from palimpsest.contracts.evidence import Answer, Evidence, RecordedJudge, Verdict
from palimpsest.contracts.requests import (
    AnyRequest,
    CheckRequest,
    CombineRequest,
    ComposeRequest,
    ForgetRequest,
    JoinSelection,
    MergeRequest,
    PolicyRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    SettleRequest,
    UndoRequest,
    UnmergeRequest,
    UpdateRequest,
    WithdrawRequest,
)
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.picture import picture
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import OTHER_REQUEST, Outcome, Submission
from tests.conformance.runtime import Runtime, decided
from tests.conformance.streamed import OWNERS, STREAM, Streamed
from tests.reliability.rows import BROKEN
from tests.streams.judge.stand_in import StandIn

FIRST = "every winter evening since the move two cats sleep indoors on our old sofa until dawn"
NEWER = FIRST.replace("dawn", "noon")
BESIDE = FIRST.replace("sofa", "couch")
"""Near the first text, and not near the newer."""
NOBODY = "00000000-0000-5000-8000-000000000000"


def row(text: str, number: object, owner: str = "ann") -> bytes:
    return orjson.dumps({"owner_id": owner, "text": text, "id": str(number), "source": "test"})


def events(runtime: Runtime) -> list[AnyEvent]:
    return [decode(line) for line in runtime.log()]


def of(owner_id: str, runtime: Runtime) -> list[AnyEvent]:
    return [event for event in events(runtime) if event.owner_id == owner_id]


def of_the_stream(streamed: Streamed) -> list[AnyEvent]:
    """The policy, and one event for each of its rows."""
    ids = {outcome["decision_id"] for outcome in streamed.outcomes}
    found = events(streamed.runtime)
    return [event for event in found if isinstance(event, PolicySet) or event.id in ids]


def ledger_of(runtime: Runtime, owner_id: str, times: int = 1) -> Ledger:
    ledger = Ledger(owner_id)
    for event in of(owner_id, runtime):
        for _ in range(times):
            evolve(ledger, event)
    return ledger


def folded(runtime: Runtime, owner_id: str, *, times: int = 1) -> list[dict[str, Any]]:
    """The owner's living memories by folding the log, each event as often as said."""
    pictures = [picture(memory) for memory in ledger_of(runtime, owner_id, times).memories()]
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


def pair(runtime: Runtime, owner: str) -> tuple[str, str]:
    a, b = runtime.submit(
        [row("the bridge is closed", 1, owner), row("no way over the river", 2, owner)]
    )
    return str(a["candidate_id"]), str(b["candidate_id"])


# -- inputs --------------------------------------------------------------------------------------


def test_what_comes_twice_has_one_effect(streamed: Streamed) -> None:
    runtime = streamed.runtime
    before, letters = runtime.log(), runtime.dead_letters()
    again = runtime.submit(STREAM)
    assert runtime.log() == before
    assert runtime.dead_letters() == letters
    assert {outcome["result"] for outcome in again} == {"known", "invalid"}
    assert [o["decision_id"] for o in again] == [o["decision_id"] for o in streamed.outcomes]


def test_the_size_of_what_comes_together_changes_nothing(
    streamed: Streamed, runtime: Runtime
) -> None:
    for start in range(0, len(STREAM), 21):
        runtime.submit(STREAM[start : start + 21])
    assert decided(events(runtime)) == decided(of_the_stream(streamed))


def test_a_restart_between_inputs_changes_nothing(streamed: Streamed, runtime: Runtime) -> None:
    for start in range(0, len(STREAM), 33):
        runtime.submit(STREAM[start : start + 33])
        runtime.restart()
    assert decided(events(runtime)) == decided(of_the_stream(streamed))


def test_an_owner_is_decided_as_if_alone(streamed: Streamed, runtime: Runtime) -> None:
    """Law L11: what another says changes nothing, wherever it comes in between."""
    owner = OWNERS[1]
    runtime.submit([line for line in STREAM if f'"{owner}"'.encode() in line])
    assert decided(of(owner, runtime)) == decided(of(owner, streamed.runtime))
    assert runtime.memories(owner) == streamed.runtime.memories(owner)


def test_an_exact_repeat_joins_the_earliest_with_its_text(shared: Runtime, name: str) -> None:
    first, second, other = shared.submit(
        [
            row("Ada plays chess", 1, name),
            row("Ada pl\u00adays chess\n", 2, name),
            row("Ada plays chess", 1, f"{name}, another"),
        ]
    )
    assert (second["decision"], second["joined_to"]) == ("hash_exact", first["candidate_id"])
    assert other["decision"] == "stored"


def test_an_id_with_other_content_is_invalid(shared: Runtime, name: str) -> None:
    shared.submit([row("a text", 1, name)])
    other = row("another text", 1, name)
    [outcome] = shared.submit([other])
    assert (outcome["result"], outcome["reason"]) == ("invalid", "id_conflict")
    assert shared.dead_letters().count(other) == 1
    [event] = [event for event in events(shared) if event.id == outcome["decision_id"]]
    assert isinstance(event, Invalid)


def test_what_cannot_be_read_is_kept_byte_for_byte_and_the_rest_goes_on(streamed: Streamed) -> None:
    letters = streamed.runtime.dead_letters()
    assert [letters.count(line) for line in BROKEN] == [1] * len(BROKEN)
    assert len(streamed.outcomes) == len(STREAM)
    invalid = {o["decision_id"] for o in streamed.outcomes if o["result"] == "invalid"}
    found = [event.id for event in events(streamed.runtime) if isinstance(event, Invalid)]
    assert sorted(id_ for id_ in found if id_ in invalid) == sorted(invalid)
    assert len(invalid) == len(BROKEN)


# -- the log -------------------------------------------------------------------------------------


def test_of_a_list_with_an_unreadable_candidate_nothing_is_stored(
    shared: Runtime, name: str
) -> None:
    said = {"owner_id": name, "text": "he rows"}
    unread = shared.dead_letters()
    with shared.client() as client:
        with pytest.raises(InvalidInputError) as raised:
            client.submit([said, {"owner_id": name, "text": " "}])
        assert (raised.value.index, raised.value.detail) == (1, "text: is blank")
        client.submit({"owner_id": name, "text": "he sails"})
    assert [memory["face"] for memory in shared.memories(name)] == ["he sails"]
    assert shared.dead_letters() == unread


def test_ids_are_unique_and_lines_are_as_they_were_written(shared: Runtime) -> None:
    found = events(shared)
    assert len({event.id for event in found}) == len(found) > len(STREAM)
    assert [encode(event) for event in found] == shared.log()


def test_the_policy_is_recorded_before_the_first_decision(shared: Runtime, name: str) -> None:
    shared.restart()
    shared.submit([row("one more", 1, name)])
    first, *rest = events(shared)
    assert isinstance(first, PolicySet)
    assert not any(isinstance(event, PolicySet) for event in rest)
    named = {e.data.evidence.policy for e in rest if isinstance(e, Decided)}
    assert named == {first.data.hash}


def test_times_never_go_back_within_an_owner(shared: Runtime) -> None:
    for owner in OWNERS:
        times = [event.time for event in of(owner, shared)]
        assert times == sorted(times)


def test_the_read_side_shows_what_the_log_folds_into(shared: Runtime) -> None:
    """Law L7: also where every event comes twice."""
    for owner in OWNERS:
        shown = shared.memories(owner)
        assert shown == folded(shared, owner) == folded(shared, owner, times=2)
        assert len(shown) > 3


def test_memories_are_listed_found_and_shown_as_the_log_has_them(shared: Runtime) -> None:
    with Palimpsest.open(shared.read_side(), create=False, engine="none", by="person") as store:
        for owner in OWNERS:
            ledger = ledger_of(shared, owner)
            listed = every_page(store, owner)
            living = [memory for memory in ledger.memories() if memory.living]
            assert listed == [(one.id, one.face.text) for one in reversed(living)]
            for entry in ledger.entries.values():
                found = store.get(entry.id)
                assert (found["memory_id"], found["moved"]) == (
                    entry.memory.id,
                    entry.memory.id != entry.id,
                )
            told = [
                event for memory_id, _ in listed for event in store.history(memory_id)["events"]
            ]
            about = [event.id for event in of(owner, shared) if isinstance(event, Decided)]
            assert about == [
                one["event_id"]
                for one in sorted(told, key=lambda one: one["position"])
                if one["event"] == "decided"
            ]


def every_page(store: Palimpsest, owner: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    after: str | None = None
    while True:
        page = store.list(owner, limit=3, after=after)
        found += [(memory["memory_id"], memory["face"]) for memory in page["memories"]]
        after = page["next"]
        if after is None:
            return found


# -- requests ------------------------------------------------------------------------------------


def test_a_merge_is_one_event_and_taken_back_by_one(shared: Runtime, name: str) -> None:
    a, b = pair(shared, name)
    before = shared.memories(name)
    joined = shared.ask(MergeRequest(request_id=fresh(), a=a, b=b))
    assert [memory["members"] for memory in shared.memories(name)] == [2]
    request = UnmergeRequest(request_id=fresh(), decision_id=joined["decision_id"])
    assert shared.ask(request)["reversed"] == [joined["decision_id"]]
    assert shared.memories(name) == before
    assert [isinstance(event, Reversed) for event in of(name, shared)].count(True) == 1
    shared.ask(ReinstateRequest(request_id=fresh(), decision_id=joined["decision_id"]))
    assert [memory["members"] for memory in shared.memories(name)] == [2]


def test_a_request_that_comes_twice_has_one_effect(shared: Runtime, name: str) -> None:
    a, b = pair(shared, name)
    request = MergeRequest(request_id=fresh(), a=a, b=b)
    shared.ask(request)
    before = shared.log()
    shared.restart()
    shared.ask(request)
    assert shared.log() == before


def test_a_request_is_answered_as_it_was_after_a_restart_whatever_came_since(
    runtime: Runtime,
) -> None:
    """By owners of several partitions, too, and if it was refused or changed nothing."""
    runtime.submit(STREAM)
    [first] = runtime.submit([row("Ada plays chess", 901)])
    chess = str(first["candidate_id"])
    requests: list[AnyRequest] = [
        ReverseRequest(request_id=fresh(), selection=JoinSelection(source="made-up")),
        RetractRequest(request_id=fresh(), selection=Selection(source="nobody's")),
        UndoRequest(request_id=fresh(), candidate_id=chess),
        MergeRequest(request_id=fresh(), a=NOBODY, b=chess),
        UpdateRequest(request_id=fresh(), memory_id=chess, text="Ada plays go"),
    ]
    answers = [answer(runtime, request) for request in requests]
    runtime.ask(UpdateRequest(request_id=fresh(), memory_id=chess, text="Ada plays golf"))
    runtime.submit(
        [
            *STREAM[:40],
            row("Ada plays chess", 902),
            orjson.dumps(orjson.loads(row("Bob rows", 903, "bob")) | {"source": "nobody's"}),
        ]
    )
    runtime.restart()
    before = runtime.log()
    again = [answer(runtime, request) for request in requests]
    for number, request in enumerate(requests):
        assert plain(again[number]) == plain(answers[number]), request.request
        other = request.model_copy(update={"because": "of something else"})
        assert answer(runtime, other)["refused"] == "id_conflict"
    assert runtime.log() == before


def test_rows_under_one_key_are_one_request(runtime: Runtime) -> None:
    """Delivered again, also by another worker; with another body it is refused as a whole."""
    said = Submission(fresh(), "a" * 32, 2)
    cats = {"owner_id": "ann", "text": FIRST, "id": "1"}
    tea = {"owner_id": "ann", "text": "Ann drinks tea", "id": "2"}
    offer = Offer([cats, tea], "test", submission=said)
    fewer = Offer([cats], "test", submission=said._replace(asked="b" * 32, rows=1))
    others = [{"owner_id": "ann", "text": f"Ann has boat {n}", "id": f"b{n}"} for n in range(2)]
    other = Offer(others, "test", submission=said._replace(asked="c" * 32))
    [first, repeat, conflict, less] = offered(runtime, offer, offer, other, fewer)
    assert repeat == first
    assert conflict == [OTHER_REQUEST] * 2
    assert less == [OTHER_REQUEST]
    assert {one["face"] for one in folded(runtime, "ann")} == {FIRST, "Ann drinks tea"}
    before = runtime.log()
    runtime.restart()
    assert offered(runtime, other, offer, fewer) == [conflict, first, less]
    assert runtime.log() == before


def offered(runtime: Runtime, *offers: Offer) -> list[list[Outcome]]:
    """The outcomes of submissions, one after another."""

    client = runtime.client()

    async def run() -> list[list[Outcome]]:
        async with AsyncPalimpsest(client) as store:
            return [await store.offer(offer) for offer in offers]

    return asyncio.run(run())


def answer(runtime: Runtime, request: AnyRequest) -> Mapping[str, Any]:
    """What became of a request, also of one that was refused."""
    try:
        return runtime.ask(request)
    except RefusedError as refused:
        return {"refused": refused.reason}


def test_a_refusal_has_the_reason_and_is_recorded(shared: Runtime, name: str) -> None:
    a, _ = pair(shared, name)
    with pytest.raises(RefusedError) as refused:
        shared.ask(MergeRequest(request_id=fresh(), a=a, b=NOBODY))
    assert refused.value.reason == "unknown_candidate"
    last = of(name, shared)[-1]
    assert isinstance(last, Refused)
    assert last.data.reason == "unknown_candidate"


@pytest.mark.parametrize("unknown", [NOBODY, "no id at all"])
def test_a_request_about_nobody_is_refused(shared: Runtime, unknown: str) -> None:
    with pytest.raises(RefusedError):
        shared.ask(UnmergeRequest(request_id=fresh(), candidate_id=unknown))


def test_a_separation_binds_what_comes_later(shared: Runtime, name: str) -> None:
    """Law L9, and after a restart too."""
    first, second = shared.submit(
        [row("Ada paints a boat", 1, name), row("Ben mends a roof", 2, name)]
    )
    a, b = str(first["candidate_id"]), str(second["candidate_id"])
    shared.ask(SeparateRequest(request_id=fresh(), a=a, b=b))
    shared.restart()
    shared.submit([row("Ada paints a boat.", 3, name), row("Ben mends a roof.", 4, name)])
    assert [memory["members"] for memory in shared.memories(name)] == [2, 2]


def test_a_separation_is_withdrawn(shared: Runtime, name: str) -> None:
    """A person's two words over a joined third: each keeps the other pair's merge from being."""
    rows = [row("a red boat", 1, name), row("tea at five", 2, name), row("no stairs", 3, name)]
    a, b, c = (str(one["candidate_id"]) for one in shared.submit(rows))
    shared.ask(MergeRequest(request_id=fresh(), a=b, b=c))
    for other in (b, c):
        shared.ask(SeparateRequest(request_id=fresh(), a=a, b=other))
    for other in (b, c):
        with pytest.raises(RefusedError, match=f"{a} and {({b, c} - {other}).pop()}") as refused:
            shared.ask(MergeRequest(request_id=fresh(), a=a, b=other))
        assert refused.value.reason == "separated"
    withdrawn = WithdrawRequest(request_id=fresh(), a=a, b=c)
    answer = shared.ask(withdrawn)
    assert sorted(len(memory["members"]) for memory in answer["memories"]) == [1, 2]
    shared.ask(WithdrawRequest(request_id=fresh(), a=b, b=a))
    before = shared.log()
    shared.restart()
    assert plain(shared.ask(withdrawn)) == plain(answer)
    assert shared.log() == before
    with pytest.raises(RefusedError) as refused:
        shared.ask(WithdrawRequest(request_id=fresh(), a=a, b=b))
    assert refused.value.reason == "not_separated"
    shared.ask(MergeRequest(request_id=fresh(), a=a, b=b))
    assert [memory["members"] for memory in shared.memories(name)] == [3]


def test_a_merge_is_withdrawn_as_if_nobody_had_said_it(shared: Runtime, name: str) -> None:
    """Nothing is separated: what a person had said of the pair before holds again."""
    rows = [row("a red boat", 1, name), row("tea at five", 2, name)]
    a, b = (str(one["candidate_id"]) for one in shared.submit(rows))
    merged = shared.ask(MergeRequest(request_id=fresh(), a=a, b=b, face=b))
    withdrawn = WithdrawRequest(request_id=fresh(), a=a, b=b, actor="ada", because="a slip")
    answer = shared.ask(withdrawn)
    assert sorted(len(memory["members"]) for memory in answer["memories"]) == [1, 1]
    before = shared.log()
    shared.restart()
    assert plain(shared.ask(withdrawn)) == plain(answer)
    assert shared.log() == before
    with pytest.raises(RefusedError) as refused:
        shared.ask(WithdrawRequest(request_id=fresh(), a=a, b=b))
    assert refused.value.reason == "not_separated"
    shared.ask(ReinstateRequest(request_id=fresh(), decision_id=merged["decision_id"]))
    assert [memory["members"] for memory in shared.memories(name)] == [2]
    again = shared.ask(WithdrawRequest(request_id=fresh(), a=a, b=b))
    assert sorted(len(memory["members"]) for memory in again["memories"]) == [1, 1]


def test_an_unmerge_of_two_whom_others_hold_together_takes_the_word_back(
    shared: Runtime, name: str
) -> None:
    """What the person said of the two is no more in an agent's way."""
    rows = [row("a red boat", 1, name), row("tea at five", 2, name)]
    a, b = (str(one["candidate_id"]) for one in shared.submit(rows))
    evidence = Evidence(policy=load_policy("standard").hash, check="dedupe")
    batch = CombineRequest(
        request_id=fresh(), a=a, b=b, face="keep", decision="llm_merge", evidence=evidence
    )
    joined = shared.ask(batch)["decision_id"]

    def take_out(decision_id: str, rank: Rank) -> Mapping[str, Any]:
        return shared.ask(UnmergeRequest(request_id=fresh(), decision_id=decision_id, rank=rank))

    merged = shared.ask(MergeRequest(request_id=fresh(), a=a, b=b))["decision_id"]
    with pytest.raises(RefusedError) as refused:
        take_out(joined, "agent")
    assert refused.value.reason == "outranked"
    assert [len(memory["members"]) for memory in take_out(merged, "person")["memories"]] == [2]
    taken = take_out(joined, "agent")
    assert sorted(len(memory["members"]) for memory in taken["memories"]) == [1, 1]


def test_joins_that_bar_each_other_come_back_together(shared: Runtime, name: str) -> None:
    """Each end was merged with one of the other's since; the answer names what was recorded."""
    texts = ("a red boat", "tea at five", "an old violin", "the blue kettle")
    told = shared.submit([row(text, number, name) for number, text in enumerate(texts)])
    a, b, c, d = (str(one["candidate_id"]) for one in told)

    def merge(one: str, other: str) -> str:
        answer = shared.ask(MergeRequest(request_id=fresh(), a=one, b=other))
        return str(answer["decision_id"])

    for one, other in ((a, c), (b, d)):
        shared.ask(UnmergeRequest(request_id=fresh(), decision_id=merge(one, other)))
    merge(a, b)
    merge(c, d)
    before = {event.id for event in events(shared)}
    back = ReinstateManyRequest(request_id=fresh(), selection=JoinSelection(owner_id=name))
    answer = shared.ask(back)
    assert [memory["members"] for memory in shared.memories(name)] == [4]
    assert len(answer["reinstated"]) == 2
    assert {event.id for event in events(shared)} - before == set(answer["events"])


def test_a_reinstatement_takes_the_consequences_back(runtime: Runtime) -> None:
    """Law L8, under a policy by which later decisions rest on a merge.

    Save the one that a person has agreed to since, which it names.
    """
    rules = load_policy("replace-or-merge").model_dump(mode="json")
    rules["checks"][0]["zones"] = [{"at_least": 0.93, "action": "superseded"}]
    runtime.ask(PolicyRequest(request_id=fresh(), policy=rules))
    _, newer, beside = runtime.submit(
        [row(text, n) for n, text in enumerate((FIRST, NEWER, BESIDE))]
    )
    assert (newer["decision"], beside["decision"]) == ("superseded", "stored")
    before = runtime.memories("ann")
    decision_id = newer["decision_id"]
    gone = runtime.ask(
        UnmergeRequest(request_id=fresh(), decision_id=decision_id, with_consequences=True)
    )
    assert [consequence["would_be"]["joined_to"] for consequence in gone["consequences"]] == [
        newer["joined_to"]
    ]
    assert sorted(memory["members"] for memory in runtime.memories("ann")) == [1, 2]
    request = ReinstateRequest(request_id=fresh(), decision_id=decision_id)
    log = runtime.log()
    known = {event.id for event in of("ann", runtime)}
    shown = runtime.dry_run(request)
    assert runtime.log() == log
    answer = runtime.ask(request)
    assert plain(answer) == plain(shown)
    assert (answer["reinstated"], answer["refused"]) == ([decision_id], [])
    assert answer["taken_back"] == gone["carried_out"]
    # Of this owner: a partition that has never heard of the decision records its own refusal.
    recorded = [event.id for event in of("ann", runtime) if event.id not in known]
    assert recorded == answer["events"]
    assert runtime.memories("ann") == before == folded(runtime, "ann")
    unmerge = UnmergeRequest(request_id=fresh(), decision_id=decision_id, with_consequences=True)
    [made] = runtime.ask(unmerge)["carried_out"]
    a, c = str(newer["joined_to"]), str(beside["candidate_id"])
    runtime.ask(MergeRequest(request_id=fresh(), a=a, b=c))
    request = ReinstateRequest(request_id=fresh(), decision_id=decision_id)
    shown = runtime.dry_run(request)
    answer = runtime.ask(request)
    assert plain(answer) == plain(shown)
    assert (answer["reinstated"], answer["taken_back"]) == ([decision_id], [])
    assert (made, "outranked") in [(one["decision_id"], one["reason"]) for one in answer["refused"]]
    [whole] = runtime.memories("ann")
    assert whole["members"] == 3


def test_bulk_requests_reach_every_owner_and_a_dry_run_writes_nothing(runtime: Runtime) -> None:
    runtime.submit(STREAM)
    for request in (
        ReverseRequest(request_id=fresh(), selection=JoinSelection(source="made-up")),
        RetractRequest(request_id=fresh(), selection=Selection(source="made-up")),
    ):
        before = runtime.log()
        shown = runtime.dry_run(request)
        assert runtime.log() == before
        assert plain(runtime.ask(request)) == plain(shown)
        assert len(runtime.log()) > len(before)
    assert [runtime.memories(owner) for owner in OWNERS] == [[], [], []]


def test_what_was_reversed_in_bulk_comes_back_in_bulk(runtime: Runtime) -> None:
    runtime.submit(STREAM)
    said_before = JoinSelection(owner_id=OWNERS[0])
    runtime.ask(ReverseRequest(request_id=fresh(), selection=said_before))
    before = [runtime.memories(owner) for owner in OWNERS]
    selection = JoinSelection(source="made-up")
    reversed_ = runtime.ask(ReverseRequest(request_id=fresh(), selection=selection))
    assert [runtime.memories(owner) for owner in OWNERS] != before
    by_cause = JoinSelection(cause=reversed_["cause"])
    request = ReinstateManyRequest(request_id=fresh(), selection=by_cause)
    assert plain(runtime.dry_run(request)) == plain(runtime.ask(request))
    assert [runtime.memories(owner) for owner in OWNERS] == before
    log = runtime.log()
    again = runtime.ask(request)
    assert sorted(again["reinstated"]) == sorted(reversed_["reversed"])
    assert runtime.log() == log


def plain(answer: Mapping[str, Any]) -> Any:
    """An answer as JSON has it, without what a dry run alone says, or alone does not."""
    alone = ("joins", "candidates", "asks", "cause", "events", "undo")
    said = {name: value for name, value in answer.items() if name not in alone}
    return orjson.loads(orjson.dumps(said))


# -- taking back what answers rested on ------------------------------------------------------------

KEY = "the spare key is under the blue pot"


def boats(number: int, end: str = "dawn") -> str:
    """Sixteen words: those with the same end are nearer, and all are asked about."""
    return (
        f"every summer since the move Ada paints {number} wooden boats in the harbour until {end}"
    )


class History:
    """An owner's candidates in a runtime, by their texts; the first boats are joined by `same`."""

    def __init__(self, runtime: Runtime, owner_id: str) -> None:
        self.runtime = runtime
        self.owner_id = owner_id
        self.said = 0

    def say(self, *texts: str) -> list[str]:
        self.said += len(texts)
        numbers = range(self.said - len(texts), self.said)
        rows = [row(text, n, self.owner_id) for n, text in zip(numbers, texts, strict=True)]
        return [str(one["candidate_id"]) for one in self.runtime.submit(rows)]

    def settle(self, candidate_id: str, said: Mapping[str, Answer], **text: Any) -> str | None:
        """The judge's answers, best neighbour first; the decision that they came to."""
        [asked] = (
            event.data.evidence.asked
            for event in of(self.owner_id, self.runtime)
            if isinstance(event, Decided) and event.subject == candidate_id
        )
        assert {*said} <= {*asked}
        verdicts = tuple(Verdict(neighbour_id=n, answer=said[n]) for n in asked if n in said)
        request = SettleRequest(
            request_id=fresh(), candidate_id=candidate_id, verdicts=verdicts, **text
        )
        answer = self.runtime.ask(request)
        return str(answer["decision_id"])

    def unmerge(self, **what: Any) -> None:
        self.runtime.ask(UnmergeRequest(request_id=fresh(), **what))

    def merge(self, a: str, b: str, face: str | None = None) -> str:
        request = MergeRequest(request_id=fresh(), a=a, b=b, face=face)
        return str(self.runtime.ask(request)["decision_id"])

    def faces(self) -> dict[str, int]:
        """The owner's living memories, as the read side has them and as the log folds."""
        shown = self.runtime.memories(self.owner_id)
        assert shown == folded(self.runtime, self.owner_id)
        return {memory["face"]: memory["members"] for memory in shown}


@pytest.fixture
def history(shared: Runtime, name: str) -> History:
    return History(shared, name)


def test_a_question_outlives_a_mistaken_merge(history: History) -> None:
    a, b, key = history.say(boats(2), boats(3), KEY)
    history.unmerge(decision_id=history.merge(b, key))
    history.settle(b, {a: "same"})
    assert history.faces() == {boats(2): 2, KEY: 1}


def test_unmerging_late_carries_out_what_the_merge_held_back(history: History) -> None:
    a, b, c, key = history.say(boats(2), boats(3, "dusk"), boats(4, "dusk"), KEY)
    joined = history.settle(b, {a: "same"})
    with pytest.raises(RefusedError) as held:
        history.settle(c, {b: "different", a: "same"})
    assert held.value.reason == "separated"
    history.merge(c, key)
    history.unmerge(decision_id=str(joined))
    assert history.faces() == {boats(2): 3, boats(3, "dusk"): 1}
    settled = of(history.owner_id, history.runtime)[-1]
    assert isinstance(settled, Settled)
    assert (settled.data.decision, settled.data.cause is None) == ("llm_reject", False)


def test_different_said_of_a_merged_face_binds_that_face_alone(runtime: Runtime) -> None:
    rules = load_policy("standard").model_dump(mode="json") | {"search": "memories"}
    rules["judge"] |= {"frames": 0, "bridges": False, "of_owner": None}
    runtime.ask(PolicyRequest(request_id=fresh(), policy=rules))
    history = History(runtime, "ann")
    a, b, c = history.say(boats(2), boats(3, "dusk"), boats(4, "dusk"))
    joined = history.settle(b, {a: "same"})
    history.settle(c, {b: "different", a: "different"})
    history.unmerge(decision_id=str(joined))
    history.settle(c, {b: "same"})
    assert history.faces() == {boats(2): 1, boats(3, "dusk"): 2}


def test_a_better_neighbour_that_the_merge_had_hidden_is_asked_about(runtime: Runtime) -> None:
    """The third was compared with what the merge made speak, and never with the second."""
    rules = load_policy("standard").model_dump(mode="json") | {"search": "memories"}
    rules["judge"] |= {"frames": 0, "bridges": False, "of_owner": None}
    runtime.ask(PolicyRequest(request_id=fresh(), policy=rules))
    history = History(runtime, "ann")
    a, b = history.say(boats(2), boats(3, "dusk"))
    joined = history.settle(b, {a: "same"})
    [c] = history.say(boats(4, "dusk"))
    history.settle(c, {a: "different"})
    unmerge = UnmergeRequest(request_id=fresh(), decision_id=str(joined), with_consequences=True)
    [asked] = runtime.ask(unmerge)["consequences"]
    assert (asked["candidate_id"], asked["asks"]) == (c, [b])
    verdict = Verdict(neighbour_id=b, answer="same")
    runtime.ask(SettleRequest(request_id=fresh(), candidate_id=c, verdicts=(verdict,)))
    assert history.faces() == {boats(2): 1, boats(3, "dusk"): 2}


def test_a_composed_text_that_lost_a_source_is_recomposed(history: History) -> None:
    a, b, c = history.say(boats(2), boats(3, "dusk"), boats(4, "dusk"))
    joined = history.settle(b, {a: "same"})
    first = "two boats at first, and then four"
    composed = history.settle(c, {b: "compose"}, composed=first, sources=(a, c))
    assert history.faces() == {first: 3}
    history.unmerge(decision_id=str(joined))
    assert history.faces() == {boats(2): 1, boats(4, "dusk"): 2}
    ledger = Ledger(history.owner_id)
    for event in of(history.owner_id, history.runtime):
        evolve(ledger, event)
    lacking = ledger.entries[c].memory.face.lacking
    assert lacking is not None
    assert (lacking.edge.id, lacking.sources) == (composed, (b, c))
    anew = "three boats at first, and then four"
    request = ComposeRequest(
        request_id=fresh(), decision_id=str(composed), text=anew, sources=lacking.sources
    )
    history.runtime.ask(request)
    assert history.faces() == {boats(2): 1, anew: 2}


@pytest.mark.parametrize(
    ("answer", "face"), [("compose", "two boats or three"), ("same", boats(2))]
)
def test_a_late_verdict_brings_no_displaced_text_back(
    history: History, answer: Answer, face: str
) -> None:
    """Law L10: the newest displaced the second, a repeat took the face back from it."""
    a, b, c = history.say(boats(2), boats(3, "dusk"), boats(4, "dusk"))
    history.settle(c, {b: "update"})
    history.say(boats(3, "dusk"))
    assert history.faces() == {boats(2): 1, boats(3, "dusk"): 3}
    history.settle(b, {a: answer}, composed="two boats or three")
    assert history.faces() == {face: 4}


def test_a_memory_that_was_taken_apart_stays_apart(history: History) -> None:
    """Also those of its members that no join connected."""
    a, b, c = history.say(boats(2), boats(3, "dusk"), boats(4, "dusk"))
    history.settle(b, {a: "same"})
    history.settle(c, {b: "same"})
    assert history.faces() == {boats(2): 3}
    history.unmerge(memory_id=a)
    batch = CombineRequest(
        request_id=fresh(),
        a=c,
        b=a,
        decision="llm_reject",
        face="keep",
        evidence=Evidence(policy=load_policy("standard").hash),
    )
    with pytest.raises(RefusedError) as refused:
        history.runtime.ask(batch)
    assert refused.value.reason == "separated"
    assert history.faces() == {boats(2): 1, boats(3, "dusk"): 1, boats(4, "dusk"): 1}


def test_a_face_that_a_person_chose_survives_an_exact_repeat(history: History) -> None:
    a, key = history.say(boats(2), KEY)
    history.merge(a, key, face=key)
    history.say(boats(2))
    assert history.faces() == {KEY: 3}


# -- by intent -----------------------------------------------------------------------------------


def test_a_memory_is_updated_and_the_update_in_the_middle_is_undone(
    shared: Runtime, name: str
) -> None:
    """Asked again, each is answered as it was; the memories are the same after a restart."""
    [one] = shared.submit([row("Ada works at Google", 1, name)])
    google = str(one["candidate_id"])
    update = UpdateRequest(request_id=fresh(), memory_id=google, text="Ada works at Meta")
    meta = shared.ask(update)
    assert meta["displaced"] == {"candidate_id": google, "text": "Ada works at Google"}
    assert shared.ask(update) == meta
    again = UpdateRequest(request_id=fresh(), memory_id=google, text="Ada works at Meta ")
    assert not shared.ask(again)["changed"]
    late = UpdateRequest(
        request_id=fresh(), memory_id=google, text="Ada works at IBM", expect=meta["was"]
    )
    with pytest.raises(RefusedError) as refused:
        shared.ask(late)
    assert refused.value.reason == "moved_on"
    tried = {"request_id": fresh(), "expect": meta["version"]}
    foreseen = shared.dry_run(late.model_copy(update=tried))
    assert foreseen["changed"]
    apple = UpdateRequest(
        request_id=fresh(),
        memory_id=google,
        text="Ada works at Apple",
        expect=meta["version"],
        owner_id=name,
    )
    shared.ask(apple)
    shared.restart()
    assert not shared.ask(again)["changed"], "it is answered as it was"
    undo = UndoRequest(request_id=fresh(), decision_id=meta["decision_id"])
    undone = shared.ask(undo)
    assert shared.ask(undo) == undone
    assert undone["candidate_id"] == meta["candidate_id"]
    assert folded(shared, name) == shared.memories(name)
    shown = [(memory["face"], memory["members"]) for memory in shared.memories(name)]
    assert shown == [("Ada works at Apple", 2)]
    foreign = apple.model_copy(update={"request_id": fresh(), "owner_id": "bob"})
    with pytest.raises(RefusedError) as unknown:
        shared.ask(foreign)
    assert unknown.value.reason == "unknown_candidate"


def test_a_memory_is_forgotten_and_remembered_exactly(shared: Runtime, name: str) -> None:
    texts = ("Ada works at Google", "Ada plays chess", "Ada has a blue car")
    one, two, three = (
        str(it["candidate_id"])
        for it in shared.submit([row(text, number, name) for number, text in enumerate(texts)])
    )
    shared.ask(UpdateRequest(request_id=fresh(), memory_id=one, text="Ada works at Meta"))
    again: tuple[tuple[str, Again], ...] = ((one, "allow"), (two, "refuse"), (three, "ask"))
    gone = [
        ForgetRequest(request_id=fresh(), memory_ids=(memory,), again=rule)
        for memory, rule in again
    ]
    answers = [shared.ask(request) for request in gone]
    assert [len(answer["candidates"]) for answer in answers] == [2, 1, 1]
    assert shared.ask(gone[0]) == answers[0], "asked again it answers as it did"
    other = ForgetRequest(request_id=fresh(), memory_ids=(one,), expect=answers[0]["token"])
    with pytest.raises(RefusedError) as moved:
        shared.ask(other)
    assert moved.value.reason == "moved_on"
    rows = [row(text, f"again {number}", name) for number, text in enumerate(texts)]
    outcomes = shared.submit(rows)
    assert [it["decision"] for it in outcomes] == ["stored", "forgotten", "pending"]
    assert shared.submit(rows)[1]["decision"] == "forgotten"
    mine = [line for line in shared.log() if name.encode() in line]
    chess = [line for line in mine if b"plays chess" in line]
    assert len(chess) == 1, "what is refused leaves no text behind"
    shared.restart()
    assert [memory["face"] for memory in shared.memories(name)] == [texts[0]]
    for answer in answers:
        back = RestoreRequest(request_id=fresh(), forgotten=answer["forgotten"])
        shared.dry_run(back.model_copy(update={"request_id": fresh()}))
        shared.ask(back)
    assert folded(shared, name) == shared.memories(name)
    shown = {memory["face"]: memory["members"] for memory in shared.memories(name)}
    assert shown == {"Ada works at Meta": 3, texts[1]: 1, texts[2]: 2}
    with pytest.raises(RefusedError) as none:
        shared.ask(RestoreRequest(request_id=fresh(), forgotten=answers[0]["forgotten"]))
    assert none.value.reason == "not_retracted"


def test_rewordings_of_what_was_forgotten_wait_until_it_is_back(runtime: Runtime) -> None:
    [first] = runtime.submit([row(FIRST, 1)])
    gone = ForgetRequest(request_id=fresh(), memory_ids=(str(first["candidate_id"]),), again="ask")
    answer = runtime.ask(gone)
    rows = [row(BESIDE, 2), row("Ada plays chess", 3), row(BESIDE, 4, "bob")]
    beside, chess, other = runtime.submit(rows)
    assert [it["decision"] for it in (beside, chess, other)] == ["pending", "stored", "stored"]
    runtime.restart()
    assert [memory["face"] for memory in runtime.memories("ann")] == ["Ada plays chess"]
    assert runtime.submit(rows)[0]["result"] == "known"
    assert runtime.verify(StandIn(lambda _: "same")).questions == 0, "nobody asks about who waits"
    runtime.ask(RestoreRequest(request_id=fresh(), forgotten=answer["forgotten"]))
    assert folded(runtime, "ann") == runtime.memories("ann")
    assert runtime.verify(StandIn(lambda _: "same")).questions == 1
    shown = {memory["face"]: memory["members"] for memory in runtime.memories("ann")}
    assert shown == {FIRST: 2, "Ada plays chess": 1}


def test_an_agent_does_not_update_to_a_rewording_of_what_waits(shared: Runtime, name: str) -> None:
    chess, boat = shared.submit([row("Ada plays chess", 1, name), row(FIRST, 2, name)])
    boats, game = str(boat["candidate_id"]), str(chess["candidate_id"])
    shared.ask(ForgetRequest(request_id=fresh(), memory_ids=(boats,), again="ask"))
    said = UpdateRequest(request_id=fresh(), memory_id=game, text=BESIDE, rank="agent")
    for _ in range(2):
        with pytest.raises(RefusedError) as refused:
            shared.ask(said)
        assert refused.value.reason == "forgotten"
        shared.restart()
    assert shared.memories(name)[0]["face"] == "Ada plays chess"
    other = UpdateRequest(request_id=fresh(), memory_id=game, text="Ada plays go", rank="agent")
    assert shared.ask(other)["changed"]
    person = UpdateRequest(request_id=fresh(), memory_id=game, text=BESIDE)
    assert shared.ask(person)["changed"]
    closer = UpdateRequest(request_id=fresh(), memory_id=game, text=BESIDE + " again", rank="agent")
    shared.ask(closer)
    assert [memory["face"] for memory in shared.memories(name)] == [BESIDE + " again"]


# -- the judge -----------------------------------------------------------------------------------

BOATS = [row(f"Ada paints {n} wooden boats in the harbour", n) for n in range(2, 7)]


def settlements(runtime: Runtime) -> list[str]:
    return [event.data.decision for event in events(runtime) if isinstance(event, Settled)]


def test_a_verifier_settles_what_is_pending_and_asks_nothing_twice(runtime: Runtime) -> None:
    """Law L13: what was seen before costs no call."""
    runtime.submit(BOATS)
    runtime.restart()
    judge = StandIn(lambda _: "same")
    assert runtime.verify(judge).questions == len(BOATS) - 1
    assert sorted(settlements(runtime)) == ["llm_reject"] * (len(BOATS) - 1)
    assert [memory["members"] for memory in runtime.memories("ann")] == [len(BOATS)]
    calls = judge.calls
    runtime.submit(BOATS)
    runtime.restart()
    assert runtime.verify(judge).questions == 0
    assert judge.calls == calls


LOCAL = RecordedJudge(protocol="openai-chat", model="small", address="http://localhost:11434")
REMOTE = RecordedJudge(protocol="anthropic", model="large", address="https://judge.example")


def test_another_judge_is_recorded_once_and_verdicts_name_it(runtime: Runtime) -> None:
    """Not with each start, nor with each answer."""
    for count, judge in enumerate((LOCAL, LOCAL, REMOTE, LOCAL), start=2):
        runtime.submit(BOATS[:count])
        runtime.verify(StandIn(recorded=judge))
        if count == 2:  # before the same judge answers again
            runtime.restart()
    recorded = [event.data for event in events(runtime) if isinstance(event, JudgeSet)]
    assert Counter((data.judge.model, data.former) for data in recorded) == {
        (LOCAL.model, None): 1,
        (REMOTE.model, LOCAL.hash): 1,
        (LOCAL.model, REMOTE.hash): 1,
    }
    said = [
        verdict.judge
        for event in events(runtime)
        if isinstance(event, Settled)
        for verdict in event.data.evidence.verdicts
    ]
    assert len(said) > 3, "each round asked about a newcomer"
    assert {*said} == {LOCAL.hash, REMOTE.hash}
    assert said[0] == said[-1] == LOCAL.hash


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
    assert settlements(runtime) == ["fallback_keep"]


def test_what_is_checked_is_decided_so_and_nothing_is_written(shared: Runtime, name: str) -> None:
    """Through the same door as every request; it carries the row as its producer would send it."""
    shared.submit([row(FIRST, 1, name)])
    before = shared.log()
    texts = [f" {FIRST}\u200b", BESIDE, NEWER, "the bridge is closed"]
    requests = [
        CheckRequest(
            request_id=fresh(),
            owner_id=name,
            row=row(text, number, name).decode(),
            source="test",
        )
        for number, text in enumerate(texts, start=2)
    ]
    foreseen = [shared.ask(request) for request in requests]
    assert shared.log() == before
    [first] = [one for one in of(name, shared) if isinstance(one, Decided)]
    assert [one["decision"] for one in foreseen] == [
        "hash_exact",
        "token_reject",
        "pending",
        "stored",
    ]
    assert foreseen[0]["neighbour"]["candidate_id"] == first.subject
    [outcome] = shared.submit([row(texts[1], 3, name)])
    assert outcome["decision"] == foreseen[1]["decision"]
    assert outcome["joined_to"] == foreseen[1]["neighbour"]["candidate_id"] == first.subject
