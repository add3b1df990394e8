"""URNs from Python: accepted wherever a call takes an id, alone, in a list or in a selection."""

from __future__ import annotations

import pytest

from palimpsest import Palimpsest, UsageError
from palimpsest.contracts.requests import Selection


def submit(memories: Palimpsest, *texts: str) -> list[str]:
    rows = [{"owner_id": "a/b", "namespace": "notes", "text": text} for text in texts]
    return [one.candidate_id or "" for one in memories.submit(rows)]


def urn(one: str, owner: str = "a%2Fb") -> str:
    return f"palimpsest://{owner}/notes/{one}"


def test_every_call_takes_urns(memories: Palimpsest) -> None:
    a, b = submit(memories, "tea in the shed", "a blue car")
    joined = memories.merge(urn(a), urn(b), face=urn(b))
    assert memories.show(urn(b))["urn"] == urn(a)
    assert memories.unmerge(decision_id=urn(joined["decision_id"]))["reversed"] == [
        joined["decision_id"]
    ]
    assert memories.retract(Selection(candidate_id=urn(a)))["retracted"] == [a]
    assert memories.show_candidate(urn(a))["living"] is False
    assert [one["urn"] for one in memories.recall("a/b", "car")] == [urn(b)]


def test_a_urn_that_does_not_match_is_a_usage_error(memories: Palimpsest) -> None:
    [a] = submit(memories, "tea in the shed")
    for call in (memories.show, memories.show_candidate, memories.access):
        with pytest.raises(UsageError, match="does not belong to owner eve in namespace notes"):
            call(urn(a, "eve"))
    with pytest.raises(UsageError, match="does not belong to owner eve"):
        memories.retract(Selection(candidate_id=urn(a, "eve")))
    assert memories.show(a)["living"]
