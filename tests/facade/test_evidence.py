"""`show_candidate` tells of each neighbour the text that its score belongs to."""

from __future__ import annotations

from uuid import uuid4

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import SettleRequest
from palimpsest.streams.policies import load_policy

WORDS = "each winter evening since we moved two grey cats sleep on a chair beside the stove".split()
OLDER, NEWER, COMPOSED, NEXT = (
    " ".join([*WORDS, *own.split()])
    for own in ("until dawn comes", "and one dog", "and one dog too", "and one dog also")
)


def asking_about_all(search: str) -> Policy:
    """`replace-or-merge` that joins nothing by itself."""
    rules = load_policy("replace-or-merge").model_dump(mode="json")
    zones = [{"at_least": 0.5, "action": "pending"}]
    checks = [rules["checks"][0] | {"zones": zones}]
    changes = {"name": "asking about all", "search": search, "checks": checks}
    return Policy.model_validate(rules | changes)


def submit(store: Palimpsest, *texts: str) -> list[str]:
    rows = [{"owner_id": "ada", "text": text} for text in texts]
    return [str(one.candidate_id) for one in store.submit(rows)]


@pytest.mark.parametrize(("search", "compared"), [("memories", COMPOSED), ("candidates", NEWER)])
def test_a_neighbour_has_the_text_that_was_compared(
    memories: Palimpsest, search: str, compared: str
) -> None:
    memories.set_policy(asking_about_all(search))
    older, newer = submit(memories, OLDER, NEWER)
    verdict = Verdict(neighbour_id=older, answer="compose")
    request = SettleRequest(
        request_id=str(uuid4()), candidate_id=newer, verdicts=(verdict,), composed=COMPOSED
    )
    memories.settle([request])
    [last] = submit(memories, NEXT)

    def told() -> tuple[str, str]:
        [neighbour] = memories.show_candidate(last)["evidence"]["neighbours"]
        return neighbour["candidate_id"], neighbour["text"]

    assert told() == (newer, compared)
    memories.unmerge(candidate_id=newer)
    assert told() == (newer, compared), "what was compared stays what it was"


def test_who_takes_the_face_was_compared_with_the_one_before(memories: Palimpsest) -> None:
    memories.set_policy(load_policy("replace-or-merge"))
    older, newer = submit(memories, COMPOSED, NEXT)
    shown = memories.show_candidate(newer)
    assert shown["decision"] == "superseded"
    [neighbour] = shown["evidence"]["neighbours"]
    assert (neighbour["candidate_id"], neighbour["text"]) == (older, COMPOSED)
