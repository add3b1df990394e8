"""Keeps a store's projections up to date, and holds its lock while this process writes."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from palimpsest.backends.fold_process import start_helper
from palimpsest.backends.paths import PROJECTIONS_FOLDER
from palimpsest.backends.projector_process import ProjectorProcess
from palimpsest.backends.verification import keep_verification
from palimpsest.contracts.errors import NewerError, PalimpsestError, StoreError, TransientError
from palimpsest.projections.duckdb.queries import views_file
from palimpsest.projections.live import LiveProjections
from palimpsest.projections.sharing import Helper
from palimpsest.projections.verify import verify
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.embedded.session import WriterSession
from palimpsest.streams.log.checking import check_log
from palimpsest.streams.log.log import Log
from palimpsest.streams.log.pages import check_pages

_log = logging.getLogger(__name__)

POLL_SECONDS = 0.02
"""Interval at which an answer, or the lock, is polled."""
RELEASED_SECONDS = 2.0
"""Timeout for the lock: a process keeps it for a moment after its calls have returned."""
PATIENCE_SECONDS = 30.0
"""Timeout for the projections of a new store."""

_unfinished: set[Upkeep] = set()
"""Stores whose projections are still being written, although their calls have returned."""


@atexit.register
def _finish() -> None:
    """Finish the projections of stores that were not closed before the process exits."""
    for upkeep in [*_unfinished]:
        try:
            upkeep.show()
        except PalimpsestError as error:
            _log.warning(
                "the projections of %s are behind; the next process repairs them: %s",
                upkeep.folder,
                error,
            )


os.register_at_fork(after_in_child=_unfinished.clear)


class Upkeep:
    """The writer's lock of one store, the session while it is held, and the projections."""

    def __init__(
        self,
        folder: Path,
        log: Log,
        clock: Callable[[], datetime],
        open_session: Callable[[LiveProjections], WriterSession],
        *,
        visible: bool,
    ) -> None:
        self.folder = folder
        self._log = log
        self._clock = clock
        self._open_session = open_session
        self._projections = folder / PROJECTIONS_FOLDER
        self._lock = WriterLock(folder)
        self._session: WriterSession | None = None
        self._live = LiveProjections(self._projections, log)
        self._visible = visible
        self._beside = False
        self._checked = False
        self._calls = 0
        self._releasing = Lock()

    def close(self) -> None:
        """Flush the projections and stop their thread; the lock is released."""
        try:
            self._live.close()
        finally:
            self._release()

    @contextmanager
    def writing(self, *, serves: bool = True) -> Iterator[WriterSession | None]:
        """The writing session while the lock is held; None if another process holds it.

        Before the block ends, everything is durable, and the inbox is served, unless `serves` is
        False. The lock is released later, once both projections are up to date; a call that comes
        before that continues the session. Raises StoreError if the log is not in its place.
        """
        self._log.require_in_place()
        if not self._enter():
            yield None
            return
        try:
            if self._session is None:
                self._session = self._open_session(self._live)
            session = self._session
            if not self._checked:
                check_pages(self._log)
                self._checked = True
            session.begin()
            yield session
            if serves:
                session.serve_others()
            if self._visible:
                self._live.show()
        finally:
            self._leave()

    def _enter(self) -> bool:
        """Begin a call with the writer's lock; False if another process holds it."""
        with self._releasing:
            entered = self._lock.try_acquire()
            self._calls += entered
            return entered

    def _leave(self) -> None:
        """End a call; the lock is released once everything that was written is projected."""
        try:
            self._live.keep_up()
        finally:
            self._calls -= 1
            _unfinished.add(self)
            self._live.when_quiet(self._release)

    def _release(self) -> None:
        """Release the lock unless a later call needs it; called on any thread."""
        with self._releasing:
            if self._calls or not self._live.end():
                return
            self._lock.release()
            _unfinished.discard(self)

    def show(self) -> None:
        """Make everything written visible to readers; no request is served meanwhile."""
        self._live.show()

    def refresh(self) -> None:
        """Repair the projections and catch up, unless another process is writing, which does so.

        If that process is creating the store, wait for it; TransientError if that takes too long.
        On a read-only disk, the projections are read as they are.
        """
        if self._log.sealed:
            return
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with self.writing(serves=False) as session:
                if session is not None:
                    session.serve_others()
                    self._live.show()
                    return
            if views_file(self._projections).is_file():
                return
            if time.monotonic() > deadline:
                raise self._busy()
            time.sleep(POLL_SECONDS)

    @contextmanager
    def projecting_beside(self) -> Iterator[None]:
        """While the block runs, a second process projects what is streamed."""
        self._beside = True
        try:
            yield
        finally:
            self._beside = False

    def projecting(self) -> AbstractContextManager[None]:
        """While the block runs, let a second process project if `projecting_beside` is active."""
        start = partial(ProjectorProcess, self.folder, self._lock)
        return self._live.leave_to(start) if self._beside else nullcontext()

    def rebuild(
        self, which: Sequence[str], progress: Callable[[str, float], None] | None
    ) -> dict[str, Any]:
        """Recreate projections. TransientError if another process is writing."""
        with self._alone():
            return self._live.rebuild(which, progress, self._start_helper)

    def verify(self, progress: Callable[[str, float], None] | None) -> dict[str, Any]:
        """Check the log, and compare the projections with its fold, while nothing else writes.

        Raises StoreError if the log itself is damaged, because nothing can be compared with it.
        """
        with self._alone():
            head = self._log.head()
            try:
                check_log(self._log, progress)
                self._live.show()
                found = verify(self._log, self._projections, progress, self._start_helper)
            except NewerError:
                raise
            except StoreError as damage:
                keep_verification(self.folder, self._clock(), head, str(damage))
                raise
            keep_verification(self.folder, self._clock(), head, found)
            return found

    def _start_helper(self, end: int) -> Helper | None:
        """Start a second process that helps to fold a long log."""
        return start_helper(self._log.path, end)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the writer's lock; TransientError if another process keeps writing."""
        deadline = time.monotonic() + RELEASED_SECONDS
        while True:
            with self.writing() as session:
                if session is not None:
                    yield
                    return
            if time.monotonic() > deadline:
                raise self._busy()
            time.sleep(POLL_SECONDS)

    def _busy(self) -> TransientError:
        """The error if another process, or a following store's projector, is writing."""
        following = follows(self._log)
        then = "stop its `palimpsest project` meanwhile" if following else "try again later"
        return TransientError(f"another process is writing to this store: {then}")


def follows(log: Log) -> bool:
    """Whether a store's decisions come from a cluster."""
    return log.row("SELECT 1 FROM followed LIMIT 1") is not None
