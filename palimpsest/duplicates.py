"""What became, or would become, of a candidate, in the words of designs/namespaced.md."""

from __future__ import annotations

from typing import Literal, TypedDict

from palimpsest.contracts.answers import Checked
from palimpsest.contracts.urn import Urn
from palimpsest.streams.core.skips import Skip, skipped_for

Reason = Literal["ExactMatch", "SemanticSimilar", "RecentCapture"]

_REASONS: dict[Skip, Reason] = {
    "exact": "ExactMatch",
    "semantic": "SemanticSimilar",
    "recent": "RecentCapture",
}
HASH_TAG = "hash:sha256:"
TAG_DIGITS = 16


class DuplicateCheck(TypedDict):
    """Whether a candidate is a duplicate, and of what.

    `similarity_score` is that of `SemanticSimilar`. `check_duration_ms` is in milliseconds.
    """

    is_duplicate: bool
    reason: Reason | None
    similarity_score: float | None
    matched_memory_id: str | None
    matched_urn: str | None
    check_duration_ms: float


def reason_of(decision: str) -> Reason | None:
    """Why a first decision joins; None for one that joins nobody."""
    skip = skipped_for(decision)
    return _REASONS[skip] if skip else None


def duplicate_check(answer: Checked, owner_id: str, namespace: str) -> DuplicateCheck:
    """The answer to a check, as the document shapes it; who is known already matches exactly."""
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


def hash_tag(text_hash: str) -> str:
    """The tag that a memory has in the document: `hash:sha256:` and 16 digits."""
    return f"{HASH_TAG}{text_hash[:TAG_DIGITS]}"
