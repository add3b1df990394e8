"""A cache of what is computed from ledgers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from palimpsest.streams.core.ledger import Ledger

MOST_KEPT = 64
"""Maximum number of owners for whom something is kept."""


class OfLedger(Protocol):
    """What is computed from a ledger, and follows it."""

    ledger: Ledger


Computed = TypeVar("Computed", bound=OfLedger)


class LedgerCache(Generic[Computed]):
    """Keeps what was computed from the ledgers of the most recently asked owners."""

    def __init__(self, compute: Callable[[Ledger], Computed]) -> None:
        self._compute = compute
        self._kept: OrderedDict[str, Computed] = OrderedDict()

    def of(self, ledger: Ledger) -> Computed:
        """What is computed from this ledger; computed anew if another one was kept."""
        found = self._kept.pop(ledger.owner_id, None)
        if found is None or found.ledger is not ledger:
            found = self._compute(ledger)
        self._kept[ledger.owner_id] = found
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found
