"""Both projections of a store, kept up to the log by the process that writes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import AnyEvent
from palimpsest.projections.changes import Changes
from palimpsest.projections.projector import Projector
from palimpsest.projections.source import Effect, EventSource, Progress, no_effect
from palimpsest.streams.core.touched import Touched

_log = logging.getLogger(__name__)


class LiveProjections:
    """What follows a writer's commits. `begin` comes before the first, while the lock is held."""

    def __init__(self, folder: Path, source: EventSource, *, effect: Effect = no_effect) -> None:
        self.projector = Projector(folder, source, effect=effect)
        self._source = source
        self._changes = Changes()
        self._seen = 0
        self._followed: int | None = None

    @property
    def begun(self) -> bool:
        """Whether no other process can have written since the last commit."""
        return self._followed is not None

    def begin(self) -> None:
        """Repair the projections and catch up with the log."""
        head = self._source.head()
        if head != self._seen:
            self._changes = Changes()
        for repair in self.projector.start().done:
            _log.warning("projections repaired from the log: %s", repair)
        self._followed = self._seen = head

    def follow(self, done: Sequence[tuple[int, AnyEvent, Touched]]) -> None:
        """Project a commit's events, each with its position and what it touched, on a thread."""
        if self._followed is None or done[0][0] != self._followed + 1:
            # An interrupt came between an earlier commit and its rows.
            self.begin()
            return
        for position, event, touched in done:
            self._changes.add(position, event, touched)
        rows = self._changes.take()
        if rows is not None:
            try:
                self.projector.submit(rows)
            except StoreError:  # an earlier commit failed; the log has what is missing
                self.begin()
                return
        self._followed = self._seen = done[-1][0]

    def keep_up(self) -> None:
        """Project what an interrupt kept from `follow`."""
        if self._followed is not None and self._followed < self._source.head():
            self.begin()

    def show(self) -> None:
        """Return when everything that was committed is visible.

        StoreError where the projections cannot be written, and not be repaired from the log either.
        """
        self.keep_up()
        try:
            self.projector.flush()
        except StoreError:
            self.begin()

    def when_quiet(self, then: Callable[[], None]) -> None:
        """Call `then` once nothing waits to be written, perhaps on another thread."""
        self.projector.when_quiet(then)

    def end(self) -> bool:
        """Another may write from now on; False, and nothing is ended, while rows wait."""
        if not self.projector.is_quiet():
            return False
        self._followed = None
        return True

    def rebuild(self, which: Iterable[str], progress: Progress | None) -> dict[str, Any]:
        """Recreate projections from the log beside the live ones, then swap them in."""
        return self.projector.rebuild(which, progress)

    def close(self) -> None:
        """Write what waits, and end the projector's thread."""
        self.projector.close()
