"""Access to a store: writes directly if this process holds the lock, else through the inbox."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import orjson

from palimpsest.backends.fold_process import start_helper
from palimpsest.backends.projector_process import ProjectorProcess
from palimpsest.backends.requested import as_asked
from palimpsest.backends.verification import keep_verification
from palimpsest.contracts.answers import A_co, Answer, from_json, result, result_or_refusal
from palimpsest.contracts.errors import (
    NewerError,
    PalimpsestError,
    RefusedError,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.contracts.events import Use
from palimpsest.contracts.policy import Policy, recorded_policy
from palimpsest.contracts.requests import Request, is_dry_run
from palimpsest.process.paths import PROJECTIONS_FOLDER
from palimpsest.process.signals import between_windows
from palimpsest.projections.duckdb.queries import views_file
from palimpsest.projections.duckdb.segments import reached
from palimpsest.projections.lancedb.store import FOLDER as LANCE_FOLDER
from palimpsest.projections.lancedb.store import read_state
from palimpsest.projections.live import LiveProjections
from palimpsest.projections.recall.from_ledger import Recollections
from palimpsest.projections.recall.mentions import MentionIndexes
from palimpsest.projections.sharing import Helper
from palimpsest.projections.verify import verify
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.embedded.inbox import Inbox, ItemKind, gathered_uses, outcomes_of, pack
from palimpsest.streams.embedded.lock import WriterLock
from palimpsest.streams.embedded.pipeline import WINDOW, Rows, decide_all, run
from palimpsest.streams.embedded.session import Session
from palimpsest.streams.embedder import Embedder, Engine
from palimpsest.streams.intake import RawRow, understand
from palimpsest.streams.intake.parsing import NO_RENAMES
from palimpsest.streams.log.checking import check_log
from palimpsest.streams.log.log import Log
from palimpsest.streams.log.pages import check_pages
from palimpsest.streams.write.answered import answer_of
from palimpsest.streams.write.executor import DryRun
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import PendingRequest, execute, serve, serve_all
from palimpsest.streams.write.uses import summed

_log = logging.getLogger(__name__)

POLL_SECONDS = 0.02
"""Interval at which an answer, or the lock, is polled."""
RELEASED_SECONDS = 2.0
"""How long to wait for the lock, which a process keeps for a moment after its calls return."""
PATIENCE_SECONDS = 30.0
"""How long to wait for the projections of a new store."""
FOLDED_EVENTS = 5_000
"""The longest history that is folded to answer a recall: loading LanceDB takes about as long."""
AWAITED = 500
"""Answers that are polled at once: only the first ones, because they come in order."""

Wait = Literal["durable", "visible"]
"""When a writing call returns: when its events are durable, or when all readers see them."""
_unfinished: set[LocalGateway] = set()
"""Gateways that still write projections after their calls have returned."""


@atexit.register
def _finish() -> None:
    """Finish the projections of stores that were not closed before the process exits."""
    for gateway in [*_unfinished]:
        try:
            gateway.finish()
        except PalimpsestError as error:
            _log.warning(
                "the projections of %s are behind; the next process repairs them: %s",
                gateway.folder,
                error,
            )


os.register_at_fork(after_in_child=_unfinished.clear)


class LocalGateway:
    """One process's gateway to a store: the lock, the inbox, and the session behind them."""

    def __init__(
        self,
        folder: Path,
        log: Log,
        policy: Policy,
        load: Callable[[], Embedder],
        wait: Wait = "durable",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.log = log
        self.projections = folder / PROJECTIONS_FOLDER
        self._wanted = self._known = policy
        self._load = load
        self._inbox = Inbox(log)
        self._lock = WriterLock(folder)
        self._embedder: Embedder | None = None
        self._session: Session | None = None
        self._live = LiveProjections(self.projections, log)
        self._visible = wait == "visible"
        self._beside = False
        self._checked = False
        self._calls = 0
        self._releasing = Lock()
        self.recollections = Recollections()
        self.mention_indexes = MentionIndexes()

    def close(self) -> None:
        """Flush the projections, stop the threads and close the files."""
        try:
            self._live.close()
        finally:
            self._release()
            if self._embedder is not None:
                self._embedder.close()
            self.log.close()

    def embedder(self) -> Embedder:
        """The embedder, loaded when it is first needed."""
        if self._embedder is None:
            self._embedder = self._load()
        return self._embedder

    @contextmanager
    def embedding_by(self, engine: Engine) -> Iterator[None]:
        """Embed with another engine of the model while the block runs."""
        usual, self._embedder = self.embedder(), Embedder(engine)
        try:
            yield
        finally:
            self._embedder.close()
            self._embedder = usual

    @contextmanager
    def projecting_beside(self) -> Iterator[None]:
        """While the block runs, a second process projects what is streamed."""
        self._beside = True
        try:
            yield
        finally:
            self._beside = False

    def policy_in_force(self) -> Policy:
        """The recorded policy; before the first candidate, the one that it will record."""
        recorded = self.log.last_policy()
        if recorded is None:
            return self._wanted
        if recorded.data.hash != self._known.hash:
            self._known = recorded_policy(recorded.data)
        return self._known

    def owners(self, only: str | None = None) -> list[str]:
        """The owners of memories: all, or `only` this one, if it has any."""
        return [owner for owner in self.log.owners() if only in (None, owner)]

    def follows(self) -> bool:
        """Whether the store follows a cluster's decisions."""
        return self.log.row("SELECT 1 FROM followed LIMIT 1") is not None

    def behind(self) -> int | None:
        """How many records the store is behind a cluster's decisions; None if that is unknown."""
        return None

    def _require_own(self) -> None:
        """RefusedError if the store follows a cluster: only the cluster may decide."""
        if self.follows():
            raise RefusedError(
                "follows_a_cluster",
                "the store follows a cluster, which alone decides: give its --bootstrap",
            )

    @contextmanager
    def writing(self, *, serves: bool = True) -> Iterator[Session | None]:
        """The writing session while the lock is held; None if another process holds it.

        Before the block ends, everything is durable, and the inbox is served, unless `serves` is
        False. The lock is released later, once both projections are up to date; a call that comes
        before that continues the session.
        """
        if not self._enter():
            yield None
            return
        try:
            session = self._opened()
            if not self._checked:
                check_pages(self.log)
                self._checked = True
            session.begin()
            yield session
            if serves:
                session.serve()
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

    def finish(self) -> None:
        """Flush the projections; while the process exits, no more requests are served."""
        self._live.show()

    def _opened(self) -> Session:
        if self._session is None:
            self._session = Session(
                self.log, self._owners, self._wanted, self.embedder, self.clock, self._live
            )
        return self._session

    def refresh(self) -> None:
        """Repair the projections and catch up, unless another process writes and does it.

        If that process is creating the store, wait for it; TransientError if that takes too long.
        On a read-only disk, the projections are read as they are.
        """
        if self.log.sealed:
            return
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with self.writing(serves=False) as session:
                if session is not None:
                    session.serve()
                    self._live.show()
                    return
            if views_file(self.projections).is_file():
                return
            if time.monotonic() > deadline:
                raise self._busy()
            time.sleep(POLL_SECONDS)

    def wait_for(self, position: int, timeout: float) -> None:
        """Wait until the projections have the log up to a position."""
        self.refresh()
        head = self.log.head()
        if position > head:
            raise UsageError(f"wait_for: the log ends at position {head}, before {position}")
        deadline = time.monotonic() + timeout
        while min(self.positions().values()) < position:
            if time.monotonic() > deadline:
                raise TransientError(
                    f"position {position} is still not readable after {timeout:g} s: another"
                    " process has not projected it yet"
                )
            time.sleep(POLL_SECONDS)
            self.refresh()

    def ledger(self, owner_id: str) -> Ledger:
        """An owner's current ledger; needs neither the lock nor a projection."""
        owners = self._owners
        owners.catch_up()
        ledger = owners.get(owner_id).ledger
        owners.trim()
        return ledger

    def ledger_if_small(self, owner_id: str) -> Ledger | None:
        """Like `ledger`; None for a large owner not in memory: folding would take too long."""
        owners = self._owners
        owners.catch_up()
        if owners.loaded(owner_id) is None:
            events = self.log.count_of(owner_id, FOLDED_EVENTS + 1)
            if not events:
                return Ledger(owner_id)
            if events > FOLDED_EVENTS:
                return None
        ledger = owners.get(owner_id).ledger
        owners.trim()
        return ledger

    @cached_property
    def _owners(self) -> Owners:
        """The ledgers in memory: reading and deciding share them."""
        return Owners(self.log)

    def submit(
        self, inputs: Sequence[Input], renames: Mapping[str, str] = NO_RENAMES
    ) -> list[Outcome]:
        """Decide on inputs here, or leave them to the writing process, which reads them again.

        `renames` are the field names (theirs to ours) that the inputs were read with.
        """
        self._require_own()
        with self.writing() as session:
            if session is not None:
                return decide_all(session.writer, inputs)
        windows = (inputs[start : start + WINDOW] for start in range(0, len(inputs), WINDOW))
        return [one for window in windows for one in self._sent(window, renames)]

    def stream(
        self, inputs: Iterator[Input], renames: dict[str, str]
    ) -> Generator[Sequence[Outcome], None, None]:
        """Decide on many inputs, window by window, and serve others between the windows.

        While another process writes, windows go to it until it releases the lock: a verifier holds
        it only for moments, and an ingest that began in one of them must not stay slow.
        """
        self._require_own()
        with Rows(inputs) as rows:
            while not rows.ended:
                with self.writing() as session:
                    if session is not None:
                        with between_windows() as check, self._projecting():
                            yield from run(session.writer, rows, lambda: (session.serve(), check()))
                        return
                if window := rows.next_window():
                    yield self._sent(window, renames)

    def _projecting(self) -> AbstractContextManager[None]:
        start = partial(ProjectorProcess, self.folder, self._lock)
        return self._live.left_to(start) if self._beside else nullcontext()

    def retry(self, raw: bytes, origin: str, renames: Mapping[str, str]) -> Outcome:
        """Decide on the bytes of a dead letter that came from `origin`."""
        row = RawRow(raw, origin, 1)
        return self.submit([Input(row, understand(row, renames))], renames)[0]

    def _sent(self, window: Sequence[Input], renames: Mapping[str, str]) -> Sequence[Outcome]:
        return outcomes_of(self._left_in_inbox("candidates", pack(window, renames)))

    def ask(self, request: Request[A_co]) -> A_co:
        """Execute a request here, or leave it to the writing process; RefusedError if impossible.

        A dry run is always executed here, on the committed state.
        """
        request = as_asked(request)
        if is_dry_run(request):
            return execute(self.trial(), request)
        self._require_own()
        with self.writing() as session:
            if session is not None:
                return result(serve(session.writer, [PendingRequest(request)])[0])
        answer: Answer[A_co] = from_json(self._left_in_inbox("request", _body(request)))
        return result(answer)

    def answered(self, request_id: str) -> Any:
        """The answer of a recorded request; RefusedError if it was refused."""
        return result(answer_of(self.log, self.log.of_request(request_id)))

    def ask_each(self, requests: Sequence[Request[A_co]]) -> list[A_co | RefusedError]:
        """Execute requests that do not depend on each other; many share a commit.

        If another process writes, all are left in the inbox before the first answer is awaited.
        The inbox is not served here: the caller may have no model to decide on candidates.
        """
        self._require_own()
        with self.writing(serves=False) as session:
            if session is not None:
                answers = serve_all(session.writer, map(PendingRequest, requests))
                return [result_or_refusal(one) for one in answers]
        items = self._inbox.put_each("request", "inbox", map(_body, requests))
        return [result_or_refusal(from_json(one)) for one in self._answers_to(items)]

    def leave_uses(self, owner_id: str, event: bytes) -> None:
        """Leave an owner's gathered uses, as one event, for the next writer."""
        self._inbox.put("uses", owner_id, event)

    def uses_left(self, owner_id: str) -> tuple[Use, ...]:
        """An owner's uses that were left but are not recorded yet."""
        return summed(gathered_uses(item.body for item in self._inbox.uses(owner_id)))

    def uses_are_overdue(self) -> bool:
        """Whether uses were left over a minute ago and are still not recorded."""
        return self._inbox.uses_are_overdue()

    def serve_left(self) -> None:
        """Serve the inbox, unless another process is writing and will do so."""
        with self.writing():
            pass

    def _left_in_inbox(self, kind: ItemKind, body: bytes) -> Any:
        """Leave an item and wait for its answer."""
        return self._answers_to([self._inbox.put(kind, "inbox", body)])[0]

    def _answers_to(self, items: Sequence[int]) -> list[Any]:
        """Wait for the answers to items; if the writer has ended, serve them here."""
        found: dict[int, bytes] = {}
        while waiting := [item for item in items if item not in found]:
            some = self._inbox.take_answers(waiting[:AWAITED])
            found |= some
            if some:
                continue
            with self.writing() as session:
                if session is not None:
                    session.serve_all()
                    continue
            time.sleep(POLL_SECONDS)
        return [orjson.loads(found[item]) for item in items]

    def trial(self) -> DryRun:
        """An executor on the committed state that writes nothing."""
        return DryRun(self.log, self.policy_in_force(), self.clock)

    def positions(self) -> dict[str, int]:
        """The log position that each projection has reached; read without a lock."""
        lance = read_state(self.projections / LANCE_FOLDER)
        return {"lancedb": lance["position"], "duckdb": reached(self.projections)}

    def rebuild(
        self, which: Sequence[str], progress: Callable[[str, float], None] | None
    ) -> dict[str, Any]:
        """Recreate projections. TransientError if another process is writing."""
        with self._alone():
            return self._live.rebuild(which, progress, self._start_helper)

    def verify(self, progress: Callable[[str, float], None] | None) -> dict[str, Any]:
        """Check the log, and compare the projections with its fold, while nothing else writes.

        Raises StoreError if the log itself is damaged: nothing can be compared with it.
        """
        with self._alone():
            head = self.log.head()
            try:
                check_log(self.log, progress)
                self._live.show()
                found = verify(self.log, self.projections, progress, self._start_helper)
            except NewerError:
                raise
            except StoreError as damage:
                keep_verification(self.folder, self.clock(), head, str(damage))
                raise
            keep_verification(self.folder, self.clock(), head, found)
            return found

    def _start_helper(self, end: int) -> Helper | None:
        """Start a second process that helps to fold a long log."""
        return start_helper(self.log.path, end)

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
        """The error if another process is writing: for a following store, its projector."""
        then = "stop its `palimpsest project` meanwhile" if self.follows() else "try again later"
        return TransientError(f"another process is writing to this store: {then}")


def _body(request: Request) -> bytes:
    return request.model_dump_json(exclude_none=True).encode()
