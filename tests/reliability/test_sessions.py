"""In one process: what an interrupt, a bug or another writer leaves is made good at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Timer
from unittest.mock import Mock
from uuid import uuid4

import orjson
import pytest

from palimpsest.api.store import Palimpsest
from palimpsest.backends import reader as store_reader
from palimpsest.backends import upkeep
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.reader import Reader, Wait
from palimpsest.contracts.errors import InvalidInputError, ModelError, RefusedError
from palimpsest.contracts.events import PolicySet
from palimpsest.contracts.identity import digest
from palimpsest.contracts.requests import ConfirmRequest, Selection
from palimpsest.jobs.ingest import to_inputs
from palimpsest.projections.live import LiveProjections
from palimpsest.streams.embedded import session as sessions
from palimpsest.streams.embedded.inbox import Inbox, pack
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.embedded.pipeline import decide_all
from palimpsest.streams.embedded.session import WriterSession
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.dead_letters import DeadLetters, Headers, NewDeadLetter
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import Input
from tests.reliability.rows import rows
from tests.stub_engine import StubEngine


def opened(folder: Path, wait: Wait = "durable") -> Palimpsest:
    """The store with the stub engine, as one process has it."""
    folder.mkdir(exist_ok=True)
    log = Log.create(folder / LOG_FILE)
    reader = Reader(folder, log, load_policy("standard"), lambda: Embedder(StubEngine()), wait)
    return Palimpsest(folder, EmbeddedWriter(reader))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Palimpsest]:
    with opened(tmp_path / "store") as made:
        yield made


def with_effect(monkeypatch: pytest.MonkeyPatch, effect: Callable[[str], None]) -> None:
    """Make sessions opened from now on call this before each effect."""
    monkeypatch.setattr(store_reader, "WriterSession", partial(WriterSession, effect=effect))
    monkeypatch.setattr(upkeep, "LiveProjections", partial(LiveProjections, effect=effect))


def interrupting(name: str, number: int) -> Callable[[str], None]:
    """Ctrl-C at the n-th effect of this name."""
    seen: Counter[str] = Counter()

    def effect(what: str) -> None:
        seen[what] += 1
        if what == name and seen[what] == number:
            raise KeyboardInterrupt

    return effect


def sound(store: Palimpsest) -> bool:
    return bool(store.verify()["differences"] == 0)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_interrupt_between_a_commit_and_its_rows_leaves_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with_effect(monkeypatch, interrupting("log:committed", number))
    with opened(tmp_path / "store") as store:
        done = 0
        for part in (rows(10), rows(20), rows(30)):
            try:
                store.submit(part)
            except KeyboardInterrupt:
                done += 1
        assert done == 1
        store.submit(rows(40))
        assert store.status()["candidates"] == 40
        assert sound(store)


def test_an_interrupt_inside_one_stream_leaves_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session goes on to serve others before it lets the lock go."""
    with_effect(monkeypatch, interrupting("log:committed", 1))
    with opened(tmp_path / "store") as store, store.reader.upkeep.writing() as session:
        assert session is not None
        with pytest.raises(KeyboardInterrupt):
            decide_all(session.writer, to_inputs(rows(10), "test"))
        decide_all(session.writer, to_inputs(rows(20), "test"))
        store.reader.refresh()
        assert store.reader.positions() == dict.fromkeys(
            ("lancedb", "duckdb"), store.reader.log.head()
        )
        assert store.sql("SELECT count(*) AS n FROM decisions")[0]["n"] == 20


def test_who_brings_many_requests_decides_on_nobody_elses_candidates(tmp_path: Path) -> None:
    """A verifier, say: it may have no model to decide with."""
    with opened(tmp_path / "store") as store:
        inbox = Inbox(store.reader.log)
        inbox.put("candidates", "inbox", pack(to_inputs(rows(2), "test"), {}))
        nobodys = str(uuid4())
        request = ConfirmRequest(request_id=str(uuid4()), decision_id=nobodys)
        [refused] = store.writer.ask_each([request])
        assert isinstance(refused, RefusedError)
        assert len(inbox.waiting(9)) == 1
        store.writer.serve_left()
        assert len(inbox.waiting(9)) == 0


def test_what_another_process_left_fails_no_call_of_one_that_has_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A request behind it is served, and so is it once there is a model; no text is logged."""
    with opened(tmp_path / "store") as store:
        one = str(store.submit(rows(3))[0].candidate_id)
        inbox = Inbox(store.reader.log)
        with monkeypatch.context() as down:
            down.setattr(StubEngine, "embed", Mock(side_effect=ModelError("no model")))
            new = {"owner_id": "owner 0", "text": "no other has this text"}
            inbox.put("candidates", "inbox", pack(to_inputs([new], "test"), {}))
            request = ConfirmRequest(request_id=str(uuid4()), decision_id=str(uuid4()))
            inbox.put("request", "inbox", request.model_dump_json(exclude_none=True).encode())
            assert store.status()["candidates"] == 3
            assert [item.kind for item in inbox.waiting(9)] == ["candidates"]
            assert store.retract(Selection(candidate_id=one))["retracted"] == [one]
            assert store.sql("SELECT count(*) AS n FROM decisions")[0]["n"] == 3
            with pytest.raises(ModelError):
                store.submit([new])
            body = request.model_dump_json(exclude_none=True).encode()
            assert isinstance(store.writer, EmbeddedWriter)
            [answer] = store.writer._answers_to([inbox.put("request", "inbox", body)])
            assert answer["refused"]["reason"] == "unknown_decision"
        assert store.status()["candidates"] == 4
        assert inbox.waiting(9) == []
    assert "no model" in caplog.text
    assert "no other" not in caplog.text


def test_a_store_that_is_open_twice_records_its_policy_once(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as early, opened(tmp_path / "store") as other:
        early.status()
        other.submit(rows(3))
        early.submit(rows(6))
        other.submit(rows(9))
        early.wait_for(other.position)
        assert early.status()["candidates"] == 9
        events = [recorded.event for recorded in early.reader.log.after(0)]
        assert [isinstance(event, PolicySet) for event in events].count(True) == 1
        assert sound(early)
        assert sound(other)


def test_sums_of_large_memories_follow_what_others_did(tmp_path: Path) -> None:
    """A large memory's count is kept between commits; another process took members out of it."""
    text = "Ada paints wooden boats in the harbour"
    members = [{"owner_id": "ann", "id": str(n), "text": text} for n in range(80)]
    with opened(tmp_path / "store") as one, opened(tmp_path / "store") as other:
        one.submit(members)
        one.submit({"owner_id": "ann", "id": "x", "text": text})
        third = one.submit(members[2])[0].candidate_id
        other.retract(Selection(candidate_id=third))
        one.submit({"owner_id": "ann", "id": "y", "text": text})
        assert sound(one)


def merge_request(request_id: str) -> bytes:
    return orjson.dumps({"request": "merge", "request_id": request_id, "a": "a", "b": "b"})


def test_an_item_that_meets_a_bug_is_answered_and_the_rest_goes_on(store: Palimpsest) -> None:
    store.submit(rows(3))
    inbox = Inbox(store.reader.log)
    broken = inbox.put("candidates", "inbox", b"not what we pack")
    unread = inbox.put("request", "inbox", b'{"request": "nothing"}')
    no_uuid = inbox.put("request", "inbox", merge_request("no uuid"))
    refused = inbox.put("request", "inbox", merge_request(str(uuid4())))
    store.submit(rows(6))
    answers = [inbox.take_answers([item]).get(item) for item in (broken, unread, no_uuid, refused)]
    assert [answer is not None and answer[:9] for answer in answers] == [
        b'{"failed"',
        b'{"usage":',
        b'{"usage":',
        b'{"refused',
    ]
    assert len(inbox.waiting(9)) == 0
    assert sound(store)


def test_a_bug_is_reported_to_the_process_that_left_the_item(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "unpack", lambda _: 1 / 0)
    writer = store.writer
    assert isinstance(writer, EmbeddedWriter)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        writer._send_window((), {})


def test_a_retry_through_the_inbox_is_read_with_its_renames(store: Palimpsest) -> None:
    """Another process holds the lock at first: it reads the rows again, from their bytes."""
    with pytest.warns(UserWarning, match="content"):
        store.submit({"owner_id": "ann", "content": "a text of theirs"}, invalid="collect")
    store.status()
    lock = WriterLock(store.folder)
    assert lock.try_acquire()
    Timer(0.2, lock.release).start()
    assert store.retry_dead_letters(mapping={"content": "text"}).decisions == {"stored": 1}


EVENT = (
    ("ce_specversion", b"1.0"),
    ("ce_type", b"palimpsest.candidate.v1"),
    ("ce_source", b"test"),
    ("ce_id", b"1"),
)


def test_rows_of_a_pipe_that_pauses_are_decided_on_though_another_wrote_when_it_began(
    store: Palimpsest,
) -> None:
    lock = WriterLock(store.folder)
    assert lock.try_acquire()
    decided = Event()

    def read() -> Iterator[Input]:
        yield from to_inputs(rows(1), "pipe")
        assert decided.wait(10), "the row was held back until more of them came"

    Timer(0.2, lock.release).start()
    for _ in store.writer.stream(read(), {}):
        decided.set()
    assert store.status()["candidates"] == 1


@pytest.mark.parametrize(
    ("headers", "more", "decisions"),
    [(EVENT, 0, {"stored": 1}), (EVENT[:3], 0, {}), (EVENT, 1, {}), ((), 1, {})],
    ids=["whole", "without its id", "cut short", "a row cut short"],
)
def test_a_retry_reads_a_record_with_its_headers(
    store: Palimpsest, headers: Headers, more: int, decisions: dict[str, int]
) -> None:
    """What is as wrong as it was stays as it is, and is not a new letter."""
    body = b'{"owner_id": "ann", "text": "Ann sings."}'
    error = InvalidInputError("wrong_partition", "elsewhere")
    came = "7", body, error, "memory.candidates/0/1", datetime.now(UTC)
    log = store.reader.log
    with log.transaction():
        size = len(body) + more
        DeadLetters(log).follow(NewDeadLetter(*came, digest(body), size, headers))
    assert store.retry_dead_letters().decisions == decisions
    [letter] = store.dead_letters()
    assert letter["state"] == ("retried" if decisions else "open")
    shown, _ = store.dead_letter("7")
    assert [(header["name"], header["text"]) for header in shown["headers"]] == [
        (name, (value or b"").decode()) for name, value in headers
    ]


def test_the_same_rows_again_leave_every_count_the_same(store: Palimpsest) -> None:
    store.submit(rows(60))
    before = store.status()
    for row in rows(60):
        store.submit(row)
    assert store.status() == before


def test_answers_that_nobody_fetches_do_not_stay_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "store", wait="visible") as store:
        inbox = Inbox(store.reader.log)
        inbox.put("request", "inbox", b"whoever asked this dies")
        store.submit(rows(1))
        count = "SELECT count(*) FROM inbox"
        store.submit(rows(2))
        assert store.reader.log.row(count) == (1,)
        monkeypatch.setattr(sessions, "KEPT", timedelta(0))
        store.submit(rows(3))
        assert store.reader.log.row(count) == (0,)
