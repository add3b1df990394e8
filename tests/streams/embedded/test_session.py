"""Who holds the lock first catches up, then serves what others left; a bug is an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest

from palimpsest.contracts.answers import Done, Failed, Misused, from_json
from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.contracts.events import Accessed, AnyEvent
from palimpsest.contracts.requests import PolicyRequest
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedded.inbox import Inbox, pack, unpack
from palimpsest.streams.embedded.session import KEPT, WriterSession
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import Input
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import PendingRequest, serve
from tests.streams.write.runtime import inputs
from tests.streams.write.test_uses import TEA, candidate_row, used
from tests.stub_engine import StubEngine

UNPACK = "palimpsest.streams.embedded.session.unpack"


class Following:
    """In place of projections: it counts how often it caught up."""

    begun = False
    caught_up = 0

    def begin(self) -> None:
        self.begun = True
        self.caught_up += 1

    def follow(self, done: Sequence[tuple[int, AnyEvent, Touched]]) -> None:
        """All of it is there already."""


class Held(WriterSession):
    """A session on a log, with what it has to do with."""

    def __init__(self, path: Path) -> None:
        self.log = Log.create(path)
        self.inbox = Inbox(self.log)
        self.following = Following()
        self.now = datetime.now(UTC)
        self.embedder = Embedder(StubEngine())
        policy = load_policy("standard")
        super().__init__(
            self.log,
            Owners(self.log),
            policy,
            lambda: self.embedder,
            lambda: self.now,
            self.following,
        )

    def leave(self, text: str) -> int:
        """A candidate of another process."""
        said = inputs([{"owner_id": "ann", "text": text, "id": text}])
        return self.inbox.put("candidates", "test", pack(said, {}))

    def answer_to(self, item: int) -> Any:
        found = self.inbox.take_answers([item]).get(item)
        return None if found is None else orjson.loads(found)

    def close(self) -> None:
        self.embedder.close()
        self.log.close()


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    session = Held(tmp_path / "log.sqlite")
    yield session
    session.close()


@pytest.fixture
def other(held: Held) -> Iterator[Held]:
    """A session of another process, on the same log."""
    session = Held(Path(held.log.path))
    yield session
    session.close()


# -- it catches up ---------------------------------------------------------------------------------


def test_it_catches_up_once_as_long_as_nobody_else_can_have_written(held: Held) -> None:
    held.begin()
    held.begin()
    assert held.following.caught_up == 1
    held.following.begun = False
    held.begin()
    assert held.following.caught_up == 2


def test_what_others_wrote_and_the_policy_that_they_set_hold(held: Held, other: Held) -> None:
    held.leave("Ann rows")
    held.serve_all()
    other.leave("Ann paints")
    other.serve_all()
    stricter = load_policy("layered")
    request = PolicyRequest(request_id=str(uuid4()), policy=stricter.model_dump(mode="json"))
    serve(other.writer, [PendingRequest(request)])
    held.begin()
    assert held.writer.policy.hash == stricter.hash
    ledger = held.writer.owners.loaded("ann")
    assert ledger is not None
    assert [entry.text for entry in ledger.entries.values()] == ["Ann rows", "Ann paints"]


@pytest.mark.parametrize(("late", "there"), [(timedelta(), True), (KEPT + KEPT, False)])
def test_an_answer_waits_a_day_for_who_asked(held: Held, late: timedelta, there: bool) -> None:
    item = held.leave("Ann rows")
    held.serve_all()
    held.now += late
    held.begin()
    assert (held.answer_to(item) is not None) == there


# -- it serves -------------------------------------------------------------------------------------


def test_a_bug_in_one_item_is_its_answer_and_names_no_text(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = held.leave("Ann has a secret"), held.leave("Ann rows")

    def hits_a_bug(body: bytes) -> list[Input]:
        found = unpack(body)
        if b"secret" in found[0].row.raw:
            raise ValueError("Ann has a secret")
        return found

    monkeypatch.setattr(UNPACK, hits_a_bug)
    held.serve_all()
    assert from_json(held.answer_to(first)) == Failed("ValueError")
    assert isinstance(held.answer_to(second), list)


@pytest.mark.parametrize(
    "error", [StoreError("the disk is full"), TransientError("locked"), OSError("unplugged")]
)
def test_where_the_store_fails_nothing_is_answered_and_all_waits(
    held: Held, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    item = held.leave("Ann rows")

    def fails(_body: bytes) -> object:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(UNPACK, fails)
        with pytest.raises(type(error)):
            held.serve_all()
    assert held.answer_to(item) is None
    held.serve_all()
    assert isinstance(held.answer_to(item), list)


def test_what_is_no_request_is_told_so_and_the_next_is_served(held: Held) -> None:
    bad = held.inbox.put("request", "test", b"{}")
    held.serve_all()
    refused = from_json(held.answer_to(bad))
    assert isinstance(refused, Misused)
    assert refused.detail.startswith("not a request: ")
    bad, good = (held.inbox.put("request", "test", body) for body in (b"?", policy_request()))
    held.serve_all()
    assert isinstance(from_json(held.answer_to(bad)), Misused)
    assert isinstance(from_json(held.answer_to(good)), Done)


def policy_request() -> bytes:
    rules = load_policy("layered").model_dump(mode="json")
    request = PolicyRequest(request_id=str(uuid4()), policy=rules)
    return request.model_dump_json().encode()


def test_gathered_uses_of_several_processes_are_one_event_or_wait_together(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.inbox.put("candidates", "test", pack(inputs([candidate_row("tea")]), {}))
    held.serve_all()
    for reader in "ab":
        held.inbox.put("uses", "ann", used(reader, held.now, tea=1))

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(held.writer, "commit", full)
        with pytest.raises(StoreError):
            held.serve()
    assert len(held.inbox.uses()) == 2
    held.serve()
    assert held.inbox.uses() == []
    events = [one.event for one in held.log.of_owner("ann")]
    [event] = [event for event in events if isinstance(event, Accessed)]
    assert [(use.candidate_id, use.count) for use in event.data.uses or ()] == [(TEA, 2)]
