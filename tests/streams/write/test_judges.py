"""Who judges is recorded when another one answers, and only then."""

from __future__ import annotations

from uuid import uuid4

import pytest

from palimpsest.contracts.answers import Done, Refused
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import JudgeSet
from palimpsest.contracts.evidence import RecordedFirstJudge, RecordedJudge, Verdict
from palimpsest.contracts.requests import SettleRequest, UnmergeRequest
from palimpsest.streams.write.serve import HANDLERS, PendingRequest, serve, serve_all
from tests.streams.write.test_requests import Store, verdicts
from tests.streams.write.test_requests import store as store  # noqa: PLC0414 - a fixture

A = RecordedJudge(protocol="anthropic", model="m-1", address="https://judge.example")
B = RecordedJudge(protocol="openai-chat", model="m-2", address="http://localhost:11434")


def by(judge: RecordedJudge, request: SettleRequest) -> SettleRequest:
    """A settlement by a judge."""
    said = tuple(
        Verdict(neighbour_id=verdict.neighbour_id, answer=verdict.answer, judge=judge.hash)
        for verdict in request.verdicts
    )
    return request.model_copy(update={"judge": judge, "verdicts": said})


def judges(store: Store) -> list[JudgeSet]:
    """What the log says of judges, in order."""
    return [event for _, event in store.log.after(0, 10_000) if isinstance(event, JudgeSet)]


def hashes(store: Store) -> list[str]:
    return [event.data.hash for event in judges(store)]


def test_a_judge_is_recorded_before_its_first_answer_and_not_again(store: Store) -> None:
    asked = verdicts(store)
    serve_all(store.writer, store.asked(*(by(A, one) for one in asked[:2])))
    serve_all(store.writer, store.asked(by(A, asked[2])))
    [event] = judges(store)
    assert (event.data.judge, event.data.hash, event.data.former) == (A, A.hash, None)
    assert (event.subject, event.owner_id) == (A.hash, "")
    kinds = [event.type.split(".")[1] for _, event in store.log.after(0, 10_000)]
    assert kinds.index("judge_set") == kinds.index("settled") - 1


def test_each_change_is_recorded_with_who_was_before(store: Store) -> None:
    asked = verdicts(store)
    for judge, one in zip((A, B, B, A), asked, strict=False):
        serve(store.writer, [PendingRequest(by(judge, one))])
    assert [(e.data.former, e.data.hash) for e in judges(store)] == [
        (None, A.hash),
        (A.hash, B.hash),
        (B.hash, A.hash),
    ]
    last = store.log.last_judge()
    assert last is not None
    assert last.data.judge == A


def test_changes_within_a_transaction_are_recorded_in_their_places(store: Store) -> None:
    asked = verdicts(store)
    together = [by(judge, one) for judge, one in zip((A, B, A), asked, strict=False)]
    serve(store.writer, [PendingRequest(one) for one in together])
    assert hashes(store) == [A.hash, B.hash, A.hash]


def test_what_is_delivered_again_changes_no_judge(store: Store) -> None:
    """Law L16, whoever is configured by then."""
    first, second, *_ = verdicts(store)
    for request in (by(A, first), by(B, second)):
        serve(store.writer, [PendingRequest(request)])
    before = store.log.head()
    for judge in (A, B):
        [answer] = serve(store.writer, [PendingRequest(by(judge, first))])
        assert isinstance(answer, Done)
    assert (store.log.head(), hashes(store)) == (before, [A.hash, B.hash])


def test_what_is_not_committed_sets_no_judge(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = verdicts(store)

    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setitem(HANDLERS, type(first), breaks)
        with pytest.raises(ZeroDivisionError):
            serve(store.writer, [PendingRequest(by(A, first))])
    assert hashes(store) == []
    serve(store.writer, [PendingRequest(by(A, second))])
    assert hashes(store) == [A.hash]


def test_another_partitions_request_sets_no_judge(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*_: object) -> None:
        raise RefusedError("wrong_partition", "the owner belongs to another partition")

    first, *_ = verdicts(store)
    monkeypatch.setitem(HANDLERS, type(first), elsewhere)
    [answer] = serve(store.writer, [PendingRequest(by(A, first))])
    assert isinstance(answer, Refused)
    assert hashes(store) == []


def test_a_refused_answer_was_an_answer(store: Store) -> None:
    first, *_ = verdicts(store)
    nobody = SettleRequest(
        request_id=str(uuid4()),
        candidate_id=str(uuid4()),
        verdicts=first.verdicts,
        judge=A,
    )
    [answer] = serve(store.writer, [PendingRequest(nobody)])
    assert isinstance(answer, Refused)
    assert hashes(store) == [A.hash]


def test_a_dry_run_sets_no_judge(store: Store) -> None:
    request = UnmergeRequest(
        request_id=str(uuid4()), candidate_id=str(uuid4()), dry_run=True, judge=A
    )
    serve(store.writer, [PendingRequest(request)])
    assert hashes(store) == []


def test_the_hash_is_of_everything_that_was_configured() -> None:
    first = RecordedFirstJudge(protocol="systemone", model="f")
    variants = [
        A,
        RecordedJudge(protocol="anthropic", model="m-2", address="https://judge.example"),
        RecordedJudge(protocol="anthropic", model="m-1", address="https://other.example"),
        RecordedJudge(protocol="anthropic", model="m-1"),
        RecordedJudge(protocol="anthropic", model="m-1", review_model="r"),
        RecordedJudge(protocol="anthropic", model="m-1", platform="bedrock"),
        RecordedJudge(protocol="anthropic", model="m-1", first=first),
        RecordedJudge(
            protocol="anthropic",
            model="m-1",
            first=RecordedFirstJudge(protocol="systemone", model="f", same=0.9),
        ),
    ]
    assert len({judge.hash for judge in variants}) == len(variants)
    assert A.hash == "sha256:0b9e126ca9699c28", "it is in logs: it never changes"
