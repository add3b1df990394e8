"""What could not be read is kept byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.identity import digest, invalid_id
from palimpsest.streams.log.dead_letters import CHUNK, DeadLetter, DeadLetters, NewDeadLetter
from palimpsest.streams.log.log import Log

AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
ERROR = InvalidInputError("not_json", "unexpected end of data (at character 3)")


@pytest.fixture
def dead_letters(tmp_path: Path) -> Iterator[DeadLetters]:
    with Log.create(tmp_path / "log.sqlite") as log:
        yield DeadLetters(log)


def letter(letter_id: str, data: bytes, error: InvalidInputError) -> NewDeadLetter:
    return NewDeadLetter(letter_id, data, error, "a.jsonl", AT, digest(data), len(data))


def add(dead_letters: DeadLetters, *inputs: bytes, error: InvalidInputError = ERROR) -> list[str]:
    ids = [invalid_id(digest(data)) for data in inputs]
    with dead_letters._database.transaction():
        for letter_id, data in zip(ids, inputs, strict=True):
            dead_letters.add(letter(letter_id, data, error))
    return ids


@pytest.mark.parametrize("data", [b"", b"\x00\xff\xfe", b'{"text": "a', "ö".encode() * 100_000])
def test_the_original_bytes_are_kept(dead_letters: DeadLetters, data: bytes) -> None:
    (letter_id,) = add(dead_letters, data)
    assert dead_letters.original(letter_id) == data
    assert dead_letters.get(letter_id) == DeadLetter(
        id=letter_id,
        digest=digest(data),
        size=len(data),
        reason=ERROR.reason,
        detail=ERROR.detail,
        origin="a.jsonl",
        at=AT,
        state="open",
        times=1,
    )


def test_the_same_bytes_are_kept_once_as_they_first_came(dead_letters: DeadLetters) -> None:
    (first,) = add(dead_letters, b"{")
    add(dead_letters, b"{", error=InvalidInputError("field", "another"))
    assert [(one.id, one.reason) for one in dead_letters.all()] == [(first, "not_json")]


def test_those_of_an_earlier_version_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with Log.create(path) as log:
        [letter_id] = add(DeadLetters(log), b"{")
        for column in ("size", "headers", "times"):
            log.execute(f"ALTER TABLE dead_letters DROP COLUMN {column}")
        log.execute("PRAGMA user_version=3")
    for _ in range(2):
        with Log.open(path) as log:
            dead_letters = DeadLetters(log)
            told = dead_letters.get(letter_id)
            assert told is not None
            assert (told.size, told.times, dead_letters.headers(letter_id)) == (1, 1, ())


def test_those_of_the_version_that_measured_them_first_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    cut = NewDeadLetter("1", b"{", ERROR, "topic/0/1", AT, digest(b"{ and more"), 10)
    with Log.create(path) as log:
        with log.transaction():
            DeadLetters(log).follow(cut)
        log.execute("PRAGMA user_version=4")
    with Log.open(path) as log:
        [letter] = DeadLetters(log).all()
        assert (letter.id, letter.size) == ("1", 10)


def test_those_of_a_topic_are_counted_and_have_what_the_first_came_with(
    dead_letters: DeadLetters,
) -> None:
    """Of very many bytes the first are there: what is told of them is of all."""
    headers = (("trace", b"\xff"), ("trace", b""), ("nothing", None))
    first = NewDeadLetter("1", b"{", ERROR, "topic/0/1", AT, digest(b"{ and more"), 10, headers)
    with dead_letters._database.transaction():
        dead_letters.follow(first)
        dead_letters.follow(replace(first, origin="topic/0/2", headers=()))
        dead_letters.follow(replace(first, id="2"))
    [one, other] = dead_letters.all()
    assert (one.times, one.size, one.digest) == (2, 10, digest(b"{ and more"))
    assert (one.origin, dead_letters.headers("1")) == ("topic/0/1", headers)
    assert other.times == 1


def test_a_letter_that_is_not_there(dead_letters: DeadLetters) -> None:
    assert dead_letters.get("no id") is None
    assert dead_letters.original("no id") is None
    assert dead_letters.headers("no id") == ()


def test_dead_letters_are_listed_by_state_in_order(dead_letters: DeadLetters) -> None:
    ids = add(dead_letters, *(str(n).encode() for n in range(CHUNK + 5)))
    with dead_letters._database.transaction():
        dead_letters.mark(ids[3], "retried")
    assert [one.id for one in dead_letters.all()] == ids
    assert [one.id for one in dead_letters.all("retried")] == [ids[3]]
    assert [one.id for one in dead_letters.all("open")] == [*ids[:3], *ids[4:]]
    counts = [dead_letters.count(), dead_letters.count("open"), dead_letters.count("retried")]
    assert counts == [CHUNK + 5, CHUNK + 4, 1]


def test_adding_and_marking_outside_a_transaction_is_a_bug(dead_letters: DeadLetters) -> None:
    with pytest.raises(RuntimeError):
        dead_letters.add(letter("id", b"", ERROR))
    with pytest.raises(RuntimeError):
        dead_letters.mark("id", "retried")
