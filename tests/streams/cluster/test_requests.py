"""Requests that a partition's writer carries out: bugs, large answers, long ones, dry runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import orjson
import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from palimpsest.contracts.answers import Done
from palimpsest.contracts.errors import ModelError
from palimpsest.contracts.events import AnyEvent, Invalid, Retracted
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.requests import (
    AnyRequest,
    CheckRequest,
    CombineRequest,
    EmbedRequest,
    JoinSelection,
    PolicyRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
)
from palimpsest.contracts.wire import VERSION
from palimpsest.streams.cluster import records
from palimpsest.streams.cluster.records import SO_FAR, Outgoing, Record, answer_record
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.partition_writer import Interrupted, PartitionWriter
from palimpsest.streams.cluster.worker.replica import Followed, PartitionReplica
from palimpsest.streams.embedded.pipeline import decide_all
from palimpsest.streams.embedder import Embedder, ModelUnusable, ServiceUnavailable
from palimpsest.streams.log.log import Lines
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write import vectors
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.handlers import bulk
from palimpsest.streams.write.serve import HANDLERS
from tests.reliability.rows import rows
from tests.streams.write.runtime import AT, inputs
from tests.stub_engine import StubEngine

TOPICS = Topics("", 1)
INPUTS = {"memory.candidates": "candidates", "memory.commands": "commands"}
COUNT = 30
Transaction = tuple[list[AnyEvent], list[Outgoing], list[InputOffset]]


class Partition:
    """The writer of the only partition, with brokers that say what they have been sent."""

    def __init__(self, path: Path, policy: str = "standard") -> None:
        self.taken: list[Transaction] = []
        self.refusal: BaseException | None = None
        self.sending: Callable[[], None] = lambda: None
        self.log = PartitionReplica.create(path)
        self.engine = StubEngine()
        embedder = Embedder(self.engine)
        self.writer = PartitionWriter(
            self.log,
            self._publish,
            Followed(TOPICS.name("decisions"), 0, "id", 0),
            TOPICS,
            INPUTS,
            load_policy(policy),
            lambda _model: embedder,
            lambda: AT,
            Metrics(),
        )
        self._offset = 0
        decide_all(self.writer.writer, inputs(rows(COUNT, owners=1)))
        self.taken.clear()

    def _publish(
        self, lines: Lines, others: Sequence[Outgoing], done: Sequence[InputOffset]
    ) -> int:
        self.sending()
        refusal, self.refusal = self.refusal, None
        if refusal is not None:
            raise refusal
        self.taken.append(([event for event, _ in lines], list(others), list(done)))
        return sum(len(events) for events, _, _ in self.taken)

    def asked(self, request: AnyRequest) -> Any:
        """Carry out a request; returns its answer, which has to be the last thing published."""
        self.bring(request)
        _, others, done = self.taken[-1]
        assert [one.offset for one in done] == [self._offset]
        self._offset += 1
        assert others[-1].key == request.request_id.encode()
        return orjson.loads(others[-1].value)

    def bring(self, request: AnyRequest) -> None:
        """The next record; the same one again where it came to nothing."""
        body = request.model_dump_json(exclude_none=True).encode()
        self.writer.carry_out([Record("memory.commands", 0, self._offset, body)])

    def bring_together(self, *bodies: bytes) -> None:
        """Records that waited together, the next ones."""
        records = [
            Record("memory.commands", 0, offset, body, b"key")
            for offset, body in enumerate(bodies, start=self._offset)
        ]
        self.writer.carry_out(records)

    def answers(self) -> list[tuple[str, str]]:
        """Which requests were answered, in order, and how."""
        told = [other for _, others, _ in self.taken for other in others]
        return [
            ((one.key or b"").decode(), next(iter(orjson.loads(one.value))))
            for one in told
            if one.topic == "memory.answers"
        ]

    def events(self) -> list[AnyEvent]:
        return [event for events, _, _ in self.taken for event in events]

    def progress_of(self, request: AnyRequest) -> list[int]:
        """How far the request was said to be, before its answer."""
        key = f"{request.request_id}{SO_FAR}".encode()
        others = [other for _, others, _ in self.taken for other in others]
        return [orjson.loads(other.value)["so_far"] for other in others if other.key == key]


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    made = Partition(tmp_path / "replica.sqlite")
    yield made
    made.log.close()


def retract(**more: Any) -> RetractRequest:
    return RetractRequest(request_id=str(uuid4()), selection=Selection(source="made-up"), **more)


@pytest.mark.parametrize(
    ("more", "names"), [({"request": "foresee"}, "its kind"), ({"mood": "calm"}, "retract.mood")]
)
def test_a_request_of_a_newer_version_is_a_dead_letter_and_answered(
    partition: Partition, more: dict[str, str], names: str
) -> None:
    """It is not left to wait for an answer; sent again after an upgrade, it is carried out."""
    request = retract()
    body = orjson.dumps(orjson.loads(request.model_dump_json(exclude_none=True)) | more)
    key = request.request_id.encode()
    partition.writer.carry_out([Record("memory.commands", 0, 0, body, key)])
    [invalid], others, done = partition.taken[-1]
    assert isinstance(invalid, Invalid)
    [letter, answer] = others
    assert (letter.topic, letter.value) == ("memory.dead-letters", body)
    assert (answer.topic, answer.key) == ("memory.answers", key)
    assert orjson.loads(answer.value) == {
        "usage": f"not a request that Palimpsest {VERSION} knows ({names}): if a newer version sent"
        " it, upgrade the process that decides"
    }
    assert [one.offset for one in done] == [0]
    partition.writer.carry_out([Record("memory.commands", 0, 1, body)])
    assert [one.topic for one in partition.taken[-1][1]] == ["memory.dead-letters"]


def test_a_request_that_meets_a_bug_fails_and_the_next_is_carried_out(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(executor: Any, request: Any) -> Any:
        bulk.retract(executor, request)
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setitem(HANDLERS, type(retract()), breaks)
        assert partition.asked(retract()) == {"failed": "ZeroDivisionError"}
    assert partition.events() == []
    assert len(partition.asked(retract())["done"]["retracted"]) == COUNT


def composed(partition: Partition) -> tuple[CombineRequest, str]:
    """A request to join two candidates by a composed text, and a third candidate."""
    entries = partition.writer.writer.owners.get("owner 0").ledger.entries.values()
    a, b, c, *_ = (entry.id for entry in entries if entry.fields.namespace == "default")
    request = CombineRequest(
        request_id=str(uuid4()),
        a=b,
        b=a,
        decision="llm_merge",
        face="text",
        composed="otters and ferries",
        sources=(a, b),
        evidence=Evidence(policy=partition.writer.writer.policy.hash),
    )
    return request, c


def test_a_composed_text_is_refused_while_the_model_is_down_and_the_next_request_is_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that ended there would meet the same record again when it starts."""
    monkeypatch.setattr(vectors, "RETRY_SECONDS", 0.0)
    partition = Partition(tmp_path / "replica.sqlite", "namespaced")
    request, other = composed(partition)
    with monkeypatch.context() as down:
        down.setattr(partition.engine, "embed", Mock(side_effect=ModelError("unplugged")))
        assert partition.asked(request)["refused"]["reason"] == "embedder_down"
        assert "done" in partition.asked(
            SeparateRequest(request_id=str(uuid4()), a=request.a, b=other)
        )
    assert "done" in partition.asked(request)
    partition.log.close()


@pytest.mark.parametrize(
    ("error", "is_answered"), [(ModelUnusable, True), (ServiceUnavailable, False)]
)
def test_a_request_that_no_model_can_carry_out_does_not_end_every_worker(
    partition: Partition,
    monkeypatch: pytest.MonkeyPatch,
    error: type[ModelError],
    is_answered: bool,
) -> None:
    """Under a policy that stops: only while the model is away is it worth delivering it again."""
    request, _ = composed(partition)
    assert partition.writer.writer.policy.embedder_fails == "stop"
    with monkeypatch.context() as down:
        down.setattr(partition.engine, "embed", Mock(side_effect=error("no JSON")))
        with nullcontext() if is_answered else pytest.raises(ServiceUnavailable):
            refused = partition.asked(request)["refused"]
            assert refused == {"reason": "model_unusable", "detail": "no JSON"}
    assert "done" in partition.asked(request)


def test_what_no_record_can_hold_is_a_bug_too(partition: Partition) -> None:
    partition.refusal = MessageSizeTooLargeError("too large")
    assert partition.asked(retract()) == {"failed": "MessageSizeTooLargeError"}
    assert len(partition.asked(retract())["done"]["retracted"]) == COUNT


@pytest.mark.parametrize("error", [KafkaConnectionError("away"), RuntimeError("a bug in there")])
def test_what_happens_on_the_way_to_the_brokers_is_no_answer(
    partition: Partition, error: Exception
) -> None:
    """They may have it: only whoever gets the partition next finds out."""
    partition.refusal = error
    with pytest.raises(type(error)):
        partition.bring(retract())
    assert partition.taken == []


def test_a_long_request_reports_progress_and_is_left_between_two_steps_of_one_owner(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "STEPS", 4)
    request = retract()

    def end() -> None:
        partition.writer.ending = len(partition.taken) == 3

    partition.sending = end
    with pytest.raises(Interrupted):
        partition.bring(request)
    assert partition.progress_of(request) == [0, 4, 8, 12]
    assert len(partition.events()) == 12
    partition.writer.ending = False
    partition.sending = lambda: None
    done = partition.asked(request)["done"]
    assert len(done["retracted"]) == COUNT
    assert [isinstance(event, Retracted) for event in partition.events()] == [True] * COUNT


def test_a_long_dry_run_reports_progress_can_be_left_and_writes_nothing(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "STEPS", 4)
    request = retract(dry_run=True)
    assert len(partition.asked(request)["done"]["retracted"]) == COUNT
    assert partition.progress_of(request) == [0, *range(4, COUNT, 4)]
    assert partition.events() == []
    partition.writer.ending = True
    with pytest.raises(Interrupted):
        partition.bring(retract(dry_run=True))


def test_a_dry_run_of_joins_over_several_parts_says_what_the_request_then_does(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "STEPS", 1)
    selection = JoinSelection(source="made-up")
    request = ReverseRequest(request_id=str(uuid4()), selection=selection)
    shown = partition.asked(request.model_copy(update={"dry_run": True}))
    assert len(shown["done"]["reversed"]) > 1
    done = partition.asked(request)["done"]
    assert done.pop("cause") == done.pop("undo") == request.request_id
    assert done == {name: shown["done"][name] for name in done}
    assert shown["done"].keys() - done.keys() == {"joins", "asks"}, (
        "what each is, a dry run alone says"
    )


def test_another_partitions_owner_is_refused(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    [a, b, *_] = partition.writer.writer.owners.get("owner 0").ledger.entries
    monkeypatch.setattr(partition.writer, "is_mine", lambda _owner: False)
    row = '{"owner_id": "owner 0", "text": "Tea"}'
    for request in (
        SeparateRequest(request_id=str(uuid4()), a=a, b=b),
        EmbedRequest(request_id=str(uuid4()), owner_id="owner 0"),
        CheckRequest(request_id=str(uuid4()), owner_id="owner 0", row=row, source="test"),
    ):
        assert partition.asked(request)["refused"]["reason"] == "wrong_partition"


# -- requests that waited together ---------------------------------------------------------------


def separations(partition: Partition) -> list[SeparateRequest]:
    """Small requests about pairs of candidates; nobody has what the second one names."""
    memories = partition.writer.writer.owners.get("owner 0").ledger.memories()
    firsts = (memory.members[0] for memory in memories)
    a, *others = (first.id for first in firsts if first.fields.namespace == "default")
    asked = [SeparateRequest(request_id=str(uuid4()), a=a, b=b) for b in others[:6]]
    return [asked[0], SeparateRequest(request_id=str(uuid4()), a=a, b=str(uuid4())), *asked[1:]]


def body_of(request: AnyRequest) -> bytes:
    return request.model_dump_json(exclude_none=True).encode()


def expected(asked: Sequence[AnyRequest], *hows: str) -> list[tuple[str, str]]:
    return [(one.request_id, how) for one, how in zip(asked, hows, strict=True)]


def test_small_requests_that_waited_together_are_published_in_one_transaction(
    partition: Partition,
) -> None:
    asked = separations(partition)
    partition.bring_together(*map(body_of, asked))
    [(events, _, done)] = partition.taken
    assert len(events) == len(asked), "a refusal is recorded, too"
    assert [one.offset for one in done] == [len(asked) - 1]
    told = expected(asked, "done", "refused", *["done"] * 5)
    assert partition.answers() == told
    partition.bring_together(*map(body_of, asked))
    assert len(partition.taken) == 1, "they are delivered again, and were carried out"
    partition._offset = len(asked)
    partition.bring_together(*map(body_of, asked))
    assert partition.answers() == told * 2, "they are sent again"
    assert len(partition.events()) == len(asked)


def test_one_of_several_that_meets_a_bug_fails_alone(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = separations(partition)
    real = HANDLERS[SeparateRequest]

    def breaks(executor: Any, request: Any) -> Any:
        done = real(executor, request)
        if request.request_id == asked[3].request_id:
            raise ZeroDivisionError
        return done

    monkeypatch.setitem(HANDLERS, type(asked[3]), breaks)
    partition.bring_together(*map(body_of, asked))
    told = ["done", "refused", "done", "failed", "done", "done", "done"]
    assert partition.answers() == expected(asked, *told)
    assert len(partition.events()) == len(asked) - 1
    assert [one.offset for _, _, done in partition.taken for one in done] == [*range(len(asked))]


def test_of_several_that_no_transaction_can_hold_each_is_published_alone(
    partition: Partition,
) -> None:
    asked = separations(partition)
    partition.refusal = MessageSizeTooLargeError("too large")
    partition.bring_together(*map(body_of, asked))
    assert partition.answers() == expected(asked, "done", "refused", *["done"] * 5)
    assert len(partition.taken) == len(asked)


@pytest.mark.parametrize("error", [KafkaConnectionError("away"), RuntimeError("a bug in there")])
def test_several_that_the_brokers_may_have_are_not_published_again(
    partition: Partition, error: Exception
) -> None:
    partition.refusal = error
    with pytest.raises(type(error)):
        partition.bring_together(*map(body_of, separations(partition)))
    assert partition.taken == []


def test_what_cannot_be_read_keeps_its_place_among_others(partition: Partition) -> None:
    first, *others = separations(partition)
    partition.bring_together(body_of(first), b"no request", *map(body_of, others))
    assert [one.offset for _, _, done in partition.taken for one in done] == [0, 1, 1 + len(others)]
    assert partition.answers()[:2] == [(first.request_id, "done"), ("key", "usage")]
    assert len(partition.answers()) == 2 + len(others)


def test_between_two_transactions_the_rest_is_left_to_the_next_worker(
    partition: Partition,
) -> None:
    """A large request is in a transaction of its own."""
    first, second, *_ = map(body_of, separations(partition))
    policy = load_policy("standard").model_dump(mode="json")
    large = PolicyRequest(request_id=str(uuid4()), policy=policy)

    def end() -> None:
        partition.writer.ending = True

    partition.sending = end
    with pytest.raises(Interrupted):
        partition.bring_together(first, second, body_of(large))
    assert len(partition.answers()) == 2
    partition.writer.ending = False
    partition.bring_together(first, second, body_of(large))
    assert partition.answers()[2:] == [(large.request_id, "done")]


# -- the size of an answer -----------------------------------------------------------------------


@pytest.mark.parametrize("most", [200, 3_000, 10_000])
def test_of_an_answer_that_no_record_can_hold_the_ends_of_lists_are_left(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", most)
    memories = [{"members": ["x" * 300] * 5}] * 2
    done = {"reversed": list(map(str, range(999))), "memories": memories, "owners": 7}
    record = answer_record("answers", "id", Done(done))
    assert len(record.value) <= most
    told = orjson.loads(record.value)["done"]
    left_out = told.pop("left_out", {})
    for name in ("reversed", "memories"):
        kept, whole = told[name], done[name]
        assert isinstance(whole, list)
        assert kept == whole[len(whole) - len(kept) :]
        assert len(kept) + left_out.get(name, 0) == len(whole)
    assert told["owners"] == 7


def test_an_answer_that_fits_is_whole() -> None:
    answer = Done({"reversed": ["a"], "refused": []})
    assert orjson.loads(answer_record("answers", "id", answer).value) == answer.to_json()
