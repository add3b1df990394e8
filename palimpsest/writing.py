"""Who holds the writer's lock decides, projects, and serves what others left in the inbox."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import orjson
from pydantic import ValidationError

from contracts.errors import PalimpsestError, RefusedError, UsageError
from contracts.events import AnyEvent
from contracts.policy import Policy
from contracts.requests import REQUEST, AnyRequest
from palimpsest.parcels import unpack
from palimpsest.paths import PROJECTIONS_FOLDER
from projections.changes import Changes
from projections.projector import Projector
from streams.core.touched import Touched
from streams.embedded.desk import Answer, WriterDesk
from streams.embedded.inbox import Inbox, Item
from streams.embedded.inputs import Input, Outcome
from streams.embedded.log import Log
from streams.embedded.operations import carry_out
from streams.embedded.pipeline import decide_all
from streams.embedded.writer import Effect, Writer, no_effect
from streams.embedder import Embedder, ModelError

_log = logging.getLogger(__name__)

KEPT = timedelta(days=1)
"""How long an answer waits for whoever asked; who died does not fetch it."""
SERVED_AT_ONCE = 16
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
        self.writer = Writer(log, policy, embedder, clock, self._project, effect)
        self.projector = Projector(folder / PROJECTIONS_FOLDER, log, effect=effect)
        self._inbox = Inbox(log)
        self._clock = clock
        self._desk = WriterDesk(self.writer)

    def begin(self) -> None:
        """Take up where the log is now: fold what others wrote, repair the projections."""
        recorded = self.writer.log.last_policy()
        if recorded is not None and recorded.data.hash != self.writer.policy.hash:
            self.writer.use_policy(Policy.model_validate(recorded.data.policy))
        self._told = None
        self._inbox.forget(self._clock() - KEPT)
        self.writer.owners.catch_up()
        self._catch_up()

    def end(self) -> None:
        """Make everything that was decided visible, before another may write."""
        self.projector.flush()
        if self._told is not None and self._told < self.writer.log.head():
            self._catch_up()

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
            self.projector.submit(rows)
        self._told = self._seen = done[-1][0]

    def request(self, request: AnyRequest, item: Item | None = None) -> Answer:
        """Carry a request out and commit it, with its answer where it came through the inbox."""
        try:
            answer: Answer = {"done": carry_out(self._desk, request)}
        except RefusedError as error:
            answer = {"refused": {"reason": error.reason, "detail": error.detail}}
        except UsageError as error:
            answer = {"usage": str(error)}
        except BaseException:
            self.writer.abandon()
            raise
        self.writer.commit(None if item is None else lambda: self._reply(item, answer))
        return answer

    def _reply(self, item: Item, answer: object) -> None:
        self._inbox.answer(item.id, orjson.dumps(answer))

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
        for item in items:
            self._serve_one(item)
        return bool(items)

    def _serve_one(self, item: Item) -> None:
        """Carry an item out. One that meets a bug is told so: it must not stop all after it."""
        try:
            if item.kind == "request":
                self._serve_request(item)
            else:
                self._serve_candidates(item)
        except (PalimpsestError, ModelError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - whoever left the item raises it
            self.writer.abandon()
            answer = {"failed": type(error).__name__}
            self.writer.commit(lambda: self._reply(item, answer))

    def _serve_candidates(self, item: Item) -> None:
        window = self.writer.open_window(
            unpack(item.body), lambda outcomes: self._reply(item, outcomes)
        )
        self.writer.close_window(window)

    def _serve_request(self, item: Item) -> None:
        try:
            request = REQUEST.validate_json(item.body)
        except ValidationError as error:
            answer = {"usage": f"the request cannot be read: {error.error_count()} errors"}
            self.writer.commit(lambda: self._reply(item, answer))
            return
        self.request(request, item)
