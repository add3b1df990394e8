"""Where requests are carried out: on the writer for good, or on private ledgers for a rehearsal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from pydantic import ValidationError

from palimpsest.contracts.commands import Operation
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import AnyEvent, Content
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AnyRequest, PolicyRequest
from palimpsest.streams.core.decide import execute
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.text import NORMALISER, text_hash
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.owners import fold_owner
from palimpsest.streams.write.writer import Writer

Answer = dict[str, Any]


class Desk(Protocol):
    """Where commands are carried out."""

    log: Log

    @property
    def policy(self) -> Policy:
        """The policy in force."""

    def ledger(self, owner_id: str) -> Ledger:
        """The owner's ledger as it is now."""

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log."""

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold."""

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Record that a command could not be, where a rehearsal refused it."""

    def checkpoint(self) -> None:
        """Make what was done so far last."""

    def content(self, text: str) -> Content:
        """A composed text with its hash and vector."""

    def set_policy(self, request: PolicyRequest) -> Answer:
        """Put another policy in force."""


class WriterDesk:
    """Commands carried out for good."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.log = writer.log

    def met_a_bug(self, request: AnyRequest, error: Exception) -> None:
        """Called where a request failed; raises the error where it may have been committed."""

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.writer.policy

    def ledger(self, owner_id: str) -> Ledger:
        """The writer's ledger."""
        return self.writer.owners.get(owner_id).ledger

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events that were committed."""
        return [one.event for one in self.log.of_owner(owner_id)]

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold; the writer's next commit makes it last."""
        return self.writer.run(command)

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """As `run`, of a command that a rehearsal refused."""
        self.writer.refuse(command, refusal)

    def checkpoint(self) -> None:
        """Commit."""
        self.writer.commit()

    def content(self, text: str) -> Content:
        """Embedded with the writer's model."""
        vector = self.writer.embed(text)
        return Content(text=text, hash=text_hash(text), normaliser=NORMALISER, vector=vector)

    def set_policy(self, request: PolicyRequest) -> Answer:
        """Record the policy; another model is refused while the log has the old one's vectors."""
        try:
            policy = Policy.model_validate(request.policy)
        except ValidationError as error:
            raise UsageError(f"no policy: {error.error_count()} errors") from None
        if policy.model != self.policy.model and self.log.head():
            raise RefusedError(
                "other_model",
                f"the log holds vectors of {self.policy.model}; {policy.model} needs its own first",
            )
        self.writer.set_policy(policy, event_id(request.request_id, "0"), request.actor)
        return {"policy": policy.name, "hash": policy.hash}

    def rehearsal(self) -> Rehearsal:
        """Where a dry run is carried out: on what is committed."""
        return Rehearsal(self.log, self.policy, self.writer.clock)


class Rehearsal:
    """Commands tried on private ledgers that are thrown away: a dry run writes nothing.

    The ledgers are those of the log as it is, or as it was up to a position.
    """

    def __init__(
        self, log: Log, policy: Policy, clock: Callable[[], datetime], upto: int | None = None
    ) -> None:
        self.log = log
        self._upto = upto
        self._policy = policy
        self._clock = clock
        self._ledgers: dict[str, Ledger] = {}

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._policy

    def ledger(self, owner_id: str) -> Ledger:
        """The owner as the log has it, plus what was rehearsed."""
        if owner_id not in self._ledgers:
            self._ledgers[owner_id] = fold_owner(self.log, owner_id, self._upto)
        return self._ledgers[owner_id]

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log, up to where it is looked at."""
        return [one.event for one in self.log.of_owner(owner_id, upto=self._upto)]

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold, here only."""
        done = execute(command, self.ledger(command.owner_id), self.policy, self._clock())
        return [event for event, _ in done]

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Nothing is recorded here."""

    def checkpoint(self) -> None:
        """Nothing lasts here; what was shown may go, but for the owner of whom more comes."""
        for owner_id in [*self._ledgers][:-1]:
            self._ledgers.pop(owner_id).dissolve()

    def content(self, text: str) -> Content:
        """No model is asked in a rehearsal."""
        return Content(text=text, hash=text_hash(text), normaliser=NORMALISER)

    def set_policy(self, request: PolicyRequest) -> Answer:
        """There is nothing to rehearse."""
        raise UsageError(f"policy requests have no dry run ({request.request_id})")
