"""A partition's desk: where a request is carried out for that partition's owners alone."""

from __future__ import annotations

from collections.abc import Callable

from palimpsest.contracts.commands import Operation
from palimpsest.contracts.errors import RefusedError, TransientError
from palimpsest.contracts.events import AnyEvent
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.write.desk import Rehearsal, WriterDesk
from palimpsest.streams.write.writer import Writer


class Interrupted(TransientError):
    """A request was left half-way because the partition is given up; it will come again."""


class PartitionDesk(WriterDesk):
    """The writer's desk for one request, which is left between any two steps when told to.

    `tell` is called in each transaction before the last, with the commands that were run so far.
    """

    def __init__(
        self,
        writer: Writer,
        is_mine: Callable[[str], bool],
        is_ending: Callable[[], bool],
        tell: Callable[[int], None],
    ) -> None:
        super().__init__(writer)
        self._is_mine = is_mine
        self._is_ending = is_ending
        self._tell = tell
        self._steps = 0

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
        self.writer.commit(lambda: self._tell(self._steps))
        self.writer.owners.trim()
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
