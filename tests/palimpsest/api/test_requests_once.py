"""Requests are idempotent: a repeated one gets the same answer, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from palimpsest import Palimpsest
from palimpsest import store as facade_of_before
from palimpsest.api.offers import Offer
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Refused, Unchanged
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import (
    AccessRequest,
    AnyRequest,
    ConfirmRequest,
    ForgetRequest,
    JoinSelection,
    MergeRequest,
    PolicyRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    RunRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    SettleRequest,
    UndoRequest,
    UnmergeRequest,
    UpdateRequest,
    WithdrawRequest,
)
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write import answered
from palimpsest.streams.write.inputs import OTHER_REQUEST, Submission
from tests.long import long_but


def by_words(name: str, at_least: float, action: str) -> Policy:
    """A policy that joins, or asks about, texts that share enough words."""
    zone = {"at_least": at_least, "action": action}
    return Policy.model_validate(
        {
            "name": name,
            "model": DEFAULT_MODEL,
            "search": "candidates",
            "checks": [{"check": "cosine", "zones": [zone], "top": 5}],
            "consolidate": load_policy("layered").model_dump(mode="json")["consolidate"],
            "dedupe": {"rule": "pairs", "above": 0.9},
        }
    )


JOINS, ASKS = by_words("joins", 0.7, "auto_reject"), by_words("asks", 0.6, "pending")
NEVER = str(uuid4())
DUE = datetime(2026, 1, 1, tzinfo=UTC)


class World(NamedTuple):
    """Two joined candidates (`a`, `b`), a separated pair, a pending one, and a forgotten one."""

    store: Palimpsest
    a: str
    b: str
    join: str
    x: str
    y: str
    taken: str
    waits: str
    asked: str
    updated: str
    forgotten: str

    def changed_since(self) -> None:
        """Make changes after which a request might mean something else."""
        store = self.store
        store.submit({"owner_id": "ada", "text": "ada lives in paris city now today", "id": "late"})
        store.submit({"owner_id": "ada", "text": "something that nobody has said", "id": "new"})
        store.submit({"owner_id": "bob", "text": "another owner", "id": "bob"}, source="late")
        store.set_policy(by_words("stricter", 0.95, "auto_reject"))
        for say in (
            lambda: store.update(self.x, "whales swim far out in the sea", by="person"),
            lambda: store.merge(self.x, self.a),
            lambda: store.unmerge(memory_id=self.a),
        ):
            with suppress(RefusedError):  # a retracted candidate cannot be updated
                say()


@pytest.fixture(name="world")
def made(tmp_path: Path) -> Iterator[World]:
    with Palimpsest.open(tmp_path / "store", policy=JOINS) as store:

        def say(text: str, name: str, **more: str) -> Any:
            return store.submit({"owner_id": "ada", "text": text, "id": name, **more})[0]

        a, b = say("ada lives in paris city", "a"), say("ada lives in paris city now", "b")
        taken = say("ada lives in paris city today", "c")
        x, y = say("fish swim in the sea", "x", session_id="s"), say("cats sleep all day", "y")
        store.unmerge(decision_id=taken.decision_id)
        store.update(y.candidate_id, "cats sleep at noon", by="person")
        gone = store.forget(say("dogs bark at night", "gone").candidate_id, by="person")
        store.set_policy(ASKS)
        asked = say("green tea with milk and sugar", "p").candidate_id
        waits = say("green tea with milk and honey", "q").candidate_id
        yield World(
            store,
            a.candidate_id,
            b.candidate_id,
            b.decision_id,
            x.candidate_id,
            y.candidate_id,
            taken.decision_id,
            waits,
            asked,
            y.candidate_id,
            gone["forgotten"],
        )


Kind = Callable[[World, str], AnyRequest]
DONE: Mapping[str, Kind] = {
    "merge": lambda w, i: MergeRequest(request_id=i, a=w.x, b=w.y),
    "separate": lambda w, i: SeparateRequest(request_id=i, a=w.x, b=w.y),
    "confirm": lambda w, i: ConfirmRequest(request_id=i, decision_id=w.join),
    "access": lambda w, i: AccessRequest(request_id=i, candidate_id=w.x),
    "session": lambda _, i: SessionRequest(
        request_id=i, request="end_session", owner_id="ada", session_id="s"
    ),
    "settle": lambda w, i: SettleRequest(
        request_id=i,
        candidate_id=w.waits,
        verdicts=(Verdict(neighbour_id=w.asked, answer="same"),),
    ),
    "update": lambda w, i: UpdateRequest(request_id=i, memory_id=w.x, text="fish swim in rivers"),
    "update to what it says": lambda w, i: UpdateRequest(
        request_id=i, memory_id=w.x, text="fish swim in the sea"
    ),
    "undo": lambda w, i: UndoRequest(request_id=i, candidate_id=w.updated),
    "forget": lambda w, i: ForgetRequest(request_id=i, memory_ids=(w.x, w.y)),
    "remember": lambda w, i: RestoreRequest(request_id=i, forgotten=w.forgotten),
    "unmerge": lambda w, i: UnmergeRequest(request_id=i, memory_id=w.a, with_consequences=True),
    "reinstate": lambda w, i: ReinstateRequest(request_id=i, decision_id=w.taken),
    "reverse": lambda _, i: ReverseRequest(
        request_id=i, selection=JoinSelection(decision="auto_reject")
    ),
    "reinstate_many": lambda _, i: ReinstateManyRequest(
        request_id=i, selection=JoinSelection(owner_id="ada")
    ),
    "retract": lambda _, i: RetractRequest(request_id=i, selection=Selection(source="python")),
    "restore": lambda _, i: RestoreRequest(request_id=i, selection=Selection(owner_id="ada")),
    "run": lambda _, i: RunRequest(request_id=i, owner_id="ada", step="dedupe", due=DUE),
    "set_policy": lambda _, i: PolicyRequest(request_id=i, policy=JOINS.model_dump(mode="json")),
    "reverse nothing": lambda _, i: ReverseRequest(
        request_id=i, selection=JoinSelection(source="late")
    ),
    "retract nothing": lambda _, i: RetractRequest(
        request_id=i, selection=Selection(source="late")
    ),
}
REFUSED: Mapping[str, Kind] = {
    "undo without an update": lambda w, i: UndoRequest(request_id=i, candidate_id=w.x),
    "unmerge of one candidate": lambda w, i: UnmergeRequest(request_id=i, memory_id=w.x),
    "withdraw of nothing": lambda w, i: WithdrawRequest(request_id=i, a=w.x, b=w.a),
    "merge with nobody": lambda w, i: MergeRequest(request_id=i, a=NEVER, b=w.x),
    "update of nobody": lambda _, i: UpdateRequest(request_id=i, memory_id=NEVER, text="new"),
    "update of what moved on": lambda w, i: UpdateRequest(
        request_id=i, memory_id=w.x, text="fish swim in rivers", expect="0" * 32
    ),
    "forgetting what moved on": lambda w, i: ForgetRequest(
        request_id=i, memory_ids=(w.x,), expect="0" * 32
    ),
    "reinstate of what stands": lambda w, i: ReinstateRequest(request_id=i, decision_id=w.join),
    "remember nothing": lambda _, i: RestoreRequest(request_id=i, forgotten=NEVER),
    "run to come": lambda _, i: RunRequest(
        request_id=i, owner_id="ada", step="dedupe", due=datetime.now(UTC) + timedelta(days=1)
    ),
}
ALL = {**DONE, **REFUSED}


def ask(store: Palimpsest, request: AnyRequest) -> Any:
    """The answer of a request: what it did, or why it was refused."""
    try:
        return store.writer.ask(request)
    except RefusedError as error:
        return error.reason, error.detail


@pytest.mark.parametrize("name", ALL)
def test_asked_again_it_is_answered_as_it_was_and_writes_nothing(world: World, name: str) -> None:
    store, request = world.store, ALL[name](world, str(uuid4()))
    first = ask(store, request)
    assert (name in REFUSED) == isinstance(first, tuple)
    position = store.position
    assert ask(store, request) == first
    assert store.position == position
    world.changed_since()
    position = store.position
    assert ask(store, request) == first
    assert store.position == position


@pytest.mark.parametrize(
    "name",
    long_but(
        "unmerge",
        "retract nothing",
        of=["unmerge", "forget", "undo without an update", "retract nothing"],
    ),
)
def test_another_process_knows_it_too(world: World, name: str, tmp_path: Path) -> None:
    request = ALL[name](world, str(uuid4()))
    first = ask(world.store, request)
    world.changed_since()
    position = world.store.position
    world.store.close()
    with Palimpsest.open(tmp_path / "store") as again:
        assert ask(again, request) == first
        assert again.position == position
        assert again.verify()["differences"] == 0


@pytest.mark.parametrize("name", ALL)
def test_the_same_id_for_something_else_is_refused(world: World, name: str) -> None:
    store, request = world.store, ALL[name](world, str(uuid4()))
    ask(store, request)
    position = store.position
    for other in (
        AccessRequest(request_id=request.request_id, candidate_id=world.y),
        request.model_copy(update={"because": "for another reason"}),
    ):
        reason, _ = ask(store, other)
        assert reason == "id_conflict"
    assert store.position == position


def test_who_asks_is_no_part_of_what_is_asked(world: World) -> None:
    request = ALL["merge"](world, str(uuid4()))
    first = ask(world.store, request)
    assert ask(world.store, request.model_copy(update={"actor": "eve"})) == first


def test_a_dry_run_leaves_the_id_to_the_request(world: World) -> None:
    request = UndoRequest(request_id=str(uuid4()), candidate_id=world.updated)
    trial = request.model_copy(update={"dry_run": True})
    position = world.store.position
    ask(world.store, trial)
    assert world.store.position == position
    assert ask(world.store, request)["events"]


def test_one_that_changed_nothing_leaves_an_event(world: World) -> None:
    log = world.store.reader.log
    kinds = {"retract nothing": Unchanged.type, "merge with nobody": Refused.type}
    for name, kind in kinds.items():
        request, head = ALL[name](world, str(uuid4())), log.head()
        ask(world.store, request)
        [recorded] = log.after(head)
        assert recorded.event.type == kind
        assert recorded.event.requestid == request.request_id


def test_a_long_answer_goes_on_in_further_events(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answered, "PART", 50)
    request = ALL["forget"](world, str(uuid4()))
    first = ask(world.store, request)
    log = world.store.reader.log
    assert sum(isinstance(one.event, Unchanged) for one in log.after(0)) > 3
    world.changed_since()
    assert ask(world.store, request) == first


def test_a_policy_of_a_log_before_requests_were_recorded_is_set_once(world: World) -> None:
    request = ALL["set_policy"](world, str(uuid4()))
    first = ask(world.store, request)
    log = world.store.reader.log
    with log.transaction():
        log.execute("DELETE FROM requests")
    assert log.find(event_id(request.request_id, "0")) is not None
    world.store.set_policy(ASKS)
    assert ask(world.store, request) == first
    assert world.store.reader.policy_in_force().hash == ASKS.hash


def test_events_without_a_request_are_written_as_before(world: World) -> None:
    log = world.store.reader.log
    [first] = [one.event for one in log.after(0, 2) if one.event.owner_id]
    assert b"request" not in encode(first).replace(b"recent", b"")
    assert decode(encode(first)) == first


def test_the_frame_of_a_repeated_request_is_told_as_it_was(tmp_path: Path) -> None:
    said = Submission(str(uuid4()), "a" * 32, 1)
    offer = Offer([{"owner_id": "ada", "text": "Ada lives in Rome."}], "s", submission=said)
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        [old] = store.submit({"owner_id": "ada", "text": "Ada lives in Paris."})
        [first] = store.submit_each([offer])
        assert isinstance(first, list)
        assert first[0].frame == [{"id": old.memory_id, "assertion": "Ada lives in Paris."}]
        store.update(str(old.memory_id), "Ada is at home in Paris.")
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        assert store.submit_each([offer]) == [first]


def test_rows_of_a_request_are_decided_once_and_answered_as_they_were(tmp_path: Path) -> None:
    """Also concurrently, after a restart, and even if the memories they resemble have changed."""
    similar = {"at_least": 0.4}
    policy = Policy.model_validate({**ASKS.model_dump(mode="json"), "similar": similar})
    row = {"owner_id": "ada", "text": "green tea with milk"}
    rows = [{**row, "text": "green tea with lemon juice", "id": "1"}, {**row, "text": "old clocks"}]
    said = Submission(str(uuid4()), "a" * 32, 2)
    named = Offer(rows, "s", submission=said)
    asked = Submission(str(uuid4()), "b" * 32, 1)
    fewer = named._replace(candidates=rows[:1], submission=asked)
    with Palimpsest.open(tmp_path / "store", policy=policy, by="person") as store:
        [old] = store.submit(row)
        first, at_once = store.submit_each([named, named])
        assert isinstance(first, list)
        assert [one.result for one in first] == ["decided", "decided"]
        [fact] = first[0].similar_facts or []
        assert (fact["id"], fact["assertion"]) == (old.memory_id, row["text"])
        assert at_once == first
        known = store.submit_each([fewer])
        assert isinstance(known[0], list)
        assert [one.result for one in known[0]] == ["known"]
        store.update(str(old.memory_id), "black coffee")
        position = store.position
        other = fewer._replace(submission=said._replace(asked="c" * 32, rows=1))
        assert store.submit_each([fewer, named, other]) == [*known, first, [OTHER_REQUEST]]
        assert store.position == position
        assert store.verify()["differences"] == 0
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        assert store.submit_each([other, named, fewer]) == [[OTHER_REQUEST], first, *known]
        assert store.position == position


def test_programs_of_before_name_a_request_by_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every module of the facade that makes requests takes their ids from there."""
    with Palimpsest.open(tmp_path, by="person") as store:
        rows = [{"owner_id": "ada", "text": text} for text in ("Ada sails", "A boat is Ada's")]
        a, b = (str(outcome.candidate_id) for outcome in store.submit(rows))
        calls: list[Callable[[], object]] = [
            lambda: store.merge(a, b),
            lambda: store.access(a),
            lambda: store.set_policy("layered"),
        ]
        for call in calls:
            name = str(uuid4())
            with monkeypatch.context() as patch:
                patch.setattr(facade_of_before, "fresh", lambda name=name: name)
                call()
            assert store.reader.log.of_request(name)
