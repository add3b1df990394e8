"""What is put into the inbox is answered once, and the answer comes with its effect."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from palimpsest.contracts.answers import Done, Failed
from palimpsest.contracts.errors import InvalidInputError, StoreError
from palimpsest.contracts.events import Accessed
from palimpsest.streams.embedded.inbox import (
    Inbox,
    Item,
    gathered_uses,
    outcomes_of,
    pack,
    unpack,
)
from palimpsest.streams.intake import Prepared, RawRow, understand
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.inputs import Input, Outcome, Submission

ROOT = Path(__file__).parents[3]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.create(tmp_path / "log.sqlite") as made:
        yield made


@pytest.fixture
def inbox(log: Log) -> Inbox:
    return Inbox(log)


def answer(log: Log, item_id: int, body: bytes) -> None:
    with log.transaction():
        Inbox(log).answer(item_id, body)


def test_items_wait_in_the_order_in_which_they_came(inbox: Inbox) -> None:
    first = inbox.put("candidates", "a.jsonl", b"\x00\xff")
    second = inbox.put("request", "cli", b"{}")
    assert inbox.waiting(10) == [
        Item(first, "candidates", "a.jsonl", b"\x00\xff"),
        Item(second, "request", "cli", b"{}"),
    ]
    assert inbox.waiting(1) == inbox.waiting(10)[:1]
    assert inbox.waiting(10, after=first) == inbox.waiting(10)[1:]
    assert len(inbox.waiting(9)) == 2


def test_an_answer_is_taken_once(log: Log, inbox: Inbox) -> None:
    item = inbox.put("request", "cli", b"?")
    assert inbox.take_answers([item]).get(item) is None
    answer(log, item, b"!")
    assert inbox.waiting(10) == []
    assert inbox.take_answers([item]).get(item) == b"!"
    assert inbox.take_answers([item]).get(item) is None


def test_what_is_not_answered_yet_stays_when_other_answers_are_taken(
    log: Log, inbox: Inbox
) -> None:
    first, second, third = inbox.put_each("request", "cli", (b"1", b"2", b"3"))
    answer(log, second, b"!")
    assert inbox.take_answers((first, second, third)) == {second: b"!"}
    assert [item.id for item in inbox.waiting(10)] == [first, third]


def test_an_empty_answer_is_one(log: Log, inbox: Inbox) -> None:
    item = inbox.put("request", "cli", b"?")
    answer(log, item, b"")
    assert inbox.take_answers([item]).get(item) == b""


def test_what_was_answered_keeps_no_text_until_its_answer_is_fetched(
    log: Log, inbox: Inbox
) -> None:
    items = [inbox.put("candidates", "a.jsonl", body) for body in (b"Ada moved", b"Ben stays")]
    answer(log, items[0], b"!")
    bodies: dict[int, bytes] = dict(log.rows("SELECT id, body FROM inbox"))
    assert bodies == {items[0]: b"", items[1]: b"Ben stays"}


def test_the_id_of_an_item_is_never_given_again(log: Log, inbox: Inbox) -> None:
    first = inbox.put("request", "cli", b"?")
    answer(log, first, b"!")
    inbox.take_answers([first]).get(first)
    assert inbox.put("request", "cli", b"?") > first


def test_an_answer_whose_transaction_failed_was_not_given(log: Log, inbox: Inbox) -> None:
    item = inbox.put("request", "cli", b"?")

    def failing() -> None:
        with log.transaction():
            inbox.answer(item, b"!")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    assert inbox.take_answers([item]).get(item) is None
    assert inbox.waiting(1)[0].body == b"?"


def test_answering_outside_a_transaction_is_a_bug(inbox: Inbox) -> None:
    with pytest.raises(RuntimeError):
        inbox.answer(inbox.put("request", "cli", b"?"), b"!")


def test_answers_that_nobody_fetched_are_forgotten(log: Log, inbox: Inbox) -> None:
    old = inbox.put("request", "cli", b"?")
    waiting = inbox.put("request", "cli", b"?")
    answer(log, old, b"!")
    assert inbox.forget(datetime.now(UTC) - timedelta(hours=1)) == 0
    assert inbox.forget(datetime.now(UTC) + timedelta(hours=1)) == 1
    assert inbox.take_answers([old]).get(old) is None
    assert [item.id for item in inbox.waiting(10)] == [waiting]


USED = {
    "specversion": "1.0",
    "type": Accessed.type,
    "id": "5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22",
    "source": "recall",
    "data": {"owner_id": "ada", "candidate_id": "0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"},
}


def test_gathered_uses_wait_apart_and_are_taken_once_a_minute(log: Log, inbox: Inbox) -> None:
    inbox.put("uses", "ada", b"1")
    request = inbox.put("request", "cli", b"?")
    inbox.put("uses", "bob", b"2")
    inbox.put("uses", "ada", b"3")
    assert [item.id for item in inbox.waiting(10)] == [request]
    assert len(inbox.waiting(9)) == 1
    assert [(item.origin, item.body) for item in inbox.uses()] == [
        ("ada", b"1"),
        ("bob", b"2"),
        ("ada", b"3"),
    ]
    assert inbox.take_uses() == {"ada": [b"1", b"3"], "bob": [b"2"]}
    assert inbox.uses() == []
    inbox.put("uses", "ada", b"4")
    inbox.put("uses", "eve", b"5")
    assert inbox.take_uses() == {"eve": [b"5"]}, "ada's last are not a minute old"
    with log.transaction():
        log.execute("UPDATE inbox SET answered_at = answered_at - 60 WHERE kind = 'uses'")
    assert inbox.take_uses() == {"ada": [b"4"]}
    assert log.row("SELECT count(*) FROM inbox WHERE kind = 'uses'") == (1,)


def test_uses_are_taken_after_the_clock_went_back(log: Log, inbox: Inbox) -> None:
    inbox.put("uses", "ada", b"1")
    assert inbox.take_uses() == {"ada": [b"1"]}
    inbox.put("uses", "ada", b"2")
    with log.transaction():
        log.execute("UPDATE inbox SET answered_at = answered_at + 3600 WHERE body = x''")
    assert inbox.take_uses() == {"ada": [b"2"]}


def test_taking_uses_leaves_the_answers_of_others_alone(log: Log, inbox: Inbox) -> None:
    asked = inbox.put("request", "ada", b"?")
    answer(log, asked, b"!")
    inbox.put("uses", "ada", b"1")
    assert inbox.take_uses() == {"ada": [b"1"]}, "a request of that name is no use"
    with log.transaction():
        log.execute("UPDATE inbox SET answered_at = answered_at - 60")
    assert inbox.take_uses() == {}
    assert inbox.take_answers([asked]).get(asked) == b"!"


def test_notices_of_uses_are_kept_in_a_transaction_alone(log: Log, inbox: Inbox) -> None:
    row = RawRow(orjson.dumps(USED), "a.jsonl")
    used = Input(row, understand(row))
    with pytest.raises(RuntimeError):
        inbox.keep_uses([used])
    with log.transaction():
        inbox.keep_uses([used])
    [kept] = inbox.uses()
    assert (kept.origin, kept.body) == ("ada", row.raw)
    [access] = gathered_uses([kept.body, b'{"owner_id": "ada", "text": "Ada sings."}'])
    assert access == used.meaning


def test_inputs_arrive_as_they_were_sent_and_are_read_here() -> None:
    rows = [
        RawRow(b'{"user": "ada", "text": "Ada sings."}', "a.jsonl", 2, "r"),
        RawRow(b"\x00\xff", "b.jsonl"),
    ]
    renames = {"user": "owner_id"}
    asked = (None, Submission("8ad2f2f8-6a0f-4c54-9d0b-0d5bd2f0a3a1", "0" * 32, 1))
    unread = InvalidInputError("field", "not believed")
    sent = [Input(row, unread, one) for row, one in zip(rows, asked, strict=True)]
    first, second = unpack(pack(sent, renames))
    assert (first.submission, second.submission) == asked
    assert [first.row, second.row] == rows
    meant = understand(rows[0], renames)
    assert isinstance(meant, Prepared)
    assert first.meaning == meant
    assert isinstance(second.meaning, InvalidInputError)
    assert second.meaning.reason == "not_utf8"


def test_an_answer_about_candidates_has_their_outcomes_or_says_what_went_wrong() -> None:
    assert outcomes_of([{"result": "known", "candidate_id": "a"}]) == [
        Outcome(result="known", candidate_id="a")
    ]
    with pytest.raises(RuntimeError):
        outcomes_of(Failed("ValueError").to_json())
    with pytest.raises(StoreError, match="cannot be read"):
        outcomes_of(Done({}).to_json())


ASKING = """
import sys, time
from pathlib import Path
from palimpsest.streams.embedded.inbox import Inbox
from palimpsest.streams.log.log import Log
with Log.open(Path(sys.argv[1])) as log:
    inbox = Inbox(log)
    for number in range(10):
        asked = f"{sys.argv[2]} {number}".encode()
        item = inbox.put("request", "test", asked)
        while (answer := inbox.take_answers([item]).get(item)) is None:
            time.sleep(0.002)
        assert answer == b"re: " + asked
"""


def test_many_processes_ask_and_each_gets_its_own_answers(log: Log, inbox: Inbox) -> None:
    asking = [
        subprocess.Popen([sys.executable, "-c", ASKING, log.path, name], cwd=ROOT)
        for name in ("ann", "bob")
    ]
    while any(one.poll() is None for one in asking):
        with log.transaction():
            for item in inbox.waiting(5):
                inbox.answer(item.id, b"re: " + item.body)
    assert [one.wait() for one in asking] == [0, 0]
    assert log.row("SELECT count(*) FROM inbox") == (0,)
