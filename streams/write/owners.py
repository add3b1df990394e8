"""Ledgers in memory: loaded on demand, and evicted least recently used (docs/design.md)."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice

from palimpsest.contracts.errors import SearchError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.garbage import collector_at_rest
from palimpsest.streams.log.log import Log
from palimpsest.streams.search.scope_index import ScopeIndex

MOST_CANDIDATES = 250_000
"""Maximum number of candidates in all loaded ledgers together; each owner counts as one more, and a
single owner may exceed it."""

MANY_EVENTS = 2_000
"""From this number of events on, garbage collection pauses while an owner is folded: it would scan
them again and again, which takes longer than the folding."""


@dataclass(slots=True)
class Loaded:
    """An owner's ledger and the search indexes that follow it.

    `broken` are scopes that could not be searched; they are not tried again under the policy.
    `size` is the owner's share of `MOST_CANDIDATES`, as of the last count.
    """

    ledger: Ledger
    indexes: dict[str, ScopeIndex] = field(default_factory=dict)
    broken: dict[str, SearchError] = field(default_factory=dict)
    size: int = 0

    def index(self, namespace: str, policy: Policy) -> ScopeIndex:
        """The index of a scope, built on first use. Raises SearchError if it is broken."""
        if namespace in self.broken:
            raise self.broken[namespace]
        found = self.indexes.get(namespace)
        if found is None:
            scope = self.ledger.scope(namespace)
            found = self.indexes[namespace] = ScopeIndex(scope, policy)
        return found

    def give_up(self, namespace: str, error: SearchError) -> None:
        """Stop searching a scope while this owner is in memory and the policy stays."""
        self.indexes.pop(namespace, None)
        self.broken[namespace] = error


class Owners:
    """The loaded owners of one writer. Their ledgers are as of `position`."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.most = MOST_CANDIDATES
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._asked: set[str] = set()
        self._total = 0
        self.position = log.head()

    def __len__(self) -> int:
        """The number of owners in memory."""
        return len(self._loaded)

    def get(self, owner_id: str) -> Loaded:
        """The owner, folded from the log unless it is in memory."""
        found = self._loaded.get(owner_id)
        self._asked.add(owner_id)
        if found is None:
            found = self._loaded[owner_id] = Loaded(fold_owner(self._log, owner_id))
        else:
            self._loaded.move_to_end(owner_id)
        return found

    def loaded(self, owner_id: str) -> Ledger | None:
        """The owner's ledger, if it is in memory."""
        found = self._loaded.get(owner_id)
        return found.ledger if found is not None else None

    def catch_up(self) -> None:
        """Fold what another writer appended while this one did not hold the lock.

        Only events of loaded owners are read: decoding an event takes several times as long as
        folding it.
        """
        head = self._log.head()
        if head == self.position:
            return
        for owner_id in self._log.owners_since(self.position, upto=head):
            owner = self._loaded.get(owner_id)
            if owner is None:
                continue
            self._asked.add(owner_id)
            try:
                for recorded in self._log.of_owner(owner_id, after=self.position, upto=head):
                    evolve(owner.ledger, recorded.event)
            except KeyError:
                self.forget({owner_id})
                fold_owner(self._log, owner_id, head)  # finds which event is damaged
                raise
        self.position = head

    def follow(self, event: AnyEvent) -> None:
        """Fold an event of the store that counts among every owner's events (`Log.of_owner`)."""
        for owner in self._loaded.values():
            evolve(owner.ledger, event)

    def forget(self, owner_ids: set[str]) -> None:
        """Drop owners whose ledgers have events that the log did not accept."""
        for owner_id in owner_ids:
            left = self._loaded.pop(owner_id, None)
            self._total -= left.size if left is not None else 0

    def forget_indexes(self) -> None:
        """Drop the indexes, because another policy searches differently."""
        for owner in self._loaded.values():
            owner.indexes.clear()
            owner.broken.clear()

    def trim(self) -> None:
        """Evict the least recently used owners until the rest is within the limit.

        Only owners used since the last call can have grown, so only they are counted again.
        """
        for owner in filter(None, map(self._loaded.get, self._asked)):
            self._total -= owner.size
            owner.size = 1 + len(owner.ledger.entries)
            self._total += owner.size
        self._asked.clear()
        while self._total > self.most and len(self._loaded) > 1:
            _, left = self._loaded.popitem(last=False)
            self._total -= left.size
            # Reference cycles would stay until the collector scans all of memory.
            left.ledger.dissolve()


def fold_owner(log: Log, owner_id: str, upto: int | None = None) -> Ledger:
    """Fold an owner's events into a new ledger, up to a position, by default the latest."""
    ledger = Ledger(owner_id)
    events = log.of_owner(owner_id, upto=upto)
    for recorded in islice(events, MANY_EVENTS):
        evolve(ledger, recorded.event)
    with collector_at_rest() if ledger.seen == MANY_EVENTS else nullcontext():
        for recorded in events:
            evolve(ledger, recorded.event)
    return ledger
