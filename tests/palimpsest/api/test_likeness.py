"""designs/namespaced.md, "Future Considerations": likeness across namespaces is a report."""

from __future__ import annotations

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.requests import Selection
from palimpsest.streams.policies import load_policy
from tests.designs.test_namespaced import TEXT, near


@pytest.fixture(name="ids")
def ids_of(memories: Palimpsest) -> list[str]:
    rows = [("decisions", TEXT), ("patterns", near(94)), ("learnings", near(90)), ("patterns", "x")]
    outcomes = memories.submit([{"owner_id": "ada", "namespace": n, "text": t} for n, t in rows])
    return [outcome.candidate_id or "" for outcome in outcomes]


def test_pairs_of_different_namespaces_nearest_first(memories: Palimpsest, ids: list[str]) -> None:
    position = memories.position
    found = memories.likeness("ada")
    assert [(one["similarity"], one["a_face"], one["b_face"]) for one in found] == [
        (0.96, near(94), near(90)),
        (0.94, TEXT, near(94)),
        (0.9, TEXT, near(90)),
    ]
    assert found[1]["a"] == f"palimpsest://ada/decisions/{ids[0]}"
    assert found[1]["b"] == f"palimpsest://ada/patterns/{ids[1]}"
    assert memories.position == position, "nothing is joined"
    assert memories.likeness("ada", limit=1) == found[:1]
    assert memories.likeness("ada", at_least=0.95) == found[:1]
    assert memories.likeness("nobody") == []


def test_near_pairs_of_one_namespace_are_left_to_the_policy(memories: Palimpsest) -> None:
    """Under a policy that compares nothing on arrival, both are stored."""
    memories.set_policy(load_policy("importance"))
    rows = [("decisions", TEXT), ("decisions", near(96)), ("patterns", near(90))]
    memories.submit([{"owner_id": "ada", "namespace": n, "text": t} for n, t in rows])
    found = memories.likeness("ada", at_least=0.8)
    assert [(one["a_face"], one["b_face"]) for one in found] == [
        (near(96), near(90)),
        (TEXT, near(90)),
    ]


def test_what_is_retracted_is_like_nobody(memories: Palimpsest, ids: list[str]) -> None:
    memories.retract(Selection(candidate_id=ids[0]))
    assert [one["similarity"] for one in memories.likeness("ada")] == [0.96]
