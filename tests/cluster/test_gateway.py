"""The gateway to a cluster: which partitions it asks, and that it waits for the effects."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any, get_args
from uuid import uuid4

import pytest

from infra.broker import free_port
from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.backends import cluster as kafka_gateway
from palimpsest.backends.cluster import ClusterWriter, events_of
from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.answers import Answer, Done, Refused
from palimpsest.contracts.commands import Access
from palimpsest.contracts.errors import RefusedError, StoreError, TransientError
from palimpsest.contracts.events import Ran, SessionEnded
from palimpsest.contracts.evidence import Evidence, Verdict
from palimpsest.contracts.requests import (
    AccessRequest,
    AddVectorsRequest,
    AnyRequest,
    CertifyRequest,
    CheckRequest,
    CombineRequest,
    ComposeRequest,
    ConfirmRequest,
    EmbedRequest,
    ForgetRequest,
    JoinSelection,
    LabelAuditRequest,
    MergeRequest,
    OpenAuditRequest,
    PolicyRequest,
    RefuseRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    RunRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    SetExpiryRequest,
    SetNamesRequest,
    SettleRequest,
    SubmitRequest,
    UndoRequest,
    UnmergeRequest,
    UpdateRequest,
    WithdrawRequest,
)
from palimpsest.jobs.ingest import to_inputs
from palimpsest.streams.cluster.client import client
from palimpsest.streams.cluster.client.client import Addressed, as_record
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import Input
from tests.stub_engine import load_stub

STORE_TIME = load_policy("store-time")
NOBODY = Connection(bootstrap="nobody:1")
TEXTS = (
    "the spare key of the boat shed hangs on the hook number four",
    "the spare key of the boat shed hangs on the hook number seven",
    "Ben has a blue car",
    "Cleo paints in the shed",
    "Dora mends old clocks",
)


class Workers:
    """Stands for the client of a cluster: executes requests in the store that follows it."""

    def __init__(self, writer: StoreWriter) -> None:
        self.asked: list[Addressed] = []
        self._writer = writer

    def ask_each(self, asked: Sequence[Addressed]) -> list[Answer]:
        self.asked += asked
        return [self._answer(request) for request, _ in asked]

    def _answer(self, request: Request) -> Answer:
        try:
            return Done(self._writer.ask(request))
        except RefusedError as error:
            return Refused(error.reason, error.detail)

    def close(self) -> None:
        """The store is its owner's to close."""


class Asking:
    """Asks a `ClusterWriter`, and checks of each answer that the store had it when it came."""

    def __init__(self, writer: ClusterWriter, workers: Workers) -> None:
        self.writer = writer
        self.reader = writer.reader
        self.workers = workers
        self.kinds: set[type[Request]] = set()

    def __call__(self, kind: type[Any], **words: Any) -> dict[str, Any]:
        request = kind(request_id=str(uuid4()), **words)
        answer: dict[str, Any] = self.writer.ask(request)
        events = events_of(request, answer)
        assert events
        assert all(self.reader.log.find(event) for event in events)
        self.kinds.add(kind)
        return answer


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Palimpsest]:
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Palimpsest.open(tmp_path, policy=STORE_TIME, wait="visible") as made:
        yield made


@pytest.fixture
def ask(
    opened: Palimpsest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[Asking]:
    monkeypatch.setattr(kafka_gateway, "FOLLOWING_SECONDS", 0.0)
    workers = Workers(opened.writer)
    with Palimpsest.open(opened.folder, cluster=NOBODY) as following:
        assert isinstance(following.writer, ClusterWriter)
        monkeypatch.setattr(following.writer, "_client", lambda: workers)
        with caplog.at_level(logging.WARNING, kafka_gateway.__name__):
            yield Asking(following.writer, workers)
    assert caplog.text == "", "what was done was shown"


def test_rows_of_a_pipe_that_pauses_are_published_at_once(
    opened: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = Event()

    class Publishing(Workers):
        def publish(self, inputs: Sequence[Input]) -> int:
            published.set()
            return len(inputs)

    def read() -> Iterator[Input]:
        yield from to_inputs([{"owner_id": "ada", "text": TEXTS[0]}], "pipe")
        assert published.wait(10), "the row was held back until more of them came"

    with Palimpsest.open(opened.folder, cluster=NOBODY) as following:
        monkeypatch.setattr(following.writer, "_client", lambda: Publishing(opened.writer))
        outcomes = [one for window in following.writer.stream(read(), {}) for one in window]
    assert [outcome.result for outcome in outcomes] == ["published"]


def test_what_every_request_did_is_shown_when_its_answer_comes(
    opened: Palimpsest, ask: Asking
) -> None:
    rows = [{"owner_id": "ada", "text": text, "session_id": "s"} for text in TEXTS]
    a, b, c, d, e = (str(outcome.candidate_id) for outcome in opened.submit(rows))
    same = Verdict(neighbour_id=a, answer="same")
    joined = ask(SettleRequest, candidate_id=b, verdicts=(same,))["decision_id"]
    ask(ConfirmRequest, decision_id=joined)
    ask(ReverseRequest, selection=JoinSelection(candidate_id=b))
    ask(ReinstateRequest, decision_id=joined)
    ask(ReverseRequest, selection=JoinSelection(candidate_id=b))
    ask(ReinstateManyRequest, selection=JoinSelection(candidate_id=b))
    ask(SeparateRequest, a=a, b=e)
    ask(WithdrawRequest, a=a, b=e)
    evidence = Evidence(policy=STORE_TIME.hash, check="dedupe")
    batch: dict[str, Any] = {"decision": "llm_merge", "evidence": evidence}
    first = ask(CombineRequest, a=b, b=c, face="keep", **batch)["decision_id"]
    composed = {"composed": "all three", "sources": (b, c, d)}
    last = ask(CombineRequest, a=c, b=d, face="text", **composed, **batch)["decision_id"]
    ask(UnmergeRequest, decision_id=first)
    ask(ComposeRequest, decision_id=last, text="two of them", sources=(c, d))
    ask(MergeRequest, a=d, b=e)
    changed = ask(UpdateRequest, memory_id=d, text="Dora mends old watches")
    ask(UndoRequest, decision_id=changed["decision_id"])
    ask(SetExpiryRequest, candidate_id=a, expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    ask(SetNamesRequest, owner_id="ada", names=("Ada", "I"))
    ask(AccessRequest, candidate_id=a)
    ask(SessionRequest, request="compact", owner_id="ada", session_id="s")
    ask(RetractRequest, selection=Selection(candidate_id=a))
    ask(RestoreRequest, selection=Selection(candidate_id=a))
    gone = ask(ForgetRequest, memory_ids=(e,), again="allow")
    ask(RestoreRequest, forgotten=gone["forgotten"])
    ask(PolicyRequest, policy=load_policy("standard").model_dump(mode="json"))
    reviewed = {"step": "review", "due": datetime.now(UTC), "figures": {"duration_ms": 1.0}}
    ask(RunRequest, owner_id="ada", **reviewed)
    union, _ = get_args(AnyRequest)
    # A check writes nothing, a key is written down before its rows, a refusal changes nothing, and
    # nobody waits until a store shows vectors that came late. Audits and another model's vectors
    # are tried in tests/conformance.
    audits = {OpenAuditRequest, LabelAuditRequest, CertifyRequest}
    others = {CheckRequest, EmbedRequest, AddVectorsRequest, SubmitRequest, RefuseRequest, *audits}
    assert ask.kinds == set(get_args(union)) - others
    everyones = {request.request for request, owner in ask.workers.asked if owner is None}
    bulk = {"reverse", "reinstate_many", "retract", "restore"}
    assert everyones == bulk | {"compact", "run", "set_names", "set_policy"}, (
        "the client knows whose these are"
    )


def test_a_dry_run_asks_no_worker(opened: Palimpsest, ask: Asking) -> None:
    [one] = opened.submit({"owner_id": "ada", "text": TEXTS[0]})
    only = Selection(candidate_id=one.candidate_id)
    request = RetractRequest(request_id=str(uuid4()), selection=only, dry_run=True)
    assert ask.writer.ask(request)["retracted"] == [one.candidate_id]
    assert ask.workers.asked == []


def test_joins_that_come_back_together_are_shown(opened: Palimpsest, ask: Asking) -> None:
    """Neither of the two comes back alone: each end was merged with one of the other's since."""
    rows = [{"owner_id": "ada", "text": text} for text in TEXTS]
    a, _, c, d, e = (str(outcome.candidate_id) for outcome in opened.submit(rows))
    for x, y in ((a, d), (c, e)):
        ask(UnmergeRequest, decision_id=ask(MergeRequest, a=x, b=y)["decision_id"])
    for x, y in ((a, c), (d, e)):
        ask(MergeRequest, a=x, b=y)
    request = ReinstateManyRequest(request_id=str(uuid4()), selection=JoinSelection(owner_id="ada"))
    first = ask.writer.ask(request)
    assert len(first["reinstated"]) == 2
    assert all(opened.reader.log.find(event) for event in first["events"])
    assert ask.writer.ask(request) == first, "delivered again, it is answered as it was"


GRIPS = [
    {"owner_id": "ada", "session_id": "s", "text": f"grip force cup table winch {other}"}
    for other in ("arm wheel", "pump crane", "plate belt")
]
"""Each two share five of nine words."""


def test_the_end_of_a_session_is_shown_with_all_that_it_led_to(
    opened: Palimpsest, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_gateway, "FOLLOWING_SECONDS", 10.0)
    opened.set_policy(load_policy("layered"))
    opened.submit(GRIPS)
    answer = ask(SessionRequest, request="end_session", owner_id="ada", session_id="s")
    assert answer["superseded_count"] == 2
    [(request, _)] = ask.workers.asked
    shown = [opened.reader.log.find(one) for one in events_of(request, answer)]
    assert [type(one.event) for one in shown if one is not None] == [SessionEnded, Ran]


def test_what_was_recalled_is_published_beside_the_candidates(
    opened: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.set_policy(load_policy("layered"))
    [grip, *_] = opened.submit(GRIPS[:1])
    published: list[Input] = []

    class Publishing(Workers):
        def publish(self, inputs: Sequence[Input]) -> int:
            published.extend(inputs)
            return len(inputs)

    with Palimpsest.open(opened.folder, cluster=NOBODY) as following:
        monkeypatch.setattr(following.writer, "_client", lambda: Publishing(opened.writer))
        assert [len(following.recall("ada", "grip")) for _ in range(2)] == [1, 1]
        assert published == [], "the answer does not wait for it"
    [said] = published
    assert isinstance(said.meaning, Access)
    assert said.meaning.uses is not None
    assert [(use.candidate_id, use.count) for use in said.meaning.uses] == [(grip.candidate_id, 2)]
    key, value = as_record(said)
    assert (key, value) == (b"ada", said.row.raw)


def test_what_several_readers_recalled_is_published_once_a_minute(
    opened: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.set_policy(load_policy("layered"))
    opened.submit(GRIPS[:1])
    published: list[Input] = []

    class Publishing(Workers):
        up = True

        def publish(self, inputs: Sequence[Input]) -> int:
            if not self.up:
                raise TransientError("no broker answers")
            published.extend(inputs)
            return len(inputs)

    workers = Publishing(opened.writer)

    def recall_once() -> None:
        with Palimpsest.open(opened.folder, cluster=NOBODY) as reader:
            monkeypatch.setattr(reader.writer, "_client", lambda: workers)
            assert reader.recall("ada", "grip")

    def a_minute_later() -> None:
        with closing(sqlite3.connect(opened.folder / "log.sqlite")) as log, log:
            log.execute("UPDATE inbox SET answered_at = answered_at - 61")

    for _ in range(3):
        recall_once()
    assert counts(published) == [1], "the others are not a minute old"
    a_minute_later()
    workers.up = False
    recall_once()
    assert counts(published) == [1]
    workers.up = True
    a_minute_later()
    recall_once()
    assert counts(published) == [1, 4], "nothing is lost, nothing is told twice"


def counts(published: Sequence[Input]) -> list[int]:
    """How often each message says that the memory was used."""
    words = [one.meaning for one in published]
    return [use.count for word in words if isinstance(word, Access) for use in word.uses or ()]


def test_a_refusal_is_raised_or_returned(opened: Palimpsest, ask: Asking) -> None:
    [one] = opened.submit({"owner_id": "ada", "text": TEXTS[0]})
    request = AccessRequest(request_id=str(uuid4()), candidate_id=str(one.candidate_id))
    nobody = request.model_copy(update={"candidate_id": "nobody", "request_id": str(uuid4())})
    done, refused = ask.writer.ask_each([request, nobody])
    assert not isinstance(done, RefusedError)
    assert isinstance(refused, RefusedError)
    assert refused.reason == "unknown_candidate"
    with pytest.raises(RefusedError, match="nothing here has the id"):
        ask.writer.ask(nobody)
    assert ask.writer.ask_each([]) == []
    assert [owner for _, owner in ask.workers.asked] == ["ada", None, None]


def test_only_the_owners_partition_is_asked(
    connection: Connection, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody answers here, and the error names the address that was asked."""
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.0)
    request = AccessRequest(request_id=str(uuid4()), candidate_id="somebody's")

    async def waited_for(owner_id: str | None) -> str:
        asking = client.Client(connection, topics)
        await asking.start()
        try:
            with pytest.raises(TransientError) as unanswered:
                await asking.ask_each([(request, owner_id)])
        finally:
            await asking.stop()
        return str(unanswered.value)

    everybody, one = asyncio.run(waited_for(None)), asyncio.run(waited_for("ada"))
    assert "partitions [0, 1, 2, 3]" in everybody
    assert f"partitions [{partition_of('ada', topics.partitions)}]" in one


def test_where_nobody_follows_it_says_who_would(tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    advice = f"palimpsest --store {folder} project"
    with pytest.raises(StoreError, match=advice):
        Palimpsest.open(folder, create=False, cluster=NOBODY)
    with Palimpsest.open(folder, cluster=NOBODY) as saying:
        for read in (saying.status, lambda: saying.sql("FROM memories"), saying.decisions):
            with pytest.raises(StoreError, match=advice):
                read()
        assert saying.behind() is None
    assert not folder.exists()


def test_an_empty_store_that_follows_nothing_is_no_answer(tmp_path: Path) -> None:
    Palimpsest.open(tmp_path).close()
    with (
        Palimpsest.open(tmp_path, create=False, cluster=NOBODY) as reading,
        pytest.raises(StoreError, match="project"),
    ):
        reading.status()


def test_what_it_is_behind_is_not_known_without_brokers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All that can be read is read all the same."""
    with Log.create(tmp_path / LOG_FILE) as log, log.transaction():
        log.execute("INSERT INTO followed VALUES (?, 0, 'topic', 7)", ("memory.decisions",))
    nobody = Connection(bootstrap=f"127.0.0.1:{free_port()}")
    with Palimpsest.open(tmp_path, create=False, cluster=nobody) as reading:
        assert reading.status()["behind"] is None
    assert "it is unknown how far the store is behind the cluster" in caplog.text
