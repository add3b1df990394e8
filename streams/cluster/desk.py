"""A partition's desk: where a request is carried out for that partition's owners alone."""

from __future__ import annotations

import logging
from collections.abc import Callable

from palimpsest.contracts.commands import Operation
from palimpsest.contracts.errors import RefusedError, TransientError
from palimpsest.contracts.events import AnyEvent
from palimpsest.contracts.requests import AnyRequest
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.write.commit import Reply
from palimpsest.streams.write.desk import Rehearsal, WriterDesk
from palimpsest.streams.write.writer import Writer

_log = logging.getLogger(__name__)


class Interrupted(TransientError):
    """A request was left half-way because the partition is given up; it will come again."""


class PartitionDesk(WriterDesk):
    """The writer's desk for one request, which is left between any two steps when told to.

    Each commit before the last tells whoever asked how many commands were run so far.
    """

    def __init__(
        self,
        writer: Writer,
        is_mine: Callable[[str], bool],
        is_ending: Callable[[], bool],
        is_in_doubt: Callable[[], bool],
        request_id: str,
    ) -> None:
        super().__init__(writer)
        self._is_mine = is_mine
        self._is_ending = is_ending
        self._is_in_doubt = is_in_doubt
        self._request_id = request_id
        self._steps = 0

    def met_a_bug(self, request: AnyRequest, error: Exception) -> None:
        """Log it; raise it where the brokers may have what the log has not."""
        if self._is_in_doubt():
            raise error
        _log.error("a request met a bug: %s", request.request_id, exc_info=error)

    def ledger(self, owner_id: str) -> Ledger:
        """As `WriterDesk.ledger`."""
        self.go_on_or_leave()
        return super().ledger(owner_id)

    def run(self, command: Operation) -> list[AnyEvent]:
        """As `WriterDesk.run`; another partition's owner is refused."""
        if not self._is_mine(command.owner_id):
            raise RefusedError("wrong_partition", "the owner belongs to another partition")
        self.step()
        return super().run(command)

    def checkpoint(self) -> None:
        """Commit, and tell whoever asked that it goes on."""
        self.writer.pending.answers.append(Reply(self._request_id, {"so_far": self._steps}))
        self.writer.commit()
        self.go_on_or_leave()

    def rehearsal(self) -> Rehearsal:
        """As `WriterDesk.rehearsal`."""
        return _PartitionRehearsal(self)

    def step(self) -> None:
        """One more command is run."""
        self.go_on_or_leave()
        self._steps += 1

    def go_on_or_leave(self) -> None:
        """Interrupted where the partition is given up."""
        if self._is_ending():
            raise Interrupted("the partition is given up: what is left of a request comes again")


class _PartitionRehearsal(Rehearsal):
    """A rehearsal that is left, and tells that it goes on, as the desk does."""

    def __init__(self, desk: PartitionDesk) -> None:
        super().__init__(desk.log, desk.policy, desk.writer.clock)
        self._desk = desk

    def ledger(self, owner_id: str) -> Ledger:
        self._desk.go_on_or_leave()
        return super().ledger(owner_id)

    def run(self, command: Operation) -> list[AnyEvent]:
        self._desk.step()
        return super().run(command)

    def checkpoint(self) -> None:
        super().checkpoint()
        self._desk.checkpoint()
