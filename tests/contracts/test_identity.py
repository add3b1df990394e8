"""Ids follow from what they name, and from nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from palimpsest.contracts.identity import (
    candidate_id,
    decision_id_or_unchanged,
    event_id,
    run_id,
    session_of,
    token_of,
)

DUE = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_run_is_named_by_owner_step_and_moment() -> None:
    elsewhere = DUE.astimezone(timezone(timedelta(hours=5)))
    assert run_id("ada", "dedupe", elsewhere) == run_id("ada", "dedupe", DUE)
    others = [
        run_id("ada", "dedupe", DUE),
        run_id("bob", "dedupe", DUE),
        run_id("ada", "review", DUE),
        run_id("ada", "dedupe", DUE + timedelta(microseconds=1)),
    ]
    assert len(set(others)) == len(others)


def test_a_session_is_named_by_the_moment_of_its_first_message() -> None:
    elsewhere = DUE.astimezone(timezone(timedelta(hours=5)))
    assert session_of(elsewhere) == session_of(DUE) == "8e028707809562f0516f0000b17efc99"
    assert session_of(DUE + timedelta(microseconds=1)) != session_of(DUE)


def test_a_candidate_is_named_by_owner_source_and_id() -> None:
    same = candidate_id("a", "b", "c")
    others = [candidate_id(*parts) for parts in (("x", "b", "c"), ("a", "x", "c"), ("a", "b", "x"))]
    assert len({same, *others}) == 4


def test_an_event_is_named_by_its_input_and_step() -> None:
    first, second = candidate_id("a", "b", "c"), candidate_id("a", "b", "d")
    ids = [event_id(first, "decided"), event_id(first, "settled"), event_id(second, "decided")]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("some", ["", "cafe", "ca-fe", "ab" * 17, "Ada", "ab" * 15 + " "])
def test_text_of_another_length_than_an_id_is_no_id(some: str) -> None:
    assert decision_id_or_unchanged(some) == some
    with pytest.raises(ValueError, match="hex"):
        event_id(some, "decided")


def test_a_token_tells_lists_apart() -> None:
    tokens = [token_of(parts) for parts in ([["a", "b"]], [["a"], ["b"]], [["b", "a"]], [])]
    assert len(set(tokens)) == len(tokens)
    assert {len(token) for token in tokens} == {32}
