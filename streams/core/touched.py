"""What an event changed, so that projections write just that, and only once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct, field

from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.core.compared import Spoke
from palimpsest.streams.core.ledger import Edge, Entry, Memory, Review, Statement


class Stated(NamedTuple):
    """A statement about a pair; `verdict` is the judge's answer that made it, if any."""

    candidate_id: str
    other_id: str
    statement: Statement
    verdict: Verdict | None = None


class Touched(Struct):
    """What an event changed, by id; a memory or review that is gone is None.

    `texts` are joins, by whether the judge must recompose their text; `questions` are candidates,
    by whether they still have a question to the judge. `stirred` are candidates that moved, or were
    retracted or restored, so that questions about them are walked again; for those in `asking`,
    only their own question is. `compared` has the speaker for each candidate that was compared by
    a text other than its own; `stated` are statements about pairs. `unembedded` are candidates, by
    whether their text still lacks a vector because the model was down.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    memories: dict[str, Memory | None] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    reviews: dict[str, Review | None] = field(default_factory=dict)
    texts: dict[str, bool] = field(default_factory=dict)
    compared: Mapping[str, Spoke] = field(default_factory=dict)
    stated: list[Stated] = field(default_factory=list)
    questions: dict[str, bool] = field(default_factory=dict)
    unembedded: dict[str, bool] = field(default_factory=dict)
    stirred: list[Entry] = field(default_factory=list)
    asking: list[Entry] = field(default_factory=list)

    def memory(self, memory: Memory) -> None:
        """Add a memory that is new or has changed."""
        self.memories[memory.id] = memory

    def moved(self, entries: list[Entry]) -> None:
        """Add entries whose memory has a new id."""
        self.entries.update((entry.id, entry) for entry in entries)
        self.stirred += entries
