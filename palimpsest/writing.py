"""Who holds the writer's lock decides, projects, and serves what others left in the inbox."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path

from palimpsest.contracts.answers import Answer, Failed, Misused
from palimpsest.contracts.errors import InvalidInputError, PalimpsestError, StoreError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AnyRequest
from palimpsest.parcels import unpack
from palimpsest.paths import PROJECTIONS_FOLDER
from palimpsest.projections.changes import Changes
from palimpsest.projections.projector import Projector
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedded.appending import append
from palimpsest.streams.embedded.inbox import Inbox, Item
from palimpsest.streams.embedded.pipeline import decide_all
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import Reply
from palimpsest.streams.write.executor import WriterExecutor
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.requests import PendingRequest, serve_all, understood
from palimpsest.streams.write.writer import Effect, Writer, no_effect

_log = logging.getLogger(__name__)

KEPT = timedelta(days=1)
"""How long an answer waits for whoever asked; who died does not fetch it."""
SERVED_AT_ONCE = 64
"""How many items of the inbox are served before the writer goes on with its own work."""


class WritingSession:
    """A writer with its projector, for as long as the lock is held.

    It can be held again later: what others wrote meanwhile is folded first.
    """

    def __init__(
        self,
        folder: Path,
        log: Log,
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
        effect: Effect = no_effect,
    ) -> None:
        self._changes = Changes()
        self._seen = 0
        self._told: int | None = None
        self.writer = Writer(
            log, partial(append, log), policy, embedder, clock, self._project, effect
        )
        self.projector = Projector(folder / PROJECTIONS_FOLDER, log, effect=effect)
        self._inbox = Inbox(log)
        self._clock = clock
        self._executor = WriterExecutor(self.writer)

    def begin(self) -> None:
        """Take up where the log is now: fold what others wrote, repair the projections.

        Nothing is to be done while the lock was held since the last call.
        """
        if self._told is not None:
            return
        recorded = self.writer.log.last_policy()
        if recorded is not None and recorded.data.hash != self.writer.policy.hash:
            self.writer.use_policy(Policy.model_validate(recorded.data.policy))
        self._inbox.forget(self._clock() - KEPT)
        self.writer.owners.catch_up()
        self._catch_up()

    def show(self) -> None:
        """Return when everything that was decided is visible.

        StoreError where the projections cannot be written, and not be repaired from the log either.
        """
        self.keep_up()
        try:
            self.projector.flush()
        except StoreError:
            self._catch_up()

    def keep_up(self) -> None:
        """Project what was committed and not handed over: an interrupt may come in between."""
        if self._told is not None and self._told < self.writer.log.head():
            self._catch_up()

    def when_projected(self, then: Callable[[], None]) -> None:
        """Call `then` once both projections have what was decided, perhaps on another thread."""
        self.projector.when_quiet(then)

    def end(self) -> bool:
        """Another may write from now on; False, and nothing is ended, while rows wait."""
        if not self.projector.is_quiet():
            return False
        self._told = None
        return True

    def _catch_up(self) -> None:
        """Have the projections follow the log itself; what was summed up before is forgotten."""
        head = self.writer.log.head()
        if head != self._seen:
            self._changes = Changes()
        for repair in self.projector.start().done:
            _log.warning("projections repaired from the log: %s", repair)
        self._told = self._seen = head

    def close(self) -> None:
        """End the projector's thread."""
        self.projector.close()

    def _project(self, done: Sequence[tuple[int, AnyEvent, Touched]]) -> None:
        if self._told is None or done[0][0] != self._told + 1:
            # An interrupt came between an earlier commit and its rows.
            self._catch_up()
            return
        for position, event, touched in done:
            self._changes.add(position, event, touched)
        rows = self._changes.take()
        if rows is not None:
            try:
                self.projector.submit(rows)
            except StoreError:  # what it met before; the log has all that it has not
                self._catch_up()
                return
        self._told = self._seen = done[-1][0]

    def requests(self, requests: Sequence[AnyRequest]) -> list[Answer]:
        """Carry requests out in their order and commit them, many small ones at once."""
        return serve_all(self._executor, [PendingRequest(request) for request in requests])

    def decide(self, inputs: Sequence[Input]) -> list[Outcome]:
        """Decide on a few inputs at once."""
        return decide_all(self.writer, inputs)

    def serve_all(self) -> None:
        """Carry out everything that waits in the inbox."""
        while self.serve():
            pass

    def serve(self) -> bool:
        """Carry out what waits in the inbox, the oldest first; whether anything did."""
        items = self._inbox.waiting(SERVED_AT_ONCE)
        for kind, some in groupby(items, key=lambda item: item.kind):
            if kind == "request":
                asked = [one for item in some if (one := self._understood(item)) is not None]
                serve_all(self._executor, asked)
            else:
                for item in some:
                    self._serve_candidates(item)
        return bool(items)

    def _understood(self, item: Item) -> PendingRequest | None:
        """The request of an item; who left what is none is told so."""
        try:
            return PendingRequest(understood(item.body), item.id)
        except InvalidInputError as error:
            self._answer(item, Misused(error.detail))
            return None

    def _serve_candidates(self, item: Item) -> None:
        """Decide on an item's candidates. A bug is its answer: it must not stop all after it."""
        try:
            self.writer.close_window(self.writer.open_window(unpack(item.body)), item.id)
        except (PalimpsestError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - whoever left the item raises it
            self._answer(item, Failed(type(error).__name__))

    def _answer(self, item: Item, answer: Answer) -> None:
        """Answer an item of which nothing else came."""
        self.writer.pending.answers.append(Reply(item.id, answer))
        self.writer.commit()
