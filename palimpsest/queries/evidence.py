"""Evidence for people: with the thresholds of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palimpsest.backends.reader import Reader
from palimpsest.contracts.events import Decided, Joined, Redecided, Settled
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.light import to_json
from palimpsest.contracts.policy import Check, CosineCheck, Policy, RecentCheck, SessionCheck
from palimpsest.streams.core.ledger import Entry


def evidence_of(reader: Reader, event_id: str) -> Evidence | None:
    """A decision's evidence; None if it recorded none."""
    recorded = reader.log.find(event_id)
    event = recorded.event if recorded else None
    if isinstance(event, Decided | Settled | Joined | Redecided):
        return event.data.evidence
    return None


def explained(evidence: Evidence, entry: Entry, policies: Mapping[str, Policy]) -> dict[str, Any]:
    """The evidence of a candidate's decision, with `thresholds`.

    `thresholds` lists the policy's thresholds for the candidate's namespace, in the order of its
    checks, each with its `check`, `at_least` and outcome (`then`); `exclusive` is set if the score
    has to exceed it.
    """
    document = to_json(evidence, exclude_none=True)
    policy = policies.get(evidence.policy)
    checks = policy.checks if policy else ()
    document["thresholds"] = [
        threshold for check in checks for threshold in _thresholds(check, entry)
    ]
    return document


def _thresholds(check: Check, entry: Entry) -> list[dict[str, Any]]:
    if isinstance(check, RecentCheck):
        return []
    if isinstance(check, CosineCheck):
        zones = check.zones_of(entry.fields.namespace)
        found = [{"check": "cosine", "at_least": z.at_least, "then": z.action} for z in zones]
        if check.near_identical is None:
            return found
        proven = {"check": "near_identical", "at_least": check.near_identical}
        return [*found, proven | {"then": "auto_reject"}]
    floor = {"check": check.check, "at_least": check.threshold}
    if isinstance(check, SessionCheck):
        return [floor | {"then": "session_reject"}]
    return [floor | {"then": "token_reject"} | ({"exclusive": True} if check.exclusive else {})]
