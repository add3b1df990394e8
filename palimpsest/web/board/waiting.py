"""The pairs that wait for a person: their order, filters, and leases.

The queue is computed in the background, once per state of the log; pairs that are shown or answered
are looked up by key. A pair of the queue may have been settled since: check the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from palimpsest.projections.duckdb.queries import query

LEASE_SECONDS = 300.0
JUDGED = frozenset({"llm_reject", "llm_merge"})
"""Decisions by which a judge found two texts to be one fact; with cues, the guard disagrees.

Updates are not among them: in these the judge, too, found that the texts differ.
"""
_PAIRS = """
WITH later AS (
  SELECT memory_id, list(position) AS places FROM joins WHERE standing GROUP BY memory_id
)
SELECT q.decision_id, q.candidate_id, q.existing_id, q.owner_id, q.namespace, q.waits_as,
       q.decision, q.similarity, q.cues, q.position, n.source, o.memory_id,
       nullif(q.existing_text, o.text) AS older_text, nullif(q.new_text, n.text) AS newer_text,
       coalesce(len(list_filter(l.places, lambda place: place > q.position)), 0) AS later_joins
FROM review_queue q
     JOIN candidates n ON n.candidate_id = q.candidate_id
     JOIN candidates o ON o.candidate_id = q.existing_id
     LEFT JOIN later l ON l.memory_id = o.memory_id
"""

Key = tuple[str, str]
"""The candidate's decision, and the id of the other candidate."""


@dataclass(frozen=True, slots=True)
class WaitingPair:
    """A waiting pair. `later_joins` is the number of later joins of the same memory.

    `older_text` and `newer_text` are the compared texts; None if those were the candidates' own.
    """

    decision_id: str
    candidate_id: str
    existing_id: str
    owner_id: str
    namespace: str
    waits_as: str
    decision: str
    similarity: float | None
    cues: tuple[str, ...]
    position: int
    source: str | None
    memory_id: str
    older_text: str | None
    newer_text: str | None
    later_joins: int

    @property
    def key(self) -> Key:
        """The key of the pair."""
        return self.decision_id, self.existing_id

    @property
    def is_joined(self) -> bool:
        """Whether the two are joined; otherwise a question waits, or a text that was forgotten."""
        return self.waits_as not in ("pending", "forgotten")

    @property
    def disagree(self) -> bool:
        """Whether the judge joined a pair that the guard has cues against."""
        return bool(self.cues) and self.decision in JUDGED


@dataclass(frozen=True)
class QueueFilter:
    """A filter of pairs; an empty value matches any."""

    owner: str = ""
    source: str = ""
    cue: str = ""
    decision: str = ""

    def takes(self, pair: WaitingPair) -> bool:
        """Whether a pair passes the filter."""
        return (
            self.owner in ("", pair.owner_id)
            and self.source in ("", pair.source)
            and self.decision in ("", pair.decision)
            and (not self.cue or self.cue in pair.cues)
        )


def read_pairs(projections: Path) -> list[WaitingPair]:
    """All waiting pairs, from the projections; the expensive part."""
    rows = query(projections, _PAIRS)
    return [WaitingPair(**row | {"cues": tuple(row["cues"] or ())}) for row in rows]


def in_order(pairs: Iterable[WaitingPair]) -> list[WaitingPair]:
    """The pairs by memory, most consequences first, then disagreements of judge and guard."""
    by_memory = sorted(pairs, key=lambda pair: (pair.owner_id, pair.memory_id, pair.position))
    groups = [list(some) for _, some in groupby(by_memory, lambda pair: pair.memory_id)]
    groups.sort(key=_weight)
    return [pair for some in groups for pair in some]


def _weight(group: list[WaitingPair]) -> tuple[int, bool, bool, float, int]:
    return (
        -max(pair.later_joins for pair in group),
        not any(pair.disagree for pair in group),
        not any(pair.waits_as == "pending" for pair in group),
        min(pair.similarity or 0.0 for pair in group),
        group[0].position,
    )


@dataclass
class Queue:
    """One person's queue, in order; `left` counts the pairs that nobody has answered."""

    pairs: list[WaitingPair]
    left: int = 0
    _start: int = 0

    def after_start(self, open_: Collection[Key]) -> Iterator[WaitingPair]:
        """The open pairs; settled ones at the front are skipped only once."""
        while self._start < len(self.pairs) and self.pairs[self._start].key not in open_:
            self._start += 1
        for number in range(self._start, len(self.pairs)):
            if self.pairs[number].key in open_:
                yield self.pairs[number]

    def rewind(self) -> None:
        """Start again at the front, because a settled pair is open again."""
        self._start = 0


@dataclass
class WaitingPairs:
    """The waiting pairs in order, by each person's pattern of owners and filter."""

    pairs: list[WaitingPair] = field(default_factory=list)
    position: int = -1

    def __post_init__(self) -> None:
        self.by_key = {pair.key: pair for pair in self.pairs}
        self._open = set(self.by_key)
        self._ordered = in_order(self.pairs)
        self._queues: dict[tuple[str, QueueFilter], Queue] = {}
        self._kinds: dict[str, dict[str, list[str]]] = {}

    def queue(self, owners: re.Pattern[str], wanted: QueueFilter) -> Queue:
        """The pairs that a person may see and has asked for; computed once."""
        key = owners.pattern, wanted
        if key not in self._queues:
            names = {pair.owner_id for pair in self.pairs}
            mine = {name for name in names if owners.fullmatch(name)}
            found = [pair for pair in self._ordered if pair.owner_id in mine and wanted.takes(pair)]
            left = sum(pair.key in self._open for pair in found)
            self._queues[key] = Queue(found, left)
        return self._queues[key]

    def open(self, owners: re.Pattern[str], wanted: QueueFilter) -> Iterator[WaitingPair]:
        """The open pairs, in order."""
        return self.queue(owners, wanted).after_start(self._open)

    def count(self, keys: Iterable[Key], wanted: QueueFilter) -> int:
        """How many of these pairs are open and pass a filter."""
        return sum(key in self._open and wanted.takes(self.by_key[key]) for key in keys)

    def settle(self, key: Key) -> None:
        """Mark a pair as settled."""
        if key in self._open:
            self._open.remove(key)
            self._count(key, -1)

    def wait_again(self, pair: WaitingPair) -> None:
        """Add a pair whose answer was undone; the answer may be older than the queue."""
        if pair.key not in self.by_key:
            self._add(pair)
        elif pair.key not in self._open:
            self._open.add(pair.key)
            self._count(pair.key, 1)
            for queue in self._queues.values():
                queue.rewind()

    def _add(self, pair: WaitingPair) -> None:
        """Insert a pair beside those of its memory, or at the front."""
        self.by_key[pair.key] = pair
        self._open.add(pair.key)
        self.pairs.append(pair)
        ordered = self._ordered
        beside = (n for n, one in enumerate(ordered) if one.memory_id == pair.memory_id)
        ordered.insert(next(beside, 0), pair)
        self._queues.clear()
        self._kinds.clear()

    def _count(self, key: Key, by: int) -> None:
        pair = self.by_key[key]
        for (pattern, wanted), queue in self._queues.items():
            if wanted.takes(pair) and re.fullmatch(pattern, pair.owner_id):
                queue.left += by

    def kinds(self, owners: re.Pattern[str]) -> dict[str, list[str]]:
        """The cues and kinds of decisions to filter by; computed once."""
        if owners.pattern not in self._kinds:
            mine = self.queue(owners, QueueFilter()).pairs
            self._kinds[owners.pattern] = {
                "cues": sorted({cue for pair in mine for cue in pair.cues}),
                "decisions": sorted({pair.decision for pair in mine}),
            }
        return self._kinds[owners.pattern]


class Leases:
    """Leases of pairs: a pair is shown to one person only, until an answer or for five minutes."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._held: dict[Key, tuple[float, str]] = {}

    def take(self, key: Key, who: str) -> bool:
        """Lease or renew a pair; False if somebody else has it."""
        until, holder = self._held.get(key, (0.0, who))
        if holder != who and until > self.now():
            return False
        self._held[key] = self.now() + LEASE_SECONDS, who
        return True

    def release(self, key: Key, who: str) -> None:
        """Release a pair, if this person has it."""
        if self._held.get(key, (0.0, ""))[1] == who:
            del self._held[key]

    def release_all(self, who: str) -> None:
        """Release all pairs of a person."""
        self._held = {key: lease for key, lease in self._held.items() if lease[1] != who}

    def drop_expired(self) -> None:
        """Drop the leases that have expired."""
        now = self.now()
        self._held = {key: lease for key, lease in self._held.items() if lease[0] > now}


def wanted_of(values: Mapping[str, Any]) -> QueueFilter:
    """The filter in a page's query or form."""
    return QueueFilter(
        **{f.name: values.get(f"in_{f.name}", "").strip() for f in fields(QueueFilter)}
    )
