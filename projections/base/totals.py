"""Totals over the members of a memory, the same in every projection and as of any position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar

from msgspec import Struct, field

from palimpsest.streams.core.ledger import Entry, Memory
from palimpsest.streams.core.moment import by_moment

Some = TypeVar("Some", float, datetime)


class Total(Struct):
    """Totals over the first `counted` members of a memory, up to `last_place`.

    Except for accesses, only living members count. `newest` is the one that happened last, whose
    metadata is used. `topics` are those of all of them, and `occurred_at` is the latest;
    `intensity`, `confidence` and `importance` are the highest of any of them.
    """

    counted: int = 0
    last_place: int = 0
    living: int = 0
    pending: int = 0
    accesses: int = 0
    last_accessed: datetime | None = None
    occurred_at: datetime | None = None
    intensity: float | None = None
    confidence: float | None = None
    importance: float | None = None
    newest: Entry | None = None
    topics: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, memory: Memory) -> Total:
        """The totals of a memory's living members, or of all if none is living."""
        total = cls()
        total.add(memory.members)
        if not total.living:
            for entry in memory.members:
                total.count(entry)
        return total

    def add(self, members: Iterable[Entry]) -> None:
        """Count more members, in order."""
        for entry in members:
            self.counted += 1
            self.last_place = entry.place
            if entry.accesses:
                self.accesses += entry.accesses
                self.last_accessed = _greater(self.last_accessed, entry.last_accessed)
            if entry.living:
                self.living += 1
                self.pending += entry.pending
                self.count(entry)

    def count(self, entry: Entry) -> None:
        """Add a member's own fields."""
        fields = entry.fields
        self.occurred_at = _greater(self.occurred_at, fields.occurred_at)
        if self.newest is None or by_moment(entry) > by_moment(self.newest):
            self.newest = entry
        self.intensity = _greater(self.intensity, fields.intensity)
        self.confidence = _greater(self.confidence, fields.confidence)
        self.importance = _greater(self.importance, fields.importance)
        if fields.topics:
            self.topics.update(dict.fromkeys(fields.topics))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the member that happened last."""
        return self.newest.fields.metadata if self.newest is not None else {}

    @property
    def status(self) -> Literal["living", "pending"]:
        """`pending` while every living member waits for the judge."""
        return "pending" if self.pending == self.living else "living"


def _greater(a: Some | None, b: Some | None) -> Some | None:
    return b if a is None or (b is not None and b > a) else a
