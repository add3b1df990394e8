"""A record that could not be read becomes a dead letter, and is read back as it came."""

from __future__ import annotations

from datetime import UTC, datetime

from palimpsest.contracts.identity import digest
from palimpsest.streams.cluster.records import (
    LETTER,
    PER_HEADER,
    ROOM,
    Record,
    dead_letter,
    dead_letter_of,
    dead_letter_record,
)
from palimpsest.streams.cluster.topics import LARGEST
from palimpsest.streams.write.inputs import Outcome

AT = datetime(2026, 1, 2, tzinfo=UTC)
REJECTED = Outcome("invalid", decision_id="ours", reason="not_json", detail="no JSON")


def test_headers_that_are_named_as_ours_stay_the_producers() -> None:
    """As when somebody sends a letter back to the candidates with all its headers."""
    theirs = ((LETTER, b"theirs"), ("palimpsest-reason", b"field"), ("trace", b"7"))
    record = Record("memory.candidates", 2, 9, b"{", b"ann", theirs)
    sent = dead_letter_record("memory.dead-letters", dead_letter(record, REJECTED, AT))
    letter = dead_letter_of(sent.headers, sent.value)
    assert letter.headers == theirs
    assert (letter.id, letter.error.reason, letter.data) == ("ours", "not_json", b"{")
    assert (letter.origin, letter.size) == ("memory.candidates/2/9", 1)


def test_the_beginning_of_a_large_record_is_sent_with_its_headers_and_key() -> None:
    theirs = (("trace", b"7" * 100_000), ("empty", b""))
    record = Record("memory.candidates", 2, 9, b"{" * LARGEST, b"ann", theirs)
    sent = dead_letter_record("memory.dead-letters", dead_letter(record, REJECTED, AT))
    taken = sum(len(name) + len(value) + PER_HEADER for name, value in theirs)
    assert sent.headers[:2] == theirs
    assert len(sent.value) + len(b"ann") + taken == ROOM
    letter = dead_letter_of(sent.headers, sent.value)
    assert (letter.size, letter.data) == (LARGEST, sent.value)
    assert letter.digest == digest(record.value)
