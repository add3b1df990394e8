"""The banner of every page: counts of what lags, waits or has failed in the whole store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import StoreError
from palimpsest.projections.duckdb.activity import refused_since
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.web import paths

FRESH_SECONDS = 3.0
"""How long a banner is reused for the next pages."""
QUIET_SECONDS = 600.0
"""How much longer than `RECENT` a refusal may be shown if there are no new events."""
LAG = 1_000
"""Number of events that a projection may lag at the first look."""


RECENT = timedelta(hours=24)
"""How long a refusal is shown."""
UNREADABLE = "The projections cannot be read: palimpsest rebuild recreates them."


class BannerLine(NamedTuple):
    """A line of the banner, and a page with details, if there is one.

    `for_operators`: only operators can act on it.
    """

    text: str
    path: str = ""
    for_operators: bool = False


class Banner:
    """The lines of a store's banner, computed again when they are no longer fresh."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = float("-inf")
        self._head: int | None = None
        self._lines: Sequence[BannerLine] = ()
        self._refused: Sequence[BannerLine] = ()
        self._refused_for: tuple[int | None, float] = (None, float("-inf"))

    def lines(self, store: Palimpsest) -> Sequence[BannerLine]:
        """The current lines; none if all is well."""
        if self._now() >= self._until:
            self._lines = [*self._projections(store), *_waiting(store)]
            self._head = store.reader.log.head()
            self._until = self._now() + FRESH_SECONDS
        return self._lines

    def _projections(self, store: Palimpsest) -> list[BannerLine]:
        try:
            return [*self._lag(store), *self._refusals(store)]
        except StoreError:
            return [BannerLine(UNREADABLE)]

    def _lag(self, store: Palimpsest) -> Iterator[BannerLine]:
        """Projections that have not reached the position that the log had at the previous look.

        They are written after calls return, so a small lag is normal.
        """
        head = store.reader.log.head()
        wanted = head - LAG if self._head is None else self._head
        if self._head is None:  # a new store may have no projection yet
            store.reader.refresh()
        for name, position in store.reader.positions().items():
            if position < wanted:
                behind = counted(head - position, "event")
                yield BannerLine(f"The projection {name} is {behind} behind the log.")

    def _refusals(self, store: Palimpsest) -> Sequence[BannerLine]:
        """Computed again after new events, or after a while: it takes some milliseconds."""
        position, (of, until) = store.reader.positions().get("duckdb"), self._refused_for
        if position != of or self._now() >= until:
            self._refused = [*_refused(store)]
            self._refused_for = position, self._now() + QUIET_SECONDS
        return self._refused


def _refused(store: Palimpsest) -> Iterator[BannerLine]:
    count, latest = refused_since(store.reader.projections, datetime.now(UTC) - RECENT)
    if latest is not None:
        verb = "was" if count == 1 else "were"
        text = f"{counted(count, 'command')} {verb} refused in the last 24 hours."
        yield BannerLine(text, paths.day(latest.date()) + "#words", for_operators=True)


def _waiting(store: Palimpsest) -> Iterator[BannerLine]:
    log = store.reader.log
    if behind := store.writer.behind():
        yield BannerLine(f"This store is {counted(behind, 'record')} behind its cluster.")
    if waiting := log.verifications.count():
        yield BannerLine(f"{counted(waiting, 'question')} {_verb(waiting)} for the judge.")
    if unembedded := log.verifications.unembedded():
        yield BannerLine(
            f"{counted(unembedded, 'text')} {_verb(unembedded)} for the model, which was down."
        )
    if letters := DeadLetters(log).count("open"):
        yield BannerLine(
            f"{counted(letters, 'input')} could not be read: palimpsest dead-letters list."
        )


def _verb(count: int) -> str:
    return "waits" if count == 1 else "wait"
