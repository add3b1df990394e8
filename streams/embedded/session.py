"""The session of the process that holds the writer's lock: it decides, and serves the inbox."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Protocol

import orjson

from palimpsest.contracts.answers import Answer, Done, Failed, Misused
from palimpsest.contracts.errors import InvalidInputError, ModelError, PalimpsestError, UsageError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.policy import Policy, recorded_policy
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedded.inbox import Inbox, Item, gathered_uses, unpack
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import Commit, Reply
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import PendingRequest, parse_request, serve_all
from palimpsest.streams.write.writer import Effect, Writer, no_effect

_log = logging.getLogger(__name__)

KEPT = timedelta(days=1)
"""How long an answer is kept for its caller, which may have died."""
SERVED_AT_ONCE = 64
"""Number of inbox items served before the writer continues with its own work."""


def append(log: Log, commit: Commit) -> list[int]:
    """Append a commit's events, questions, dead letters and answers; returns the positions.

    Uses that came too soon wait in the inbox. When this returns, all of it is on the disk; if it
    raises, none of it is.
    """
    inbox, dead_letters = Inbox(log), DeadLetters(log)
    with log.transaction():
        positions = log.append([event for event, _ in commit.events])
        for position, (event, touched) in zip(positions, commit.events, strict=True):
            log.follow_touched(event.owner_id, touched, position)
        for letter in commit.dead_letters:
            dead_letters.add(letter)
        inbox.keep_uses(commit.uses)
        for reply in commit.answers:
            assert isinstance(reply.address, int)
            inbox.answer(reply.address, orjson.dumps(reply.to_json()))
    return positions


class Projections(Protocol):
    """Follows a session's commits: a store's projections."""

    @property
    def begun(self) -> bool:
        """Whether they follow this session and no other process can have written since then."""

    def begin(self) -> None:
        """Catch up with the log, and follow from there."""

    def follow(self, done: Sequence[tuple[int, AnyEvent, Touched]]) -> None:
        """Project a commit's events on another thread."""


class WriterSession:
    """A writer while the lock is held.

    If the lock is taken again later, it first folds what other processes wrote.
    """

    def __init__(
        self,
        log: Log,
        owners: Owners,
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
        projections: Projections,
        effect: Effect = no_effect,
    ) -> None:
        self._projections = projections
        self.writer = Writer(
            log, owners, partial(append, log), policy, embedder, clock, projections.follow, effect
        )
        self._inbox = Inbox(log)
        self._clock = clock

    def begin(self) -> None:
        """Catch up with the log: fold what other processes wrote, and repair the projections.

        Nothing is done if the lock was held since the last call.
        """
        if self._projections.begun:
            return
        recorded = self.writer.log.last_policy()
        if recorded is not None and recorded.data.hash != self.writer.policy.hash:
            self.writer.use_policy(recorded_policy(recorded.data))
        self._inbox.forget(self._clock() - KEPT)
        self.writer.owners.catch_up()
        self._projections.begin()

    def serve_all(self) -> None:
        """Serve everything in the inbox."""
        while self.serve():
            pass

    def serve(self) -> bool:
        """Serve some items of the inbox, the oldest first; returns whether there were any.

        If candidates need a model that cannot be used, they are left, as are all candidates after
        them, and requests are served. Then the model's error is raised.
        """
        if self._inbox.is_idle():  # the usual case, after every call of this process
            return False
        self._record_uses()
        items = self._inbox.waiting(SERVED_AT_ONCE)
        unusable: ModelError | UsageError | None = None
        for kind, some in groupby(items, key=lambda item: item.kind):
            if kind == "request":
                serve_all(self.writer, filter(None, map(self._parse, some)))
            elif unusable is None:
                try:
                    for item in some:
                        self._serve_candidates(item)
                except (ModelError, UsageError) as error:
                    unusable = error
        if unusable is not None:
            raise unusable
        return bool(items)

    def serve_others(self) -> bool:
        """Like `serve`, once a call of this process is done, which must not fail by others' items.

        What needs a model that this process cannot use is left to the processes that asked.
        """
        try:
            return self.serve()
        except (ModelError, UsageError) as error:
            _log.warning("what other processes left here waits for a model: %s", error)
            return False

    def _record_uses(self) -> None:
        """Record gathered uses of owners whose last recorded uses are a minute old.

        Uses from several processes become one event.
        """
        gathered: dict[str, list[Item]] = {}
        for item in self._inbox.uses():
            gathered.setdefault(item.origin, []).append(item)
        for owner_id, items in gathered.items():
            notices = gathered_uses(item.body for item in items)
            with self.writer.undone_on_failure():
                if self.writer.record_uses(owner_id, notices):
                    self.writer.pending.answers += [Reply(item.id, Done({})) for item in items]
                    self.writer.commit()

    def _parse(self, item: Item) -> PendingRequest | None:
        """The request of an item; None for an unreadable one, which is answered with the error."""
        try:
            return PendingRequest(parse_request(item.body), item.id)
        except InvalidInputError as error:
            self._answer(item, Misused(error.detail))
            return None

    def _serve_candidates(self, item: Item) -> None:
        """Decide on an item's candidates; a bug becomes its answer, and later items are served."""
        try:
            window = self.writer.open_window(unpack(item.body), ahead=False)
            self.writer.close_window(window, item.id)
        except (PalimpsestError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - the process that left the item raises it
            self._answer(item, Failed(type(error).__name__))

    def _answer(self, item: Item, answer: Answer) -> None:
        """Answer an item that had no other effect."""
        self.writer.pending.answers.append(Reply(item.id, answer))
        self.writer.commit()
