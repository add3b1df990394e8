"""When a batch run is due: enough living memories, and enough hours since the last one was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from palimpsest.contracts.events import BatchStep
from palimpsest.contracts.policy import TokenDedupe
from palimpsest.streams.dedupe.due import count_current, not_due
from tests.streams.core.spec import given, ran, retract, say

RULE = TokenDedupe(rule="tokens", more_than=2, hours=20)


@pytest.mark.parametrize(("count", "due"), [(0, False), (2, False), (3, True)])
def test_more_living_memories_are_wanted_than_that(count: int, due: bool) -> None:
    steps = [say(f"m{number}", f"text {number}") for number in range(4)]
    history = given(*steps, *(retract(f"m{number}") for number in range(count, 4)))
    assert count_current(history.ledger) == count
    skipped = not_due(history.ledger, RULE, "dedupe", history.now)
    assert (skipped is None) is due
    if skipped is not None:
        assert skipped.reason == "too_few_memories"
        assert skipped.detail == f"{count} memories, and the policy requires more than 2"


def test_the_hours_may_be_more_than_any_duration() -> None:
    history = given(*(say(name, f"text of {name}") for name in "abc"), ran("dedupe"))
    never = RULE.model_copy(update={"hours": 1e15})
    skipped = not_due(history.ledger, never, "dedupe", history.now)
    assert skipped is not None
    assert skipped.reason == "too_soon"


@pytest.mark.parametrize(
    ("step", "hours", "due"),
    [("dedupe", 20, True), ("dedupe", 19.99, False), ("dedupe", -1, False), ("review", 0, True)],
)
def test_hours_are_counted_from_when_the_last_run_of_the_step_was_due(
    step: BatchStep, hours: float, due: bool
) -> None:
    history = given(*(say(name, f"text of {name}") for name in "abc"), ran("dedupe"))
    last = history.ledger.runs["dedupe"].due
    skipped = not_due(history.ledger, RULE, step, last + timedelta(hours=hours))
    assert (skipped is None) is due
    if skipped is not None:
        assert skipped.reason == "too_soon"
        assert skipped.detail == (
            "the last run was due at 2026-01-01T00:00:04+00:00,"
            " and the policy requires 20 h between runs"
        )
