"""Why candidates were skipped on arrival, in the words of docs/designs/namespaced.md."""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

from palimpsest.contracts.policy import CosineCheck, Policy

Skip = Literal["exact", "semantic", "recent"]

OTHER = "other"
"""The label of namespaces that the policy does not name: each label costs time series for ever."""
SCORES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0)
"""Upper bounds of the score buckets."""
_EXACT: dict[str, Skip] = {"hash_exact": "exact", "recent_capture": "recent"}
_LIKE = (
    "auto_reject",
    "token_reject",
    "session_reject",
    "superseded",
    "fallback_reject",
    "fallback_supersede",
)


def skipped_for(decision: str) -> Skip | None:
    """Why a newcomer is joined without an answer of the judge; None if it is not."""
    return _EXACT.get(decision) or ("semantic" if decision in _LIKE else None)


def named_namespaces(policy: Policy) -> frozenset[str]:
    """The namespaces that a policy names."""
    checks = (check for check in policy.checks if isinstance(check, CosineCheck))
    return frozenset(name for check in checks for name in check.namespaces)


def label_of(namespace: str, named: Container[str]) -> str:
    """The metric label of a namespace."""
    return namespace if namespace in named else OTHER
