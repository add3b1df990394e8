"""A dry run of a request, which runs its commands on private ledgers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from palimpsest.contracts.commands import Operation, Update
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, Content
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.decide import execute
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.lazy_copy import lazy_copy
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.text import content_of
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.answered import carried_out
from palimpsest.streams.write.owners import Owners, fold_owner
from palimpsest.streams.write.recompose import recompose
from palimpsest.streams.write.writer import Oversight


class DryRun:
    """Runs commands on private ledgers that are discarded: nothing is written.

    The ledgers are lazy copies of those that `owners` has in memory, or else folded from the log,
    now or up to a position. It asks no model.
    """

    def __init__(
        self,
        log: Log,
        policy: Policy,
        clock: Callable[[], datetime],
        upto: int | None = None,
        oversight: Oversight | None = None,
        owners: Owners | None = None,
    ) -> None:
        self.log = log
        self._owners = owners
        self._upto = upto
        self._oversight = oversight
        self.policy = policy
        self.clock = clock
        self._ledgers: dict[str, Ledger] = {}

    def ledger(self, owner_id: str) -> Ledger:
        """The owner's ledger up to the position, with this dry run's changes, at the clock's time.

        Raises if the oversight stops the request.
        """
        if self._oversight is not None:
            self._oversight.require()
        if owner_id not in self._ledgers:
            self._ledgers[owner_id] = (
                fold_owner(self.log, owner_id, self._upto)
                if self._owners is None
                else lazy_copy(self._owners.get(owner_id).ledger)
            )
        ledger = self._ledgers[owner_id]
        if ledger.expiring:
            advance(ledger, ledger.at(self.clock()))
        return ledger

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log, up to the position."""
        return [line.event for line in self.log.of_owner(owner_id, upto=self._upto)]

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold, only on the private ledger.

        Raises RefusedError, like the writer's, and whatever the oversight stops the request with.
        """
        if self._oversight is not None:
            self._oversight.step(command.owner_id)
        ledger, now = self.ledger(command.owner_id), self.clock()
        done = execute(command, ledger, self.policy, now)
        done += recompose(command, ledger, self.policy, now, self.content)
        return carried_out(self.log, command, [event for event, _ in done])

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Do nothing: a dry run records nothing."""

    def commit_part(self) -> None:
        """Drop all ledgers but the last, whose owner may have more commands."""
        for owner_id in [*self._ledgers][:-1]:
            self._ledgers.pop(owner_id).dissolve()
        if self._owners is not None:
            self._owners.trim()
        if self._oversight is not None:
            self._oversight.commit_part()

    def content(self, text: str) -> Content:
        """A text without a vector."""
        return content_of(text)

    new_text = content

    def compared(self, update: Update) -> Update:
        """The update unchanged: its text has no vector, so nothing near it can be found."""
        return update
