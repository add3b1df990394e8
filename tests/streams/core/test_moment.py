"""A candidate's moment: when it happened, as far as the log can know (docs/design.md, Faces)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from palimpsest.streams.core.moment import by_moment, moment
from tests.streams.core.spec import BEGIN, History, given, say

RECORDED = BEGIN + timedelta(seconds=1)


def only(history: History, name: str = "a") -> str:
    return moment(history.ledger.entries[history.id(name)]).isoformat()


@pytest.mark.parametrize(
    ("occurred_at", "expected"),
    [
        ("2025-03-01T12:00:00+00:00", "2025-03-01T12:00:00+00:00"),
        ("2099-03-01T12:00:00+00:00", RECORDED.isoformat()),
    ],
    ids=["earlier", "later than the recording"],
)
def test_the_moment_is_the_producers_time_but_never_later_than_the_recording(
    occurred_at: str, expected: str
) -> None:
    assert only(given(say("a", "Tea", occurred_at=occurred_at))) == expected


def test_without_a_producers_time_it_is_the_recording() -> None:
    assert only(given(say("a", "Tea"))) == RECORDED.isoformat()


def test_oldest_first_is_by_moment_and_ties_are_by_arrival() -> None:
    then = "2025-03-01T12:00:00+00:00"
    history = given(
        say("a", "Tea"),
        say("b", "Chai", occurred_at=then),
        say("c", "Mate", occurred_at=then),
    )
    ordered = sorted(history.ledger.entries.values(), key=by_moment)
    assert [entry.fields.id for entry in ordered] == ["b", "c", "a"]
