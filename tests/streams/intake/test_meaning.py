"""A row that can be read is ready to be decided on; no bytes at all break the reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.events import Decided, DecidedData
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.identity import candidate_id, decision_id_of
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.intake import Notice, Prepared, RawRow, prepare, understand
from tests.long import examples
from tests.streams.intake.test_parsing import ROW, candidate, row


def test_a_candidate_is_prepared() -> None:
    ready = understand(RawRow(row(id="1", source="chat"), "file.jsonl"))
    assert isinstance(ready, Prepared)
    assert ready.candidate_id == candidate_id("ann", "chat", "1")
    assert ready == prepare(ready.candidate)


def test_a_bad_row_is_understood_as_its_error() -> None:
    error = understand(RawRow(b"[]", "file.jsonl"))
    assert isinstance(error, InvalidInputError)
    assert error.reason == "not_an_object"


def test_renames_are_used() -> None:
    ready = understand(RawRow(b'{"u":"ann","text":"a"}', "f"), {"u": "owner_id"})
    assert isinstance(ready, Prepared)


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Ann lives in Bergen."},
        {"text": "Ann lives in Oslo. "},
        {"namespace": "work"},
        {"confidence": 0},
        {"occurred_at": "2025-01-01"},
        {"topics": ["home"]},
        {"mood": "calm"},
    ],
)
def test_other_content_has_another_fingerprint(change: dict[str, object]) -> None:
    plain, changed = prepare(candidate(row(id="1"))), prepare(candidate(row(id="1", **change)))
    assert plain.candidate_id == changed.candidate_id
    assert plain.fingerprint != changed.fingerprint


def test_the_same_content_has_the_same_fingerprint_however_it_is_written() -> None:
    said = {"id": "1", "confidence": 1, "metadata": {"b": 1, "a": 2}, "created_at": "2025-01-01"}
    again = b"""{ "text": "Ann lives in O\\u0073lo.", "a": 2, "owner_id": "ann", "id": 1,
        "category": null, "occurred_at": "2025-01-01T01:00:00+01:00", "confidence": 1.0, "b": 1 }"""
    plain, written = prepare(candidate(row(**said))), prepare(candidate(again))
    assert plain.fingerprint == written.fingerprint


def test_the_same_row_of_another_reading_is_another_candidate() -> None:
    said = [RawRow(row(), "python", 1, reading) for reading in ("one", "two", "two")]
    first, second, again = (understand(one) for one in said)
    assert isinstance(first, Prepared)
    assert isinstance(second, Prepared)
    assert first.candidate_id != second.candidate_id
    assert second == again
    named = [understand(RawRow(row(id="1"), "python", 1, reading)) for reading in ("one", "two")]
    assert named[0] == named[1]


# -- anything at all ----------------------------------------------------------------------------

WORDS = st.text(st.characters(), max_size=20)  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner),
    max_leaves=8,
)
NAMES = st.sampled_from([*sorted(Candidate.model_fields), "created_at", "specversion", "x"])


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    assert isinstance(understand(RawRow(raw, "f")), Prepared | InvalidInputError | Notice)


@given(st.dictionaries(NAMES, JSON), st.booleans())
@settings(max_examples=examples(200))
def test_what_is_accepted_can_be_read_from_the_log(fields: dict[str, Any], plain: bool) -> None:
    base = ROW if plain else {}
    raw = json.dumps(base | fields).encode()
    ready = understand(RawRow(raw, "f"))
    if not isinstance(ready, Prepared):
        assert isinstance(ready, InvalidInputError | Notice)
        return
    content = ready.content
    decided = Decided(
        id=decision_id_of(ready.candidate_id),
        subject=ready.candidate_id,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        partitionkey=ready.candidate.owner_id,
        data=DecidedData(
            decision="stored",
            candidate=ready.candidate.fields(),
            content=content,
            evidence=Evidence(policy="p"),
        ),
    )
    assert decode(encode(decided)) == decided
