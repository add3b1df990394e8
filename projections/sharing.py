"""Folding a log in two processes, owner by owner; this one alone writes.

LanceDB has one writer, and each table of a segment is one file. So the other process folds owners
and hands over their rows as Arrow, which takes three quarters of the time; handing over whole
projections would leave them in two parts. Owners are handed out a few at a time, to whichever
process is free: how long their histories are does not matter, nor how late the other one starts.
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
"""Events from which on a second process pays; of 50,000 it made nothing faster on busy cores."""
EVENTS_AT_ONCE = 2_000
"""So many events, on average, are handed out together: they are about a batch."""

Part = Sequence[str]
"""Owners that are folded together."""


class Helper(Protocol):
    """Another process that folds owners of the same log."""

    def fold(self, owners: Part) -> list[Batch] | None:
        """The rows of these owners; None where it has ended."""

    def end(self) -> None:
        """Have it end, whatever it is doing."""


StartHelper = Callable[[int], Helper | None]
"""Starts a process that folds a log up to a position; None where it would not pay."""


def no_helper(_end: int) -> Helper | None:
    """Fold in one process."""
    return None


def shared_batches(
    source: EventSource, end: int, progress: Progress, helper: Helper
) -> Generator[Batch, None, None]:
    """What all events up to `end` come to, folded by this process and the helper.

    A part that the helper did not hand over, because it died or failed, is folded here; so what is
    wrong with the log is raised here, too.
    """
    parts = _Parts(source, end)
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
            yield from _handed_over(done, wait=part is None)
            progress("folding the log", parts.share)
        thread.join()
        yield from _handed_over(done, wait=False)
    finally:
        helper.end()
        thread.join()
    progress("folding the log", 1.0)


def _handed_over(done: SimpleQueue[list[Batch]], *, wait: bool) -> Iterator[Batch]:
    """What has been handed over by now, after a moment where nothing else is to be done."""
    try:
        while True:
            yield from done.get(timeout=0.01) if wait else done.get_nowait()
            wait = False
    except Empty:
        return


def _keep_busy(helper: Helper, parts: _Parts, done: SimpleQueue[list[Batch]]) -> None:
    """Have the helper fold parts until none is left, or it has ended; on a thread of its own."""
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


class _Parts:
    """The owners of a log, handed out to two threads; `finished` where all of them are folded."""

    def __init__(self, source: EventSource, end: int) -> None:
        owners = touched_owners(source, 0, end)
        size = max(1, EVENTS_AT_ONCE * len(owners) // max(end, 1))
        self._lock = threading.Lock()
        self._left: deque[Part] = deque(owners[n : n + size] for n in range(0, len(owners), size))
        self._owners = len(owners)
        self._folded = 0

    def take(self) -> Part | None:
        """The next part; None where none is left."""
        with self._lock:
            return self._left.popleft() if self._left else None

    def put_back(self, part: Part) -> None:
        """Have a part folded by the other thread."""
        with self._lock:
            self._left.append(part)

    def note(self, part: Part) -> None:
        """A part is folded."""
        with self._lock:
            self._folded += len(part)

    @property
    def finished(self) -> bool:
        """Whether every owner is folded."""
        return self._folded == self._owners

    @property
    def share(self) -> float:
        """How many of the owners are folded, 0 to 1."""
        return self._folded / self._owners
