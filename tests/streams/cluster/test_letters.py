"""A record that could not be read becomes a dead letter, and is read back as it came."""

from __future__ import annotations

from datetime import UTC, datetime

from palimpsest.streams.cluster.records import LETTER, Record, letter_of, letter_record
from palimpsest.streams.embedded.inputs import Outcome

AT = datetime(2026, 1, 2, tzinfo=UTC)
REJECTED = Outcome("invalid", decision_id="ours", reason="not_json", detail="no JSON")


def test_headers_that_are_named_as_ours_stay_the_producers() -> None:
    """As when somebody sends a letter back to the candidates with all its headers."""
    theirs = ((LETTER, b"theirs"), ("palimpsest-reason", b"field"), ("trace", b"7"))
    record = Record("memory.candidates", 2, 9, b"{", b"ann", theirs)
    sent = letter_record("memory.dead-letters", record, REJECTED, AT)
    letter = letter_of(sent.headers, sent.value)
    assert letter.headers == theirs
    assert (letter.id, letter.error.reason, letter.data) == ("ours", "not_json", b"{")
    assert (letter.origin, letter.size) == ("memory.candidates/2/9", 1)
