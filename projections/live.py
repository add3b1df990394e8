"""Keeps both projections of a store up to date in the process that writes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import AnyEvent, PolicySet
from palimpsest.projections.base.changes import RowChanges
from palimpsest.projections.base.source import Effect, EventSource, Progress, no_effect
from palimpsest.projections.projector import Projector
from palimpsest.projections.sharing import StartHelper, no_helper
from palimpsest.streams.core.touched import Touched

_log = logging.getLogger(__name__)


class LogFollower(Protocol):
    """Another process that projects the committed events."""

    @property
    def running(self) -> bool:
        """Whether it is still running."""

    def finish(self) -> None:
        """Let it project the rest, if it still can, and return when it has ended."""


class LiveProjections:
    """Follows a writer's commits. Call `begin` before the first one, while holding the lock."""

    def __init__(self, folder: Path, source: EventSource, *, effect: Effect = no_effect) -> None:
        self.projector = Projector(folder, source, effect=effect)
        self._source = source
        self._changes = RowChanges()
        self._seen = 0
        self._followed: int | None = None
        self._follower: LogFollower | None = None

    @property
    def begun(self) -> bool:
        """Whether no other process can have written since the last commit."""
        return self._followed is not None or self._follower is not None

    def begin(self) -> None:
        """Repair the projections and catch up with the log."""
        head = self._source.head()
        if head != self._seen:
            self._changes = RowChanges()
        for repair in self.projector.start().done:
            _log.warning("projections repaired from the log: %s", repair)
        self._followed = self._seen = head

    def follow(self, done: Sequence[tuple[int, AnyEvent, Touched]]) -> None:
        """Project a commit's events, with their positions and changes, on a thread."""
        if self._follower is not None:
            if self._follower.running:
                return
            _log.warning("the process that projected has died: this one continues")
            self._take_back()
        if self._followed is None or done[0][0] != self._followed + 1:
            # An interrupt came between an earlier commit and its rows.
            self.begin()
            return
        if any(isinstance(event, PolicySet) and event.data.changes_models for _, event, _ in done):
            self.begin()  # such an event changes rows of every owner
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

    @contextmanager
    def leave_to(self, start: Callable[[], LogFollower]) -> Iterator[None]:
        """While the block runs, let another process project what is committed.

        If this process needs the projections, the other one ends early and this one continues.
        """
        self.show()
        try:
            self._follower = start()
            self._followed = None
        except OSError as error:
            _log.warning("no second process could be started to project: %s", error)
        try:
            yield
        finally:
            self._take_back()
            if self._followed is None:
                self.begin()

    def _take_back(self) -> None:
        """Project in this process again; `begin` comes before the next commit is followed."""
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.finish()

    def keep_up(self) -> None:
        """Project what an interrupt prevented in `follow`."""
        if self._followed is not None and self._followed < self._source.head():
            self.begin()

    def show(self) -> None:
        """Return when everything committed is visible.

        StoreError if the projections can neither be written nor repaired from the log.
        """
        if self._follower is not None:
            self._take_back()
            self.begin()
        self.keep_up()
        try:
            self.projector.flush()
        except StoreError:
            self.begin()

    def when_quiet(self, then: Callable[[], None]) -> None:
        """Call `then` once nothing waits to be written, perhaps on another thread."""
        self.projector.when_quiet(then)

    def end(self) -> bool:
        """Let other processes write from now on; False, without effect, while rows wait."""
        if not self.projector.is_quiet():
            return False
        self._followed = None
        return True

    def rebuild(
        self,
        which: Iterable[str],
        progress: Progress | None,
        start_helper: StartHelper = no_helper,
    ) -> dict[str, Any]:
        """Recreate projections from the log beside the live ones, then swap them in."""
        self._take_back()
        return self.projector.rebuild(which, progress, start_helper)

    def close(self) -> None:
        """Write waiting rows, and stop the projector's thread."""
        self.projector.close()
