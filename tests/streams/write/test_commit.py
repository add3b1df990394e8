"""A commit says what the judge has to be asked once it is there, by what its events touched."""

from __future__ import annotations

from msgspec import structs

from palimpsest.contracts.events import PolicySet
from palimpsest.contracts.identity import policy_id
from palimpsest.streams.core.record import policy_event
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.commit import Commit, OpenQuestions
from tests.streams.write.runtime import AT


def event(owner_id: str) -> PolicySet:
    """Any event, of an owner."""
    rules = load_policy("standard")
    made = policy_event(rules, policy_id(rules.hash), None, AT)
    return structs.replace(made, partitionkey=owner_id)


def test_questions_are_those_that_are_open_at_its_end() -> None:
    commit = Commit()
    for owner, questions, texts in (
        ("ann", {"opened": True, "closed": True}, {"lost": True}),
        ("ben", {"of ben": True}, {"composed": True}),
        ("ann", {"closed": False, "of before": False}, {}),
        ("ben", {}, {"composed": False}),
    ):
        commit.events.append((event(owner), Touched(questions=questions, texts=texts)))
    assert commit.questions == OpenQuestions({"opened": "ann", "of ben": "ben"}, {"lost": "ann"})
