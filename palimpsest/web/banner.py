"""What every page says on top: what is behind, waits or has failed. Counts of the store alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from palimpsest.contracts.errors import StoreError
from palimpsest.store import Palimpsest
from palimpsest.streams.log.dead_letters import DeadLetters

FRESH_SECONDS = 3.0
"""A page that is loaded soon after another says the same."""
LAG = 1_000
"""Events that a projection may be behind when nobody has looked before."""


class Banner:
    """The lines of a store's banner, looked up again once they are no longer fresh."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = float("-inf")
        self._head: int | None = None
        self._lines: Sequence[str] = ()

    def lines(self, store: Palimpsest) -> Sequence[str]:
        """What is to be said now; nothing where all is well. No view is queried."""
        if self._now() >= self._until:
            self._lines = [*self._lag(store), *_waiting(store)]
            self._head = store.gateway.log.head()
            self._until = self._now() + FRESH_SECONDS
        return self._lines

    def _lag(self, store: Palimpsest) -> Iterator[str]:
        """Projections that have not come to where the log was when this was last looked up.

        They are written after the calls return, so that one which is a little behind is well.
        """
        head = store.gateway.log.head()
        wanted = head - LAG if self._head is None else self._head
        try:
            if self._head is None:  # of a new store there may be none yet
                store.gateway.refresh()
            positions = store.gateway.positions()
        except StoreError:
            yield "The projections cannot be read: palimpsest rebuild makes them anew."
            return
        for name, position in positions.items():
            if position < wanted:
                yield f"The projection {name} is {_many(head - position, 'event')} behind the log."


def _waiting(store: Palimpsest) -> Iterator[str]:
    log = store.gateway.log
    if behind := store.gateway.behind():
        yield f"This store is {_many(behind, 'record')} behind its cluster."
    if waiting := log.verifications.count():
        yield f"{_many(waiting, 'question')} {_verb(waiting)} for the judge."
    if unembedded := log.verifications.unembedded():
        yield f"{_many(unembedded, 'text')} {_verb(unembedded)} for the model, which was down."
    if letters := DeadLetters(log).count("open"):
        yield f"{_many(letters, 'input')} could not be read: palimpsest dead-letters list."


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _verb(count: int) -> str:
    return "waits" if count == 1 else "wait"
