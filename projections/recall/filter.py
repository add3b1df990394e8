"""Filters an owner's memories by namespace, category, metadata and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from palimpsest.contracts.model import same_json
from palimpsest.streams.core.ledger import Entry, Memory
from palimpsest.streams.core.moment import moment


@dataclass(frozen=True, slots=True)
class Filter:
    """A memory passes if it has not expired, and one living member meets all conditions.

    `metadata` maps keys to required values. The member happened at `since` or later, and before
    `until`, both with a time zone. Memories expired at the time `at` pass only if `show_expired`.
    """

    namespace: str | None = None
    category: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    show_expired: bool = False
    at: datetime | None = None

    @property
    def looks_at_members(self) -> bool:
        """Whether there is any condition other than the namespace."""
        return bool(self.metadata) or any((self.category, self.since, self.until))

    def keeps(self, memory: Memory) -> bool:
        """Whether a memory passes; only living ones can."""
        if self.namespace not in (None, memory.namespace):
            return False
        if self.hides(memory):
            return False
        if not self.looks_at_members:
            return memory.living
        return any(entry.living and self._has(entry) for entry in memory.members)

    def hides(self, memory: Memory) -> bool:
        """Whether a memory is left out because it has expired."""
        return not self.show_expired and self.at is not None and memory.has_expired(self.at)

    def _has(self, entry: Entry) -> bool:
        return (
            self.category in (None, entry.fields.category)
            and self.within(moment(entry))
            and self.says(entry.fields.metadata)
        )

    def within(self, at: datetime) -> bool:
        """Whether a time is within `since` and `until`."""
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)

    def says(self, metadata: Mapping[str, Any]) -> bool:
        """Whether metadata has all required values."""
        return all(
            name in metadata and same_json(metadata[name], value)
            for name, value in self.metadata.items()
        )
