"""What people ask for is answered, told when it cannot be, and finished when it was cut short."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest.contracts.answers import JsonObject
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import Decided, Joined, Refused, Reversed, Settled
from palimpsest.contracts.evidence import Evidence, Verdict
from palimpsest.contracts.policy import CosineCheck, Zone
from palimpsest.contracts.requests import (
    AccessRequest,
    AnyRequest,
    CheckRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    ForgetRequest,
    JoinSelection,
    MergeRequest,
    PolicyRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    SetExpiryRequest,
    SettleRequest,
    UndoRequest,
    UnmergeRequest,
    UpdateRequest,
)
from palimpsest.contracts.wire import decode
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.dry_run import DryRun
from palimpsest.streams.write.handlers import bulk
from palimpsest.streams.write.inputs import Outcome
from palimpsest.streams.write.serve import execute
from tests.reliability.rows import rows
from tests.streams.write.runtime import AT, Runtime, memories

NOBODY = "00000000-0000-5000-8000-000000000000"
NO_ID = "no id"


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite") as made:
        yield made


def submit(runtime: Runtime, *texts: str, owner: str = "ann") -> list[Outcome]:
    return runtime.submit(
        *(
            {"owner_id": owner, "text": text, "id": f"{text}/{n}", "source": "test"}
            for n, text in enumerate(texts)
        )
    )


def fresh() -> str:
    return str(uuid4())


def ask(runtime: Runtime, request: Request) -> JsonObject:
    """Carry out and commit, even if it is refused."""
    try:
        return execute(runtime.writer, request)
    finally:
        runtime.writer.commit()


def dry_run(runtime: Runtime, request: Request) -> JsonObject:
    return execute(DryRun(runtime.log, runtime.writer.policy, lambda: AT), request)


def faces(answer: JsonObject) -> list[str]:
    return [memory["face"] for memory in answer["memories"]]


def ids(*outcomes: Outcome) -> list[str]:
    return [str(outcome.candidate_id) for outcome in outcomes]


# -- what is answered ----------------------------------------------------------------------------


def test_merge_names_the_decision_and_the_memory(runtime: Runtime) -> None:
    a, b = ids(*submit(runtime, "the bridge is closed", "no way over the river"))
    answer = ask(runtime, MergeRequest(request_id=fresh(), a=a, b=b, face=b))
    assert faces(answer) == ["no way over the river"]
    assert [m["candidate_id"] for m in answer["memories"][0]["members"]] == [a, b]
    recorded = runtime.log.find(answer["decision_id"])
    assert recorded is not None
    assert recorded.event.type == "palimpsest.joined.v1"


def test_unmerge_gives_both_memories_and_reinstate_takes_it_back(runtime: Runtime) -> None:
    a, b = ids(*submit(runtime, "the bridge is closed", "no way over the river"))
    joined = ask(runtime, MergeRequest(request_id=fresh(), a=a, b=b))
    unmerge = UnmergeRequest(request_id=fresh(), decision_id=joined["decision_id"])
    answer = ask(runtime, unmerge)
    assert answer["reversed"] == [joined["decision_id"]]
    assert sorted(faces(answer)) == ["no way over the river", "the bridge is closed"]
    assert ask(runtime, unmerge)["memories"] == answer["memories"]
    back = ReinstateRequest(request_id=fresh(), decision_id=joined["decision_id"])
    assert ask(runtime, back)["memories"] == joined["memories"]


def test_the_same_request_again_changes_nothing(runtime: Runtime) -> None:
    a, b = ids(*submit(runtime, "one thing", "something else entirely"))
    request = MergeRequest(request_id=fresh(), a=a, b=b)
    answer = ask(runtime, request)
    before = runtime.lines()
    assert ask(runtime, request) == answer
    assert faces(answer) == ["one thing"]
    assert runtime.lines() == before


def test_what_was_refused_is_refused_again(runtime: Runtime) -> None:
    a, b, c, repeat = ids(*submit(runtime, "one thing", "quite another", "a third", " a third"))
    ask(runtime, MergeRequest(request_id=fresh(), a=a, b=b))
    apart = SeparateRequest(request_id=fresh(), a=a, b=b)
    for _ in range(2):
        with pytest.raises(RefusedError, match="they are one memory"):
            ask(runtime, apart)
    ask(runtime, RetractRequest(request_id=fresh(), selection=Selection(candidate_id=c)))
    ask(runtime, UnmergeRequest(request_id=fresh(), candidate_id=repeat))
    back = RestoreRequest(request_id=fresh(), selection=Selection(candidate_id=c))
    answer = ask(runtime, back)
    assert [one["reason"] for one in answer["refused"]] == ["same_text"]
    before = runtime.lines()
    assert ask(runtime, back) == answer
    assert runtime.lines() == before


def test_separate_keeps_what_comes_apart(runtime: Runtime) -> None:
    a, b, c = ids(*submit(runtime, "one thing", "something else entirely", "a third matter"))
    ask(runtime, SeparateRequest(request_id=fresh(), a=a, b=c))
    ask(runtime, MergeRequest(request_id=fresh(), a=a, b=b))
    with pytest.raises(RefusedError) as refused:
        ask(runtime, MergeRequest(request_id=fresh(), a=b, b=c))
    assert a in refused.value.detail
    assert len(memories(runtime.log)["ann"]) == 2


def test_confirm_access_sessions_and_settling_are_answered(runtime: Runtime) -> None:
    first, second, third = submit(
        runtime,
        "Ada paints 4 wooden boats in the harbour",
        "Ada paints 5 wooden boats in the harbour",
        " Ada paints 4 wooden boats in the harbour",
    )
    assert (second.decision, third.decision) == ("pending", "hash_exact")
    decision = str(third.decision_id)
    confirm = ConfirmRequest(request_id=fresh(), decision_id=decision)
    assert ask(runtime, confirm)["decision_id"] == decision
    access = AccessRequest(request_id=fresh(), candidate_id=str(first.candidate_id))
    assert ask(runtime, access) == {"candidate_id": first.candidate_id}
    session = SessionRequest(
        request_id=fresh(), request="end_session", owner_id="ann", session_id="s"
    )
    assert ask(runtime, session) == {"session_id": "s"}
    verdict = Verdict(
        neighbour_id=str(first.candidate_id), answer="compose", model="judge", prompt="1"
    )
    settle = SettleRequest(
        request_id=fresh(),
        candidate_id=str(second.candidate_id),
        verdicts=(verdict,),
        composed="Ada paints boats of wood",
    )
    settled = ask(runtime, settle)
    assert faces(settled) == ["Ada paints boats of wood"]
    assert sources_of(runtime, settled) == (first.candidate_id, second.candidate_id)
    compose = ComposeRequest(
        request_id=fresh(),
        decision_id=settled["decision_id"],
        text="Boats of wood, painted by Ada",
        sources=(str(first.candidate_id), str(second.candidate_id)),
    )
    with pytest.raises(RefusedError, match="needs no composing"):
        ask(runtime, compose)
    assert runtime.ledger_matches_log()


def test_a_settlement_is_named_by_its_own_decision_whatever_it_frees(runtime: Runtime) -> None:
    """An answer about a text that joins only now is heard with it."""
    first, second, third = ids(
        *submit(runtime, *(f"Ada paints {n} wooden boats in the harbour" for n in "456"))
    )
    early = Verdict(neighbour_id=first, answer="same", speaker=second)
    with pytest.raises(RefusedError, match="waits for answers"):
        ask(runtime, SettleRequest(request_id=fresh(), candidate_id=third, verdicts=(early,)))
    verdict = Verdict(neighbour_id=first, answer="same")
    settle = SettleRequest(request_id=fresh(), candidate_id=second, verdicts=(verdict,))
    settled = ask(runtime, settle)
    events = [decode(line) for line in runtime.lines()[-2:]]
    assert [event.subject for event in events] == [second, third]
    assert settled["decision_id"] == events[0].id


def sources_of(runtime: Runtime, settled: Mapping[str, Any]) -> tuple[str, ...]:
    found = runtime.log.find(settled["decision_id"])
    assert found is not None
    assert isinstance(found.event, Settled)
    assert found.event.data.composition is not None
    return found.event.data.composition.sources


@pytest.mark.parametrize("named", [True, False])
def test_a_composed_text_names_what_it_was_made_of(runtime: Runtime, named: bool) -> None:
    """Also where another text speaks for the neighbour by now: unnamed, it is what speaks."""
    first, second = submit(
        runtime,
        "Ada paints 4 wooden boats in the harbour",
        "Ada paints 5 wooden boats in the harbour",
    )
    a, b = str(first.candidate_id), str(second.candidate_id)
    [third] = submit(runtime, "Ben mends a roof")
    c = str(third.candidate_id)
    ask(runtime, MergeRequest(request_id=fresh(), a=a, b=c, face=c))
    settle = SettleRequest(
        request_id=fresh(),
        candidate_id=b,
        verdicts=(Verdict(neighbour_id=a, answer="compose"),),
        composed="Ada paints boats",
        sources=(a, b) if named else (),
    )
    assert sources_of(runtime, ask(runtime, settle)) == ((a if named else c), b)
    assert runtime.ledger_matches_log()


def test_a_batch_run_joins_with_a_text_that_is_embedded_here(runtime: Runtime) -> None:
    first, second = submit(runtime, "Ada paints a boat", "Ben mends a roof")
    a, b = str(first.candidate_id), str(second.candidate_id)
    request = CombineRequest(
        request_id=fresh(),
        a=b,
        b=a,
        decision="llm_merge",
        face="text",
        composed="Ada paints, Ben mends",
        sources=(a, b),
        evidence=Evidence(policy=runtime.writer.policy.hash, check="dedupe"),
        rank="judge",
    )
    answer = ask(runtime, request)
    assert faces(answer) == ["Ada paints, Ben mends"]
    joined = runtime.log.find(answer["decision_id"])
    assert joined is not None
    assert isinstance(joined.event, Joined)
    assert joined.event.data.composition is not None
    assert joined.event.data.composition.content.vector is not None
    with pytest.raises(RefusedError, match="one memory"):
        ask(runtime, request.model_copy(update={"request_id": fresh()}))
    assert runtime.ledger_matches_log()


def test_where_a_judge_has_the_newer_speak_the_older_does_once_it_is_said_again(
    runtime: Runtime,
) -> None:
    """The join goes by time: only a rule's own choice is outright."""
    a, b = ids(*submit(runtime, "Tea", "Mate"))
    evidence = Evidence(policy=runtime.writer.policy.hash, check="dedupe")
    request = CombineRequest(
        request_id=fresh(), a=a, b=b, decision="superseded", face="take", evidence=evidence
    )
    ask(runtime, request)
    ledger = runtime.writer.owners.get("ann").ledger
    spoke = ledger.entries[a].memory.face.text
    submit(runtime, "no tea", "Tea")
    assert (spoke, ledger.entries[a].memory.face.text) == ("Mate", "Tea")


def test_a_policy_is_recorded_and_another_model_is_refused(runtime: Runtime) -> None:
    submit(runtime, "one thing")
    rules = load_policy("standard").model_dump(mode="json")
    mine = PolicyRequest(request_id=fresh(), policy=rules | {"name": "mine"})
    answer = ask(runtime, mine)
    policy = runtime.log.last_policy()
    assert policy is not None
    assert (answer["policy"], answer["hash"]) == ("mine", policy.data.hash)
    other = PolicyRequest(request_id=fresh(), policy=rules | {"model": "another"})
    with pytest.raises(RefusedError, match="a vector of another is missing for 1 text"):
        ask(runtime, other)
    assert runtime.writer.policy.name == "mine"


def test_a_policy_that_could_not_be_recorded_is_not_in_force(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(runtime, "one thing")
    before = runtime.writer.policy
    rules = before.model_dump(mode="json") | {"name": "mine"}
    execute(runtime.writer, PolicyRequest(request_id=fresh(), policy=rules))

    def fails(_events: object) -> None:
        raise OSError("no more disk")

    monkeypatch.setattr(runtime.log, "append", fails)
    with pytest.raises(OSError, match="no more disk"):
        runtime.writer.commit()
    assert runtime.writer.policy == before
    assert runtime.log.last_policy() == runtime.log.after(0, 1)[0].event


# -- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", [NOBODY, NO_ID, "", "' OR 1=1 --", "ä" * 40])
def test_an_id_that_nobody_has_is_refused_with_the_reason(runtime: Runtime, unknown: str) -> None:
    """An id is what a person types: whatever it is, it is not a bug, and stops no writer."""
    [known] = ids(*submit(runtime, "one thing"))
    for request in requests_about(unknown, known):
        with pytest.raises(RefusedError):
            ask(runtime, request)
    assert runtime.ledger_matches_log()


@pytest.mark.parametrize("spell", [str.upper, lambda some_id: some_id.replace("-", "")])
def test_an_id_that_is_spelt_differently_is_unknown_to_the_writer(
    runtime: Runtime, spell: Callable[[str], str]
) -> None:
    """Callers look ids up first, but anybody may publish a request to a cluster."""
    known, other = ids(*submit(runtime, "one thing", "another thing"))
    ask(runtime, MergeRequest(request_id=fresh(), a=known, b=other))
    for request in requests_about(spell(other), known):
        with pytest.raises(RefusedError):
            ask(runtime, request)
    assert runtime.ledger_matches_log()


def requests_about(unknown: str, known: str) -> list[AnyRequest]:
    chosen = unknown or NO_ID  # a selection refuses a blank one itself
    return [
        MergeRequest(request_id=fresh(), a=unknown, b=known),
        MergeRequest(request_id=fresh(), a=known, b=unknown),
        MergeRequest(request_id=fresh(), a=known, b=known, face=unknown),
        SeparateRequest(request_id=fresh(), a=known, b=unknown),
        SeparateRequest(request_id=fresh(), a=unknown, b=known),
        ConfirmRequest(request_id=fresh(), decision_id=unknown),
        ReinstateRequest(request_id=fresh(), decision_id=unknown),
        UnmergeRequest(request_id=fresh(), decision_id=unknown),
        UnmergeRequest(request_id=fresh(), candidate_id=unknown),
        UnmergeRequest(request_id=fresh(), memory_id=unknown),
        AccessRequest(request_id=fresh(), candidate_id=unknown),
        RetractRequest(request_id=fresh(), selection=Selection(candidate_id=chosen)),
        RestoreRequest(request_id=fresh(), selection=Selection(candidate_id=chosen)),
        ReverseRequest(request_id=fresh(), selection=JoinSelection(candidate_id=chosen)),
        ComposeRequest(request_id=fresh(), decision_id=unknown, text="a", sources=(known,)),
        SettleRequest(
            request_id=fresh(),
            candidate_id=unknown,
            verdicts=(Verdict(neighbour_id=known, answer="same", model="m", prompt="1"),),
        ),
        UpdateRequest(request_id=fresh(), memory_id=unknown, text="a"),
        UndoRequest(request_id=fresh(), candidate_id=unknown),
        UndoRequest(request_id=fresh(), decision_id=unknown),
        ForgetRequest(request_id=fresh(), memory_ids=(unknown,)),
        ForgetRequest(request_id=fresh(), memory_ids=(known, unknown)),
        SetExpiryRequest(request_id=fresh(), candidate_id=unknown),
    ]


def test_a_candidate_of_another_owner_is_in_no_selection(runtime: Runtime) -> None:
    """The owner that a selection names counts, even if the id alone finds the candidate."""
    a, b = ids(*submit(runtime, "one thing", "another thing"))
    join = ask(runtime, MergeRequest(request_id=fresh(), a=a, b=b))["decision_id"]
    for request in (
        RetractRequest(request_id=fresh(), selection=Selection(owner_id="bob", candidate_id=b)),
        RestoreRequest(request_id=fresh(), selection=Selection(owner_id="bob", candidate_id=b)),
        *(
            kind(request_id=fresh(), selection=JoinSelection(owner_id="bob", candidate_id=b))
            for kind in (ReverseRequest, ReinstateManyRequest)
        ),
    ):
        for asked in (request, request.model_copy(update={"dry_run": True})):
            with pytest.raises(RefusedError, match="unknown_candidate"):
                ask(runtime, asked)
    ledger = runtime.writer.ledger("ann")
    assert ledger.edges[join].standing
    assert ledger.entries[b].living


def test_a_check_of_another_owners_row_is_wrong_usage(runtime: Runtime) -> None:
    """Only the partition of the row's owner could decide on it."""
    submit(runtime, "one thing")
    row = '{"owner_id": "ann", "text": "one thing"}'
    request = CheckRequest(request_id=fresh(), owner_id="bob", row=row, source="test")
    with pytest.raises(UsageError, match="another owner"):
        ask(runtime, request)


def test_a_pair_of_two_owners_is_refused(runtime: Runtime) -> None:
    [ann], [bob] = ids(*submit(runtime, "a thing")), ids(*submit(runtime, "a thing", owner="bob"))
    for request in (
        MergeRequest(request_id=fresh(), a=ann, b=bob),
        SeparateRequest(request_id=fresh(), a=bob, b=ann),
    ):
        with pytest.raises(RefusedError):
            ask(runtime, request)


def test_an_exact_repeat_cannot_be_taken_out(runtime: Runtime) -> None:
    _, repeat = submit(runtime, "one thing", " one thing")
    for request in (
        UnmergeRequest(request_id=fresh(), decision_id=repeat.decision_id),
        UnmergeRequest(request_id=fresh(), candidate_id=repeat.candidate_id),
    ):
        with pytest.raises(RefusedError):
            ask(runtime, request)
    assert len(memories(runtime.log)["ann"]) == 1


def test_a_refusal_is_recorded(runtime: Runtime) -> None:
    [known] = ids(*submit(runtime, "one thing"))
    with pytest.raises(RefusedError):
        ask(runtime, MergeRequest(request_id=fresh(), a=known, b=NOBODY))
    assert isinstance(runtime.log.after(0)[-1].event, Refused)


# -- in bulk -------------------------------------------------------------------------------------


@pytest.fixture
def filled(runtime: Runtime) -> Runtime:
    runtime.stream(rows(240, owners=4))
    return runtime


BULK: list[AnyRequest] = [
    ReverseRequest(request_id=fresh(), selection=JoinSelection(source="made-up")),
    RetractRequest(request_id=fresh(), selection=Selection(source="made-up")),
]


def done_by(answer: JsonObject) -> Any:
    return {name: sorted(map(str, value)) for name, value in answer.items() if name != "owners"}


@pytest.mark.parametrize("request_", BULK, ids=["reverse", "retract"])
def test_bulk_is_finished_after_it_was_cut_short(
    filled: Runtime, request_: AnyRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same request again does the rest, and its answer names everything, as if undisturbed."""
    monkeypatch.setattr(bulk, "STEPS", 3)
    undisturbed = tmp_path / "undisturbed.sqlite"
    with Runtime(undisturbed) as whole:
        whole.stream(rows(240, owners=4))
        expected, after = ask(whole, request_), memories(whole.log)
    assert len(next(iter(expected.values()))) > 5

    commits = iter([False, True])

    def dies(name: str) -> None:
        if name == "log:append" and next(commits, False):
            raise KeyboardInterrupt

    filled.writer._effect = dies
    with pytest.raises(KeyboardInterrupt):
        execute(filled.writer, request_)
    filled.writer.abandon()
    half = filled.log.count()
    assert filled.ledger_matches_log()
    answer = ask(filled, request_)
    assert filled.log.count() > half
    assert done_by(answer) == done_by(expected)
    assert memories(filled.log) == after
    assert done_by(ask(filled, request_)) == done_by(expected)


def test_of_all_owners_those_are_counted_who_have_what_is_meant(runtime: Runtime) -> None:
    submit(runtime, "Ann rows")
    runtime.submit({"owner_id": "bob", "text": "Bob sings", "source": "elsewhere"}, b"no row")
    meant = Selection(source="test")
    answer = ask(runtime, RetractRequest(request_id=fresh(), selection=meant))
    assert (len(answer["retracted"]), answer["owners"]) == (1, 1)


def test_a_dry_run_counts_the_questions_that_would_be_opened_alone(tmp_path: Path) -> None:
    check = CosineCheck(check="cosine", zones=(Zone(at_least=0.5, action="pending"),))
    asking = load_policy("standard").model_copy(update={"checks": (check,)})
    with Runtime(tmp_path / "log.sqlite", policy=asking) as runtime:
        _, gray, tea = submit(runtime, "Ann has a red boat", "Ann has a blue boat", "tea at five")
        assert gray.decision == "pending"
        selection = Selection(candidate_id=tea.candidate_id)
        retract = RetractRequest(request_id=fresh(), selection=selection, dry_run=True)
        shown = dry_run(runtime, retract)
        assert (len(shown["candidates"]), shown["asks"]) == (1, 0)


def test_a_dry_run_counts_the_questions_of_all_owners(tmp_path: Path) -> None:
    check = CosineCheck(check="cosine", zones=(Zone(at_least=0.5, action="pending"),))
    asking = load_policy("standard").model_copy(update={"checks": (check,)})
    with Runtime(tmp_path / "log.sqlite", policy=asking) as runtime:
        for owner in ("ann", "ben", "eve"):
            submit(runtime, "The boat is red", "The boat is blue", owner=owner)
        submit(runtime, "tea at five", owner="zoe")
        meant = Selection(source="test")
        ask(runtime, RetractRequest(request_id=fresh(), selection=meant))
        restore = RestoreRequest(request_id=fresh(), selection=meant, dry_run=True)
        shown = dry_run(runtime, restore)
        assert (len(shown["restored"]), shown["owners"], shown["asks"]) == (7, 4, 3)


def test_restore_brings_back_what_retract_took(filled: Runtime) -> None:
    """What was retracted or forgotten before stays out."""
    gone, forgotten, *_ = filled.writer.ledger("owner 1").entries.values()
    only = Selection(candidate_id=gone.id)
    ask(filled, RetractRequest(request_id=fresh(), selection=only))
    ask(filled, ForgetRequest(request_id=fresh(), memory_ids=(forgotten.id,)))
    before = memories(filled.log)
    selection = Selection(owner_id="owner 1")
    retracted = ask(filled, RetractRequest(request_id=fresh(), selection=selection))
    assert retracted["owners"] == 1
    assert not any(memory["living"] for memory in memories(filled.log)["owner 1"])
    everything = RestoreRequest(request_id=fresh(), selection=selection, dry_run=True)
    assert {gone.id, forgotten.id} <= set(dry_run(filled, everything)["restored"])
    exactly = Selection(cause=retracted["cause"])
    restored = ask(filled, RestoreRequest(request_id=fresh(), selection=exactly))
    assert sorted(restored["restored"]) == sorted(retracted["retracted"])
    assert memories(filled.log) == before


def test_reinstating_brings_back_what_reverse_took_out(
    filled: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it was cut short: asked again, it does the rest and names everything."""
    made_up = JoinSelection(source="made-up")
    by_hand = ReverseRequest(request_id=fresh(), selection=JoinSelection(owner_id="owner 2"))
    ask(filled, by_hand)
    before = memories(filled.log)
    reversed_ = ask(filled, ReverseRequest(request_id=fresh(), selection=made_up))
    taken, selection = reversed_["reversed"], JoinSelection(cause=reversed_["cause"])
    monkeypatch.setattr(bulk, "STEPS", 3)
    request = ReinstateManyRequest(request_id=fresh(), selection=selection)
    commits = iter([False, True])

    def dies(name: str) -> None:
        if name == "log:append" and next(commits, False):
            raise KeyboardInterrupt

    filled.writer._effect = dies
    with pytest.raises(KeyboardInterrupt):
        execute(filled.writer, request)
    filled.writer.abandon()
    assert memories(filled.log) != before
    assert sorted(ask(filled, request)["reinstated"]) == sorted(taken)
    assert memories(filled.log) == before


# -- dry runs ------------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_be_and_writes_nothing(filled: Runtime) -> None:
    joins = ReverseRequest(request_id=fresh(), selection=JoinSelection(owner_id="owner 2"))
    first = dry_run(filled, joins)["reversed"][0]
    request = UnmergeRequest(request_id=fresh(), decision_id=first)
    for one in (request, joins, BULK[1]):
        lines = filled.lines()
        shown = dry_run(filled, one)
        assert filled.lines() == lines
        assert filled.ledger_matches_log()
        assert ask(filled, one) == shown


def test_unmerging_late_equals_unmerging_at_once(tmp_path: Path) -> None:
    """Law L2 through the writer: whatever came after, the memories are those without the join."""
    stream = rows(360, owners=2)
    with Runtime(tmp_path / "late") as late, Runtime(tmp_path / "soon") as soon:
        late.stream(stream)
        joins = ReverseRequest(request_id=fresh(), selection=JoinSelection(owner_id="owner 1"))
        decision = dry_run(late, joins)["reversed"][-1]
        request = UnmergeRequest(request_id=fresh(), decision_id=decision)
        number = joined_at(late, decision)
        soon.stream(stream[: number + 1])
        ask(soon, request)
        soon.stream(stream[number + 1 :])
        ask(late, request)
        assert memories(late.log) == memories(soon.log)
        assert [isinstance(r.event, Reversed) for r in late.log.after(0, 10**6)].count(True) == 1


def joined_at(runtime: Runtime, decision: str) -> int:
    recorded = runtime.log.find(decision)
    assert recorded is not None
    event = recorded.event
    assert isinstance(event, Decided)
    return int(event.data.candidate.id)
