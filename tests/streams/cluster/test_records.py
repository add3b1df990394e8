"""What a record of the candidates' topic means to the writer of its partition."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from palimpsest.contracts.answers import Answer, Done, Failed, Misused, Refused, SoFar, merged
from palimpsest.contracts.commands import EndSession
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.identity import digest
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster import records
from palimpsest.streams.cluster.client.import_log import _belongs, _policy_records
from palimpsest.streams.cluster.records import (
    POLICY_KEY,
    Record,
    answer_record,
    dead_letter,
    dead_letter_of,
    dead_letter_record,
    decision_record,
    done_with,
    inputs_done,
    policy_record,
    read,
    rejected_for,
)
from palimpsest.streams.cluster.topics import DAY, LARGEST, TOPICS, Topics, partition_of
from palimpsest.streams.core.record import policy_event
from palimpsest.streams.intake import Prepared
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.inputs import Outcome
from tests.reliability.rows import BROKEN
from tests.streams.core.spec import BEGIN, PLAIN, given, say

TOPIC = "memory.candidates"


def meaning(offset: int, **fields: str) -> Prepared:
    value = orjson.dumps({"owner_id": "ada", "text": "Ada lives in Berlin"} | fields)
    found = read(Record(TOPIC, 0, offset, value), TOPIC, partitions=1).meaning
    assert isinstance(found, Prepared)
    return found


def test_a_bare_row_is_a_new_saying_at_each_offset_and_the_same_when_it_is_read_again() -> None:
    assert meaning(4) == meaning(4)
    assert meaning(4).candidate_id != meaning(5).candidate_id


def test_a_row_with_an_id_is_the_same_candidate_at_each_offset() -> None:
    assert meaning(4, id="1") == meaning(5, id="1")


def test_of_partitions_numbers_and_lists_are_put_together_and_all_else_is_the_same() -> None:
    one = {"reversed": ["a"], "owners": 1, "changed": True, "left_out": {"reversed": 2}}
    other = {"reversed": ["b"], "owners": 2, "changed": True, "left_out": {"refused": 3}}
    told = merged([Done(one), Refused("unknown_candidate", "nobody"), Done(other)])
    assert told == Done(
        {
            "reversed": ["a", "b"],
            "owners": 3,
            "changed": True,
            "left_out": {"reversed": 2, "refused": 3},
        }
    )
    assert isinstance(told, Done)
    assert told.result["changed"] is True, "2 would be no truth value"


PARTITIONS = 7
OWN = partition_of("ada", PARTITIONS)
ENDED = {
    "ce_specversion": "1.0",
    "ce_type": "palimpsest.session_ended.v1",
    "ce_id": "1",
    "ce_source": "bot",
}


@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_what_is_of_another_partition_is_invalid(partition: int) -> None:
    value = orjson.dumps({"owner_id": "ada", "text": "Ada sings."})
    ended = orjson.dumps({"owner_id": "ada", "session_id": "s"})
    headers = tuple((name, one.encode()) for name, one in ENDED.items())
    for record, kind in (
        (Record(TOPIC, partition, 1, value), Prepared),
        (Record(TOPIC, partition, 1, ended, headers=headers), EndSession),
    ):
        found = read(record, "chat", PARTITIONS).meaning
        if partition == OWN:
            assert isinstance(found, kind)
        else:
            assert isinstance(found, InvalidInputError)
            assert found.reason == "wrong_partition"
            told = f"belongs to partition {OWN}, but it came in {partition}"
            assert told in found.detail


def test_what_cannot_be_read_is_invalid_for_what_it_is() -> None:
    headers = tuple((name, one.encode()) for name, one in ENDED.items())
    for record in (Record(TOPIC, 0, 1, b"no JSON"), Record(TOPIC, 0, 1, b"no", headers=headers)):
        found = read(record, "chat", 1)
        assert isinstance(found.meaning, InvalidInputError)
        assert found.meaning.reason == "not_json"
        assert (found.row.source, found.row.reading) == ("chat", "1")


def test_an_attribute_that_is_not_utf8_is_invalid() -> None:
    """Replaced, two of them would be the same id."""
    headers = {name: one.encode() for name, one in ENDED.items()} | {"ce_id": b"\xff"}
    body = orjson.dumps({"owner_id": "ada", "session_id": "s"})
    found = read(Record(TOPIC, 0, 1, body, headers=(*headers.items(),)), "chat", 1).meaning
    assert isinstance(found, InvalidInputError)
    assert found.reason == "not_utf8"


def test_rows_that_cannot_be_read_leave_nothing_to_the_collector() -> None:
    """It rests in a worker, and never frees what pydantic holds: such records took 3 kB each."""

    def read_all() -> list[weakref.ref[Any]]:
        rows = [Record(TOPIC, OWN, 0, row) for row in BROKEN]
        headers = tuple((name, one.encode()) for name, one in ENDED.items())
        found = [read(row, TOPIC, PARTITIONS) for row in (*rows, replace(rows[3], headers=headers))]
        return [weakref.ref(one.meaning) for one in found]

    gc.disable()
    try:
        assert [one() for one in read_all()] == [None] * (len(BROKEN) + 1)
    finally:
        gc.enable()


def test_a_decision_has_its_owners_key_and_a_policy_its_own() -> None:
    [event] = given(say("a", "Tea")).log
    policy = policy_event(PLAIN, event.id, "eve", BEGIN)
    sent = decision_record("t", event, b"line", (("a", b"b"),))
    assert (sent.topic, sent.value, sent.key, sent.headers) == (
        "t",
        b"line",
        b"ada",
        (("a", b"b"),),
    )
    assert decision_record("t", policy, b"line").key is None
    told = policy_record("p", b"line")
    assert (told.topic, told.value, told.key, told.partition) == ("p", b"line", POLICY_KEY, 0)
    lines = [(event, encode(event)), (policy, encode(policy))]
    assert _policy_records(lines, "p") == [policy_record("p", encode(policy))]
    assert [_belongs(event, one, PARTITIONS) for one in range(PARTITIONS)] == [
        one == OWN for one in range(PARTITIONS)
    ]
    assert all(_belongs(policy, one, PARTITIONS) for one in range(PARTITIONS))


def test_how_far_inputs_are_decided_on_travels_in_headers() -> None:
    done = [InputOffset("memory.candidates", "id1", 7), InputOffset("memory.commands", "id2", 0)]
    headers = done_with(done)
    assert inputs_done((("other", b"x:y:1"), *headers, ("palimpsest-input", None))) == done
    assert inputs_done(()) == []


def test_a_letter_arrives_as_it_was_sent() -> None:
    record = Record(TOPIC, 3, 9, b"\xff", b"ada", (("palimpsest-id", b"theirs"), ("a", None)))
    outcome = Outcome(result="invalid", decision_id="d", reason="not_utf8", detail="byte 0")
    letter = dead_letter(record, outcome, datetime(2026, 3, 1, tzinfo=UTC))
    assert (letter.origin, letter.digest, letter.size) == (f"{TOPIC}/3/9", digest(b"\xff"), 1)
    sent = dead_letter_record("memory.dead-letters", letter)
    assert (sent.key, rejected_for(sent)) == (b"ada", "not_utf8")
    found = dead_letter_of(sent.headers, sent.value)
    assert (found.error.reason, found.error.detail) == ("not_utf8", "byte 0")
    assert replace(found, error=letter.error) == replace(letter, key=None)
    older = [
        header
        for header in sent.headers
        if header[0] not in ("palimpsest-digest", "palimpsest-bytes")
    ]
    before = dead_letter_of(tuple(older), sent.value)
    assert replace(before, error=letter.error) == replace(letter, key=None)
    assert rejected_for(policy_record("p", b"")) is None


@pytest.mark.parametrize("most", [60, 90, 1_000])
def test_of_a_long_answer_the_ends_are_kept(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", most)
    done = {"reversed": [f"{n}" for n in range(30)], "refused": ["r"], "owners": 1}
    sent = answer_record("memory.answers", "q", Done(done))
    assert sent.key == b"q"
    told = orjson.loads(sent.value)["done"]
    if most == 1_000:
        assert told == done
        return
    left = told["left_out"]["reversed"]
    assert told["reversed"] == done["reversed"][left:]  # type: ignore[index]
    assert left + len(told["reversed"]) == 30
    assert told["refused"] == ["r"] or told["left_out"]["refused"] == 1


def test_what_cannot_be_cut_is_sent_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 5)
    answers: list[Answer] = [Done({"owners": 1}), Refused("r", "d"), Done({"reversed": []})]
    for answer in answers:
        assert orjson.loads(answer_record("t", "q", answer).value) == answer.to_json()


def test_how_far_a_request_is_has_a_key_of_its_own() -> None:
    sent = answer_record("memory.answers", "q", SoFar(7))
    assert (sent.key, orjson.loads(sent.value)) == (b"q/so-far", {"so_far": 7})


UNKNOWN, PLACE = Refused("unknown_candidate", "a"), Refused("wrong_partition", "b")
REFUSED = Refused("outranked", "c")


@pytest.mark.parametrize(
    ("answers", "together"),
    [
        ([UNKNOWN, PLACE], UNKNOWN),
        ([UNKNOWN, REFUSED, PLACE], REFUSED),
        ([PLACE, Misused("d")], Misused("d")),
        ([Done({"a": 1}), Failed("KeyError")], Failed("KeyError")),
        ([REFUSED, Done({"a": 1})], Done({"a": 1})),
        ([Done({}), Done({"a": [1], "b": 2})], Done({"a": [1], "b": 2})),
    ],
)
def test_of_several_answers_the_one_that_tells_most_counts(
    answers: list[Done | Refused | Misused | Failed], together: object
) -> None:
    assert merged(answers) == together


# -- topics --------------------------------------------------------------------------------------


def test_topics_are_named_and_kept_by_what_they_are_for() -> None:
    topics = Topics("test-", 3)
    assert topics.name("dead_letters") == "test-memory.dead-letters"
    assert topics.at("commands", 2) == ("test-memory.commands", 2)
    settings = {spec.kind: spec.settings for spec in TOPICS}
    assert [*topics.names] == [topics.name(kind) for kind in settings]
    assert settings["decisions"] == {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "max.message.bytes": str(LARGEST),
    }
    assert settings["candidates"] == {
        "cleanup.policy": "delete",
        "retention.ms": str(7 * DAY),
        "retention.bytes": "-1",
        "message.timestamp.type": "LogAppendTime",
    }
    assert settings["policies"]["cleanup.policy"] == "compact"
    assert settings["answers"]["retention.ms"] == str(DAY)
    assert {spec.kind for spec in TOPICS if spec.one_partition} == {"policies"}
    assert {spec.kind for spec in TOPICS if spec.ours} == {
        "decisions",
        "answers",
        "dead_letters",
        "verifications",
    }
