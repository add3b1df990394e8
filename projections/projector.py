"""The projector: writes rows of committed events to the projections, on its own thread.

The projections are DuckDB's segments and, if it is installed and the store has them, LanceDB's
tables.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from palimpsest.contracts.errors import PalimpsestError, StoreError
from palimpsest.projections.base.files import not_written, store_errors
from palimpsest.projections.base.rows import Rows
from palimpsest.projections.base.source import Effect, EventSource, Progress, no_effect, no_progress
from palimpsest.projections.batch import Batch, batches
from palimpsest.projections.duckdb.queries import ensure_views
from palimpsest.projections.duckdb.segments import SegmentWriter
from palimpsest.projections.duckdb.store import DuckStore
from palimpsest.projections.lancedb.files import WITHOUT, finish_swap, is_kept
from palimpsest.projections.lancedb.store import FOLDER as LANCE_FOLDER
from palimpsest.projections.lancedb.store import LanceStore
from palimpsest.projections.overlap import write_overlapped
from palimpsest.projections.rebuild import kept_projections, rebuild
from palimpsest.projections.sharing import StartHelper, no_helper

BATCH_ROWS = 6_000
"""Number of rows that are committed without waiting for more."""
MOST_ROWS = 24_000
"""Maximum number of waiting rows; beyond it, `submit` blocks."""
LONGEST_SECONDS = 1.0
IDLE_SECONDS = 0.05
"""If no rows arrive for this time, waiting ones are committed: consecutive calls share a commit."""
_NO_THREADS_AT_EXIT = sys.version_info[:2] == (3, 12)
"""Python 3.12 cannot start a thread while the process exits; other versions can."""


@dataclass(slots=True)
class Report:
    """The result of a start; `done` is empty if nothing was wrong."""

    positions: dict[str, int] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)


class Projector:
    """Keeps the projections up to date. Use it only while holding the writer's lock.

    Call `start` before the first `submit`, and again after another process may have written.
    """

    def __init__(self, folder: Path, source: EventSource, *, effect: Effect = no_effect) -> None:
        self._folder = folder
        self._source = source
        self._effect = effect
        self._duck = DuckStore(folder, effect)
        self._lance = self._lance_if_kept()
        self._seen: object = None
        self._changed = threading.Condition()
        self._pending: Rows | None = None
        self._since = self._latest = 0.0
        self._busy = self._hurry = self._closing = False
        self._failure: BaseException | None = None
        self._failed = False
        self._then: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None

    def _lance_if_kept(self) -> LanceStore | None:
        if not is_kept(self._folder):
            return None
        return LanceStore(self._folder / LANCE_FOLDER, self._effect)

    def positions(self) -> dict[str, int]:
        """The position that each projection has reached."""
        lance = {} if self._lance is None else {"lancedb": self._lance.position}
        return {**lance, "duckdb": self._duck.position}

    # -- start ---------------------------------------------------------------------------------

    def start(self) -> Report:
        """Check the projections, repair them from the log and catch up to its head.

        Rows that the thread could not write are written again, too, and reported.
        """
        report = Report()
        try:
            self.flush()
        except StoreError as failure:
            report.done.append(str(failure))
        with store_errors():
            if self._seen is None or self._seen != self._fingerprint():
                report.done += self._open()
            self._catch_up(self._source.head())
            self._duck.remove_damaged()
            self._seen = self._fingerprint()
        report.positions = self.positions()
        return report

    def catch_up(self) -> None:
        """Like `start`, then tidy up: for a process that only follows the log."""
        self.start()
        with store_errors():
            self._tidy()
            self._seen = self._fingerprint()

    def _tidy(self) -> None:
        self._duck.tidy()
        if self._lance is not None:
            self._lance.tidy()

    def _fingerprint(self) -> object:
        """A cheap fingerprint that changes when another process has written."""
        try:
            names = sorted(path.name for path in (self._folder / "segments").iterdir())
            if self._lance is None:
                return names
            state = (self._folder / LANCE_FOLDER / "position.json").stat()
        except FileNotFoundError:
            return None
        return state.st_mtime_ns, state.st_size, names

    def _open(self) -> list[str]:
        new = not self._folder.exists()
        written = ensure_views(self._folder, self._effect)
        done = ["the views were written"] if written and not new else []
        done += self._duck.open(self._source)
        return done if self._lance is None else done + self._open_lance(self._lance)

    def _open_lance(self, lance: LanceStore) -> list[str]:
        live = self._folder / LANCE_FOLDER
        finish_swap(self._folder / f"{LANCE_FOLDER}.new", live)
        if not live.exists():
            lance.create()
            return []
        try:
            undone = lance.open(self._source.head(), suspect=self._failed)
            self._failed = False
        except StoreError as damage:
            lance.create()
            return [f"{damage}: recreated"]
        return ["a half commit to LanceDB was undone"] if undone else []

    def _catch_up(self, head: int) -> None:
        """Project what is missing, in one fold if both projections are at the same position."""
        for start in sorted({*self.positions().values()} - {head}):
            behind = self._lance is not None and self._lance.position == start
            lance = self._lance if behind else None
            if self._duck.position == start:
                with SegmentWriter(self._folder, start, self._effect) as writer:
                    write_overlapped(
                        batches(self._source, start, head), partial(_write, writer, lance)
                    )
                    if lance is not None:
                        lance.flush()  # a segment counts at once, so do first what can fail
                    self._duck.add(writer, start, head)
            elif lance is not None:
                write_overlapped(batches(self._source, start, head), lance.apply)
            if lance is not None:
                lance.index()
                lance.commit(head)

    # -- rows ----------------------------------------------------------------------------------

    def submit(self, rows: Rows) -> None:
        """Queue rows to be written soon. Blocks if too many wait; raises an earlier failure."""
        with self._changed:
            self._changed.wait_for(self._has_room)
            self._raise_failure()
            if self._thread is None:
                if _NO_THREADS_AT_EXIT and self._lance is not None:
                    import lancedb  # noqa: F401 - importing it starts its worker thread
                self._thread = threading.Thread(target=self._run, name="projector", daemon=True)
                self._thread.start()
            self._latest = time.monotonic()
            if self._pending is None:
                self._pending, self._since = rows, self._latest
            else:
                self._pending.add(rows)
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._pending is None or len(self._pending) < MOST_ROWS or bool(self._failure)

    def flush(self) -> None:
        """Return when everything submitted is visible in both projections."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            self._changed.wait_for(self.is_quiet)
            self._hurry = False
            self._raise_failure()

    def when_quiet(self, then: Callable[[], None]) -> None:
        """Call `then` once when nothing waits: now, or later on the projector's thread."""
        with self._changed:
            quiet = self.is_quiet()
            self._then = None if quiet else then
        if quiet:
            then()

    def is_quiet(self) -> bool:
        """Whether nothing waits to be written, or nothing can be written."""
        return bool(self._failure) or (self._pending is None and not self._busy)

    def _raise_failure(self) -> None:
        """Raise the thread's failure, once; the next `start` repairs what is missing."""
        failure, self._failure = self._failure, None
        if failure is not None:
            self._seen, self._pending, self._failed = None, None, True
            if isinstance(failure, PalimpsestError):
                raise failure
            raise not_written(failure) from failure

    def close(self) -> None:
        """Write waiting rows, and stop the thread."""
        try:
            self.flush()
        finally:
            with self._changed:
                self._closing = True
                self._changed.notify_all()
            if self._thread is not None:
                self._thread.join()
                self._thread = None
            self._closing = False
            self._close_lance()
            self._seen = None

    def _close_lance(self) -> None:
        if self._lance is not None:
            self._lance.close()

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        while (rows := self._next()) is not None:
            try:
                self._commit(rows)
            except BaseException as failure:  # noqa: BLE001 - `submit` raises it
                with self._changed:
                    self._failure = failure
            with self._changed:
                self._busy = False
                then, self._then = (self._then, None) if self.is_quiet() else (None, self._then)
                self._changed.notify_all()
            if then is not None:
                then()

    def _next(self) -> Rows | None:
        """Wait for a batch that is worth a commit; None when closing."""
        with self._changed:
            while not self._is_due():
                if self._closing:
                    return None
                self._changed.wait(IDLE_SECONDS if self._pending is not None else None)
            rows, self._pending = self._pending, None
            self._busy = True
            self._changed.notify_all()
            return rows

    def _is_due(self) -> bool:
        if self._pending is None or self._failure is not None:
            return False
        now = time.monotonic()
        return (
            self._hurry
            or len(self._pending) >= BATCH_ROWS
            or now - self._latest >= IDLE_SECONDS
            or now - self._since >= LONGEST_SECONDS
        )

    def _commit(self, rows: Rows) -> None:
        batch = Batch.of(rows)
        self._duck.commit(batch)
        if self._lance is not None and batch.upto > self._lance.position:
            self._lance.apply(batch)
            self._lance.commit(batch.upto)
        # A store whose writers wait for every call would never be tidied otherwise.
        if not self._hurry or self._duck.is_overdue:
            self._tidy()
        self._seen = self._fingerprint()

    # -- rebuild -------------------------------------------------------------------------------

    def rebuild(
        self,
        which: Iterable[str] = (),
        progress: Progress | None = None,
        start_helper: StartHelper = no_helper,
    ) -> dict[str, Any]:
        """Rebuild projections beside the live ones, compare and swap; all if none is named.

        A named projection is kept up to date from then on. Returns for each name its new
        `position`, its `rows`, and `differences`, the number of rows that were wrong. UsageError if
        a name is unknown, or if LanceDB is named but not installed.
        """
        self.flush()
        names = list(which) or kept_projections(self._folder)
        self._close_lance()
        self._seen = None  # even if it fails, so that the next start opens both again
        with store_errors():
            done = rebuild(
                self._folder,
                self._source,
                names,
                self._duck,
                self._effect,
                progress or no_progress,
                start_helper,
            )
        if "lancedb" in names:
            (self._folder.parent / WITHOUT).unlink(missing_ok=True)
            self._lance = self._lance_if_kept()
        self.start()
        return done


def _write(writer: SegmentWriter, lance: LanceStore | None, batch: Batch) -> None:
    writer.write(batch.tables)
    if lance is not None:
        lance.apply(batch)
