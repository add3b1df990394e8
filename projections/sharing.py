"""Folds a log in two processes, owner by owner; only this one writes.

LanceDB has one writer, and each table of a segment is one file, so separate projections could not
be combined. Instead, the other process folds some of the owners and returns their rows as Arrow:
making these rows is three quarters of the work on an owner. Owners are handed out a few at a time,
to whichever process is free, so it does not matter how long their histories are, or how late the
other process starts.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from typing import Protocol

from palimpsest.projections.base.source import EventSource, Progress
from palimpsest.projections.batch import Batch, batches_of
from palimpsest.projections.fold import touched_owners

MANY_EVENTS = 100_000
"""Number of events from which a second process pays off; with 50,000 it was no faster."""
EVENTS_AT_ONCE = 2_000
"""Average number of events per part, which is about a batch."""

Part = Sequence[str]
"""Owners that are folded together."""


class Helper(Protocol):
    """Another process that folds owners of the same log."""

    def fold(self, owners: Part) -> list[Batch] | None:
        """The rows of these owners; None if it has ended."""

    def end(self) -> None:
        """Stop it, whatever it is doing."""


StartHelper = Callable[[int], Helper | None]
"""Starts a process that folds a log up to a position; None if it is not worth it."""


def no_helper(_end: int) -> Helper | None:
    """Fold in one process."""
    return None


def shared_batches(
    source: EventSource, end: int, progress: Progress, helper: Helper
) -> Generator[Batch, None, None]:
    """The rows of all events up to `end`, folded by this process and the helper.

    If the helper dies or fails, its part is folded here, so errors in the log are raised here, too.
    """
    parts = _SharedParts(source, end)
    done: SimpleQueue[list[Batch]] = SimpleQueue()
    thread = threading.Thread(target=_keep_busy, args=(helper, parts, done), daemon=True)
    thread.start()
    try:
        while not parts.finished:
            part = parts.take()
            if part is not None:
                with closing(batches_of(source, part, 0, end)) as found:
                    yield from found
                parts.note(part)
            yield from _receive(done, wait=part is None)
            progress("folding the log", parts.share)
        thread.join()
        yield from _receive(done, wait=False)
    finally:
        helper.end()
        thread.join()
    progress("folding the log", 1.0)


def _receive(done: SimpleQueue[list[Batch]], *, wait: bool) -> Iterator[Batch]:
    """The batches received so far; with `wait`, it waits a moment for one."""
    try:
        while True:
            yield from done.get(timeout=0.01) if wait else done.get_nowait()
            wait = False
    except Empty:
        return


def _keep_busy(helper: Helper, parts: _SharedParts, done: SimpleQueue[list[Batch]]) -> None:
    """Let the helper fold parts until none is left or it has ended; on its own thread."""
    while (part := parts.take()) is not None:
        found = None
        try:
            found = helper.fold(part)
        finally:
            if found is None:
                parts.put_back(part)
        if found is None:
            return
        done.put(found)
        parts.note(part)


class _SharedParts:
    """The owners of a log, handed out to two threads; `finished` when all are folded."""

    def __init__(self, source: EventSource, end: int) -> None:
        owners = touched_owners(source, 0, end)
        size = max(1, EVENTS_AT_ONCE * len(owners) // max(end, 1))
        self._lock = threading.Lock()
        self._left: deque[Part] = deque(owners[n : n + size] for n in range(0, len(owners), size))
        self._owners = len(owners)
        self._folded = 0

    def take(self) -> Part | None:
        """The next part; None if none is left."""
        with self._lock:
            return self._left.popleft() if self._left else None

    def put_back(self, part: Part) -> None:
        """Return a part for the other thread."""
        with self._lock:
            self._left.append(part)

    def note(self, part: Part) -> None:
        """Count a part as folded."""
        with self._lock:
            self._folded += len(part)

    @property
    def finished(self) -> bool:
        """Whether every owner is folded."""
        return self._folded == self._owners

    @property
    def share(self) -> float:
        """The share of owners that are folded, 0 to 1."""
        return self._folded / self._owners
