"""The variables `PALIMPSEST_DEDUP_…` of the preset `namespaced` (docs/designs/namespaced.md)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from palimpsest.contracts.policy import CosineCheck, Policy, RecentCheck, Score
from palimpsest.streams.policies import load_policy

PRESET = "namespaced"

Positive = Annotated[int, Field(gt=0)]


class DedupSettings(BaseModel):
    """Overrides of the preset `namespaced`; None keeps the preset's value.

    They apply when the preset is put in force, by `policy set` or with a new store's first
    candidate: the resulting policy is recorded, and changing a variable later has no effect.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    enabled: bool | None = None
    threshold_decisions: Score | None = None
    threshold_patterns: Score | None = None
    threshold_learnings: Score | None = None
    threshold_default: Score | None = None
    time_window_secs: Positive | None = None
    cache_capacity: Positive | None = None

    @property
    def overrides(self) -> dict[str, object]:
        """The overrides that are set, by field."""
        return self.model_dump(exclude_none=True)

    def load(self, which: str) -> Policy:
        """A policy by its name or file; the preset `namespaced` is returned with its overrides."""
        policy = load_policy(which)
        return self._applied(policy) if which == PRESET and self.overrides else policy

    def _applied(self, policy: Policy) -> Policy:
        rules = policy.model_dump(mode="json")
        for check, own in zip(policy.checks, rules["checks"], strict=True):
            match check:
                case CosineCheck():
                    if self.threshold_default is not None:
                        own["zones"][0]["at_least"] = self.threshold_default
                    own["namespaces"] |= self._by_namespace()
                case RecentCheck():
                    own["seconds"] = self.time_window_secs or check.seconds
                    own["capacity"] = self.cache_capacity or check.capacity
                case _:
                    pass
        if self.enabled is not None:
            rules["enabled"] = self.enabled
        return Policy.model_validate(rules)

    def _by_namespace(self) -> dict[str, float]:
        named = {
            "decisions": self.threshold_decisions,
            "patterns": self.threshold_patterns,
            "learnings": self.threshold_learnings,
        }
        return {name: score for name, score in named.items() if score is not None}
