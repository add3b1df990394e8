"""Many small requests share a transaction: all of them with their answers, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import orjson
import pytest

from palimpsest.contracts.answers import (
    Answer,
    Concluded,
    Done,
    Failed,
    Misused,
    Refused,
    from_json,
    result,
)
from palimpsest.contracts.commands import EndSession
from palimpsest.contracts.errors import InvalidInputError, RefusedError, StoreError
from palimpsest.contracts.events import Figures, PolicySet, Settled
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.limits import MOST
from palimpsest.contracts.requests import (
    AnyRequest,
    JoinSelection,
    MergeRequest,
    PolicyRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    RunRequest,
    Selection,
    SeparateRequest,
    SettleRequest,
    UnmergeRequest,
    UpdateRequest,
)
from palimpsest.contracts.wire import decode
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.executor import Executor
from palimpsest.streams.write.handlers.single import settle
from palimpsest.streams.write.serve import (
    HANDLERS,
    MOST_TOGETHER,
    PendingRequest,
    parse_request,
    serve,
    serve_all,
)
from tests.streams.write.runtime import Runtime

BOATS = [f"Ada paints {n} wooden boats in the harbour" for n in range(2, 7)]
"""Each but the first is pending: it differs in its number."""


class Dies(BaseException):
    """Stands for a kill: what comes after it does not happen."""


class Store(Runtime):
    """A runtime whose commits are counted, and which dies before an effect when told to."""

    def __init__(self, path: Path) -> None:
        self.commits = 0
        self.dies_before = ""
        super().__init__(path, effect=self._effect)
        self._inbox = Inbox(self.log)

    def _effect(self, name: str) -> None:
        if name == self.dies_before:
            raise Dies
        self.commits += name == "log:committed"

    def asked(self, *requests: AnyRequest) -> list[PendingRequest]:
        """Requests as items of the inbox."""
        items = self._inbox.put_each("request", "test", [b"?" for _ in requests])
        return [PendingRequest(*one) for one in zip(requests, items, strict=True)]

    @property
    def answers(self) -> list[Answer]:
        """What was committed of answers, in the order of the items."""
        rows = self.log.rows("SELECT answer FROM inbox WHERE answered_at IS NOT NULL ORDER BY id")
        return [from_json(orjson.loads(answer)) for (answer,) in rows]

    def pending(self) -> list[str]:
        """Who waits, in their order."""
        return [one.subject for one in self.log.verifications.waiting(100)]

    def settled(self) -> list[str]:
        """Who was settled, in the order of the events."""
        events = map(decode, self.lines())
        return [event.data.candidate_id for event in events if isinstance(event, Settled)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "log.sqlite") as made:
        made.submit(*({"owner_id": "ann", "text": text} for text in BOATS))
        made.commits = 0
        yield made


def different(candidate_id: str, *neighbour_ids: str) -> SettleRequest:
    said = tuple(Verdict(neighbour_id=one, answer="different") for one in neighbour_ids)
    return SettleRequest(request_id=str(uuid4()), candidate_id=candidate_id, verdicts=said)


def verdicts(store: Store) -> list[SettleRequest]:
    """About everybody who waits: different from all that they were asked about."""
    entries = store.writer.owners.get("ann").ledger.entries
    return [different(one, *entries[one].open) for one in store.pending()]


def test_they_are_one_commit_and_a_refusal_is_its_own_affair(store: Store) -> None:
    first, *others = verdicts(store)
    nobody = different(str(uuid4()), first.candidate_id)
    asked = [first, nobody, *others]
    answers = serve(store.writer, store.asked(*asked))
    assert store.commits == 1
    assert answers == store.answers
    assert [type(answer) for answer in answers] == [Done, Refused, *[Done] * len(others)]
    assert store.settled() == [one.candidate_id for one in (first, *others)]
    assert store.pending() == []


@pytest.mark.parametrize("effect", ["log:append", "log:committed"])
def test_killed_beside_the_commit_all_happened_or_none(store: Store, effect: str) -> None:
    asked = verdicts(store)
    store.dies_before = effect
    with pytest.raises(Dies):
        serve(store.writer, store.asked(*asked))
    happened = [one.candidate_id for one in asked] if effect == "log:committed" else []
    assert store.settled() == happened
    assert len(store.answers) == len(happened)
    store.dies_before = ""
    again = serve(store.writer, store.asked(*asked))
    assert all(isinstance(answer, Done) for answer in again)
    assert store.settled() == [one.candidate_id for one in asked], "each once"


def test_one_that_meets_a_bug_takes_no_other_with_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, broken, *others = verdicts(store)

    def breaks(executor: Executor, request: SettleRequest) -> Concluded:
        if request is broken:
            settle(executor, request)
            raise ZeroDivisionError
        return settle(executor, request)

    monkeypatch.setitem(HANDLERS, type(broken), breaks)
    answers = serve_all(store.writer, store.asked(first, broken, *others))
    assert answers == store.answers
    assert answers[1] == Failed("ZeroDivisionError")
    assert [type(answer) for answer in answers].count(Done) == 1 + len(others)
    assert store.settled() == [one.candidate_id for one in (first, *others)]
    assert store.pending() == [broken.candidate_id]


def test_a_bug_in_what_this_process_asked_is_raised(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(executor: Executor, request: SettleRequest) -> Concluded:
        settle(executor, request)
        raise ZeroDivisionError

    monkeypatch.setitem(HANDLERS, type(verdicts(store)[0]), breaks)
    before = store.pending()
    with pytest.raises(ZeroDivisionError):
        serve_all(store.writer, [PendingRequest(verdict) for verdict in verdicts(store)])
    assert store.pending() == before
    assert store.ledger_matches_log()


def test_what_the_disk_does_not_take_is_tried_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, tried = verdicts(store), Counter[str]()

    def full(*_: object) -> None:
        tried["commit"] += 1
        raise StoreError("the disk is full")

    monkeypatch.setattr(store.writer, "commit", full)
    with pytest.raises(StoreError):
        serve_all(store.writer, store.asked(*asked))
    assert tried["commit"] == 1, "it is full for each"


def test_large_requests_are_on_their_own_and_the_order_stays(store: Store) -> None:
    first, second, *_ = verdicts(store)
    pair = (first.candidate_id, second.candidate_id)
    policy = load_policy("standard").model_dump(mode="json")
    requests: list[AnyRequest] = [
        first,
        SeparateRequest(request_id=str(uuid4()), a=pair[0], b=pair[1]),
        RetractRequest(request_id=str(uuid4()), selection=Selection(candidate_id=pair[0])),
        PolicyRequest(request_id=str(uuid4()), policy=policy),
        second,
    ]
    answers = serve_all(store.writer, store.asked(*requests))
    assert answers == store.answers
    assert ["policy" in result(answer) for answer in answers] == [False, False, False, True, False]
    assert store.commits == 4


def test_a_transaction_is_bounded(store: Store) -> None:
    nobody = [different(str(uuid4()), str(uuid4())) for _ in range(MOST_TOGETHER + 1)]
    serve_all(store.writer, store.asked(*nobody))
    assert len(store.answers) == MOST_TOGETHER + 1
    assert store.commits == 2


def set_policy(name: str, **changes: object) -> PendingRequest:
    policy = load_policy("standard").model_copy(update={"name": name, **changes})
    said = PolicyRequest(request_id=str(uuid4()), policy=policy.model_dump(mode="json"))
    return PendingRequest(said)


def test_policies_that_were_not_committed_are_not_in_force(store: Store) -> None:
    before = store.writer.policy
    store.dies_before = "log:append"
    with pytest.raises(Dies):
        serve(store.writer, [set_policy("one"), set_policy("another")])
    assert store.writer.policy == before
    assert store.log.last_policy() is None or store.log.policies().keys() == {before.hash}
    store.dies_before = ""
    serve(store.writer, [set_policy("one"), set_policy("another")])
    assert store.writer.policy.name == "another"


def test_a_refusal_that_was_not_committed_may_come_again(store: Store) -> None:
    command = EndSession(command_id=str(uuid4()), owner_id="ann", session_id="s")
    store.dies_before = "log:append"
    store.writer.refuse(command, RefusedError("separated", "they are not the same"))
    with pytest.raises(Dies):
        store.writer.commit()
    store.dies_before = ""
    assert [event.type for event in store.writer.run(command)] == ["palimpsest.session_ended.v1"]


def test_only_a_log_without_vectors_takes_a_policy_for_another_model(
    store: Store, tmp_path: Path
) -> None:
    other = set_policy("other", model="another")
    [answer] = serve(store.writer, [other])
    assert isinstance(answer, Refused)
    assert answer.reason == "other_model"
    with Store(tmp_path / "empty.sqlite") as empty:
        [answer] = serve(empty.writer, [other])
        assert isinstance(answer, Done)
        assert empty.writer.policy.model == "another"


def test_a_policy_that_is_set_in_an_empty_log_is_its_first_and_only_event(tmp_path: Path) -> None:
    with Store(tmp_path / "empty.sqlite") as empty:
        serve(empty.writer, [set_policy("mine")])
        [recorded] = empty.log.after(0)
        assert isinstance(recorded.event, PolicySet)
        assert recorded.event.data.policy["name"] == "mine"


def test_a_dry_run_reports_what_would_be_and_writes_nothing(store: Store) -> None:
    """Whoever asks: the request itself says that it is one."""
    everything = Selection(source="test")
    a, b, *_ = store.pending()
    merge = MergeRequest(request_id=str(uuid4()), a=a, b=b)
    [merged] = serve(store.writer, store.asked(merge))
    requests: list[AnyRequest] = [
        UnmergeRequest(request_id=str(uuid4()), decision_id=result(merged)["decision_id"]),
        ReverseRequest(request_id=str(uuid4()), selection=JoinSelection(source="test")),
        RetractRequest(request_id=str(uuid4()), selection=everything),
        RestoreRequest(request_id=str(uuid4()), selection=everything),
    ]
    for request in requests:
        dry_run = request.model_copy(update={"dry_run": True})
        before = store.lines()
        [told] = serve_all(store.writer, store.asked(dry_run))
        assert store.lines() == before
        assert store.answers[-1] == told
        assert store.ledger_matches_log()
        if not isinstance(request, RestoreRequest):
            [answer] = serve(store.writer, store.asked(request))
            done = {**result(answer)}
            done.pop("cause", None)
            done.pop("undo", None)
            assert {**result(told), **done} == result(told)


def test_what_is_no_request_is_reported_without_its_words() -> None:
    with pytest.raises(InvalidInputError, match=r"not a request: embed\.request_id: is missing$"):
        parse_request(b'{"request": "embed", "owner_id": "a secret"}')
    embed = b'"request": "embed", "request_id": "%s", "owner_id": "ada"' % str(uuid4()).encode()
    for newer in (b'{"request": "a secret"}', b'{%s, "a secret": 1}' % embed):
        with pytest.raises(InvalidInputError, match="not a request that Palimpsest") as told:
            parse_request(newer)
        assert "secret" not in str(told.value)


def many(count: int) -> SettleRequest:
    said = (Verdict(neighbour_id=str(uuid4()), answer="different", input_tokens=count),)
    return SettleRequest(request_id=str(uuid4()), candidate_id=str(uuid4()), verdicts=said)


def ran(count: int) -> RunRequest:
    request_id, due = str(uuid4()), datetime(2026, 1, 1, tzinfo=UTC)
    figures: Figures = {"removed_count": count}
    return RunRequest(
        request_id=request_id, owner_id="ann", step="review", due=due, figures=figures
    )


@pytest.mark.parametrize("about", [many, ran])
def test_a_number_that_no_database_holds_is_not_recorded(
    store: Store, about: Callable[[int], AnyRequest]
) -> None:
    """It would end the projections of the store, now and whenever it is opened."""
    for count in (MOST + 1, -MOST - 2, 2**70):
        [answer] = serve(store.writer, [PendingRequest(about(count))])
        assert isinstance(answer, Misused)
        assert str(count) not in answer.detail
    [answer] = serve(store.writer, [PendingRequest(about(MOST))])
    assert not isinstance(answer, Misused)


def test_metadata_may_have_numbers_without_a_sign(store: Store) -> None:
    [[entry, *_]] = [[*store.writer.owners.get("ann").ledger.entries.values()]]
    request = UpdateRequest(
        request_id=str(uuid4()), memory_id=entry.id, text="Ada sails", metadata={"n": 2**64 - 1}
    )
    [answer] = serve(store.writer, [PendingRequest(request)])
    assert isinstance(answer, Done)
