"""The outcome of a candidate, in the terms of the published designs."""

from __future__ import annotations

from typing import Literal, TypedDict, cast

from palimpsest.contracts.answers import Checked, SimilarFact
from palimpsest.contracts.errors import InvalidInputError, InvalidReason
from palimpsest.contracts.urn import Urn
from palimpsest.streams.core.skips import Skip, skipped_for

Reason = Literal["ExactMatch", "SemanticSimilar", "RecentCapture"]

_REASONS: dict[Skip, Reason] = {
    "exact": "ExactMatch",
    "semantic": "SemanticSimilar",
    "recent": "RecentCapture",
}
_METHODS: dict[str, Method] = {
    "hash_exact": "exact",
    "recent_capture": "exact",
    "token_reject": "jaccard",
    "auto_reject": "cosine",
    "superseded": "cosine",
    "fallback_reject": "cosine",
    "fallback_supersede": "cosine",
    "session_reject": "session_cosine",
}


class DuplicateCheck(TypedDict):
    """Whether a candidate is a duplicate, and of which memory, in the form of `namespaced`.

    `similarity_score` is set only for `SemanticSimilar`. `check_duration_ms` is in milliseconds.
    """

    is_duplicate: bool
    reason: Reason | None
    similarity_score: float | None
    matched_memory_id: str | None
    matched_urn: str | None
    check_duration_ms: float


Method = Literal["exact", "jaccard", "cosine", "session_cosine", "none"]


class DedupResult(TypedDict):
    """Whether a candidate is a duplicate, and of which memory, in the form of `layered`.

    `similarity` is that of the duplicate, or of the most similar fact; `similar_facts` is empty for
    a duplicate.
    """

    is_dup: bool
    method: Method
    existing_id: str | None
    similarity: float | None
    similar_facts: list[SimilarFact]


def reason_of(decision: str) -> Reason | None:
    """Why a newcomer is joined at once; None if it is not."""
    skip = skipped_for(decision)
    return _REASONS[skip] if skip else None


def duplicate_check(answer: Checked, owner_id: str, namespace: str) -> DuplicateCheck:
    """The answer to a check in the form of `namespaced`; a known candidate is an exact match.

    Raises InvalidInputError if the candidate would be invalid.
    """
    _require_valid(answer)
    known = answer["result"] == "known"
    reason: Reason | None = "ExactMatch" if known else reason_of(answer["decision"])
    memory_id = answer["memory_id"] if reason else None
    return DuplicateCheck(
        is_duplicate=reason is not None,
        reason=reason,
        similarity_score=answer["similarity"] if reason == "SemanticSimilar" else None,
        matched_memory_id=memory_id,
        matched_urn=str(Urn(owner_id, namespace, memory_id)) if memory_id else None,
        check_duration_ms=answer["duration_ms"],
    )


def dedup_result(answer: Checked) -> DedupResult:
    """The answer to a check in the form of `layered`; a known candidate is an exact match.

    Raises InvalidInputError if the candidate would be invalid.
    """
    _require_valid(answer)
    known = answer["result"] == "known"
    method: Method = "exact" if known else _METHODS.get(answer["decision"], "none")
    similar = answer["similar_facts"] or []
    nearest = max((memory["similarity"] for memory in similar), default=None)
    duplicate = method != "none"
    return DedupResult(
        is_dup=duplicate,
        method=method,
        existing_id=answer["memory_id"] if duplicate else None,
        similarity=answer["similarity"] if duplicate else nearest,
        similar_facts=[] if duplicate else similar,
    )


def _require_valid(answer: Checked) -> None:
    if answer["result"] == "invalid":
        raise InvalidInputError(cast("InvalidReason", answer["reason"]), answer["detail"] or "")


def hash_tag(text_hash: str) -> str:
    """A memory's tag in the form of `namespaced`: `hash:sha256:` and 16 digits."""
    return f"hash:sha256:{text_hash[:16]}"
