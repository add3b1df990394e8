"""Answers in the shapes of the published designs, and the nearest of some memories."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.answers import Checked
from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.events import FirstDecision
from palimpsest.contracts.limits import PYTHON
from palimpsest.integrations.nearest import MORE, nearest_of
from palimpsest.jobs.log_files import _header, text_of
from palimpsest.queries.duplicates import dedup_result, duplicate_check, hash_tag, reason_of
from tests.tables import each

CHECKED: dict[str, Any] = {
    "result": "decided",
    "decision": "stored",
    "similarity": 0.5,
    "memory_id": "m",
    "duration_ms": 1.5,
    "similar_facts": None,
}


def checked(answer: dict[str, Any]) -> Checked:
    whole: Any = CHECKED | answer
    made: Checked = whole
    return made


@pytest.mark.parametrize(
    ("answer", "reason", "score"),
    [
        ({}, None, None),
        ({"decision": "pending"}, None, None),
        ({"result": "known"}, "ExactMatch", None),
        ({"decision": "hash_exact"}, "ExactMatch", None),
        ({"decision": "recent_capture"}, "RecentCapture", None),
        ({"decision": "auto_reject"}, "SemanticSimilar", 0.5),
        ({"decision": "fallback_reject"}, "SemanticSimilar", 0.5),
        ({"decision": "fallback_keep"}, None, None),
    ],
)
def test_a_duplicate_has_its_reason_and_its_memory(
    answer: dict[str, Any], reason: str | None, score: float | None
) -> None:
    found = duplicate_check(checked(answer), "ada", "tech debt")
    assert found == {
        "is_duplicate": reason is not None,
        "reason": reason,
        "similarity_score": score,
        "matched_memory_id": "m" if reason else None,
        "matched_urn": "palimpsest://ada/tech%20debt/m" if reason else None,
        "check_duration_ms": 1.5,
    }


SIMILAR = [{"memory_id": "a", "similarity": 0.3}, {"memory_id": "b", "similarity": 0.4}]


@each(
    ("answer", "method", "similarity", "similar"),
    [
        ({}, "none", None, []),
        ({"similar_facts": SIMILAR}, "none", 0.4, SIMILAR),
        ({"result": "known", "similar_facts": SIMILAR}, "exact", 0.5, []),
        ({"decision": "hash_exact"}, "exact", 0.5, []),
        ({"decision": "recent_capture"}, "exact", 0.5, []),
        ({"decision": "token_reject"}, "jaccard", 0.5, []),
        ({"decision": "auto_reject", "similar_facts": SIMILAR}, "cosine", 0.5, []),
        ({"decision": "superseded"}, "cosine", 0.5, []),
        ({"decision": "session_reject"}, "session_cosine", 0.5, []),
        ({"decision": "fallback_supersede"}, "cosine", 0.5, []),
    ],
)
def test_a_result_has_its_method_or_what_is_similar(
    answer: dict[str, Any], method: str, similarity: float | None, similar: list[Any]
) -> None:
    found = dedup_result(checked(answer))
    assert found == {
        "is_dup": method != "none",
        "method": method,
        "existing_id": None if method == "none" else "m",
        "similarity": similarity,
        "similar_facts": similar,
    }


def test_an_invalid_candidate_has_neither_a_reason_nor_a_method() -> None:
    conflict = checked({"result": "invalid", "reason": "id_conflict", "detail": "known"})
    for shape in (dedup_result, partial(duplicate_check, owner_id="ada", namespace="n")):
        with pytest.raises(InvalidInputError, match="id_conflict: known"):
            shape(conflict)


def test_what_joins_nothing_has_no_reason() -> None:
    apart = {one for one in get_args(FirstDecision) if reason_of(one) is None}
    assert {"stored", "pending"} <= apart
    assert not {"hash_exact", "recent_capture", "auto_reject"} & apart


def test_a_tag_has_sixteen_digits() -> None:
    assert hash_tag("0123456789abcdef0123") == "hash:sha256:0123456789abcdef"


@pytest.mark.parametrize(
    ("wanted", "k", "asked", "found"),
    [
        ([], 3, [], []),
        ([7], 0, [], []),
        ([0, 1], 1, [1], [0]),
        ([0, 2], 2, [2, 8], [0, 2]),
        ([5], 3, [3, 12], [5]),
        ([5, 6, 19], 2, [2, 8], [5, 6]),
        ([90], 1, [1, 4, 16, 64], []),
    ],
)
def test_the_nearest_are_looked_for_until_enough_of_the_wanted_are_there(
    wanted: list[int], k: int, asked: list[int], found: list[int]
) -> None:
    """There are twenty memories, each a little farther than the one before."""
    calls: list[int] = []

    def recall(owner: str, query: str, **how: Any) -> list[dict[str, str]]:
        calls.append(how["k"])
        assert (owner, query, how["namespace"], how["fold"]) == ("ada", "tea", "n", False)
        return [{"memory_id": str(n)} for n in range(20)][: how["k"]]

    store: Any = SimpleNamespace(recall=recall)
    near = nearest_of(store, "ada", "tea", [str(one) for one in wanted], k, "n")
    assert [int(one["memory_id"]) for one in near] == found
    assert calls == [one for one in asked if one <= 20 * MORE]


def test_no_more_are_recalled_than_may_be() -> None:
    calls: list[int] = []

    def recall(*_: str, k: int, **__: Any) -> list[dict[str, str]]:
        calls.append(k)
        return [{"memory_id": "other"}] * k

    store: Any = SimpleNamespace(recall=recall)
    assert nearest_of(store, "ada", "tea", ["m"], 500) == []
    assert calls == [500, 2_000, 8_000, 32_000, PYTHON.found]


def test_a_header_is_shown_as_what_it_is() -> None:
    assert _header("a", None) == {"name": "a", "base64": None, "text": None}
    assert _header("a", b"\xff") == {"name": "a", "base64": "/w==", "text": None}
    assert _header("a", b"x") == {"name": "a", "base64": "eA==", "text": "x"}
    assert text_of("é".encode()) == "é"


def test_likeness_is_between_namespaces_and_goes_by_score(memories: Palimpsest) -> None:
    texts = ["two cats sleep near the stove", "two cats sleep near our stove", "a boat"]
    for namespace, text in (("a", texts[0]), ("a", texts[1]), ("b", texts[0]), ("b", texts[2])):
        memories.submit({"owner_id": "ada", "text": text, "namespace": namespace})
    memories.submit({"owner_id": "bob", "text": texts[0], "namespace": "c"})
    found = memories.likeness("ada", at_least=0.3, limit=50)
    assert [(one["a_face"], one["b_face"]) for one in found] == [
        (texts[0], texts[0]),
        (texts[1], texts[0]),
    ]
    assert found[0]["similarity"] == pytest.approx(1, abs=1e-3)
    assert [one["a"].split("/")[3] for one in found] == ["a", "a"]
    assert [one["b"].split("/")[3] for one in found] == ["b", "b"]
    assert memories.likeness("ada", at_least=0.3, limit=1) == found[:1]
    assert memories.likeness("ada", at_least=0.999, limit=5) == found[:1]
    assert memories.likeness("bob", at_least=0.0, limit=5) == []
    assert memories.likeness("nobody", at_least=0.0, limit=5) == []
