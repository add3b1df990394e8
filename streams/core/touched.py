"""What an event changed: so that projections write just that, and nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct, field

from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.core.compared import Spoke
from palimpsest.streams.core.ledger import Edge, Entry, Memory, Review, Statement


class Stated(NamedTuple):
    """A word about a pair; `verdict` is the answer that it is, where a judge gave it."""

    candidate_id: str
    other_id: str
    statement: Statement
    verdict: Verdict | None = None


class Touched(Struct):
    """What an event changed, by id; a memory or review that is gone is None.

    `texts` are joins whose text must be recomposed, or (False) no longer; `questions` are the
    candidates about which the judge has something to be asked now, or (False) no longer. `stirred`
    are those who moved or came to life, so that questions about them are walked again; `asking`
    those whose own question alone is walked again. `compared` says whose text stood for a candidate
    that was compared, where that was not its own; `stated` is what it says of pairs. `unembedded`
    are candidates whose text has no vector because the model was down, or (False) has one now.
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
        """Note a memory that is new or has changed."""
        self.memories[memory.id] = memory

    def moved(self, entries: list[Entry]) -> None:
        """Note entries whose memory has another id now."""
        self.entries.update((entry.id, entry) for entry in entries)
        self.stirred += entries
