"""Executes a request's commands: on the writer, or on private ledgers for a dry run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from palimpsest.contracts.answers import MemoryPicture, NotDone
from palimpsest.contracts.commands import Operation, Update
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import AnyEvent, Content, Refused
from palimpsest.contracts.identity import decision_id_of, event_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import CheckRequest, PolicyRequest
from palimpsest.streams.core.decide import execute
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.picture import picture
from palimpsest.streams.core.text import content_of
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.inputs import Outcome
from palimpsest.streams.write.owners import fold_owner
from palimpsest.streams.write.recompose import recompose


class Executor(Protocol):
    """Executes the commands of a request: a `Writer`, a `DryRun`, or a partition's writer."""

    @property
    def log(self) -> Log:
        """The committed log."""

    @property
    def policy(self) -> Policy:
        """The policy in force."""

    @property
    def clock(self) -> Callable[[], datetime]:
        """The clock of the process that executes the request."""

    def ledger(self, owner_id: str) -> Ledger:
        """The owner's current ledger."""

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log."""

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold; returns the events of `carried_out`."""

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Record the refusal of a command by a dry run."""

    def commit(self) -> None:
        """Commit what a request has done so far."""

    def content(self, text: str) -> Content:
        """A composed text with its hash and vector."""

    def new_text(self, text: str) -> Content:
        """A new text with its hash, and with its vector unless the model is down."""

    def compared(self, update: Update) -> Update:
        """An agent's update with its near texts, in a scope with guarded forgotten texts."""

    def embed_late(self, owner_id: str, *, long: bool) -> tuple[int, int]:
        """Embed some texts that lack a vector or windows; returns both counts: done and left."""

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """The events that would decide on a candidate, or its outcome if there are none."""

    def set_policy(self, request: PolicyRequest) -> None:
        """Put another policy in force."""

    def record(self, event: AnyEvent) -> None:
        """Record an event of the store, which no ledger folds."""


class DryRun:
    """Runs commands on private ledgers that are discarded: nothing is written.

    The ledgers are folded from the log, now or up to a position.
    """

    def __init__(
        self, log: Log, policy: Policy, clock: Callable[[], datetime], upto: int | None = None
    ) -> None:
        self.log = log
        self._upto = upto
        self.policy = policy
        self.clock = clock
        self._ledgers: dict[str, Ledger] = {}

    def ledger(self, owner_id: str) -> Ledger:
        """The owner's ledger from the log, with the changes of this dry run, as of now."""
        if owner_id not in self._ledgers:
            self._ledgers[owner_id] = fold_owner(self.log, owner_id, self._upto)
        ledger = self._ledgers[owner_id]
        if ledger.expiring:
            advance(ledger, ledger.at(self.clock()))
        return ledger

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log, up to the position."""
        return [line.event for line in self.log.of_owner(owner_id, upto=self._upto)]

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold, only on the private ledger."""
        ledger, now = self.ledger(command.owner_id), self.clock()
        done = execute(command, ledger, self.policy, now)
        done += recompose(command, ledger, self.policy, now, self.content)
        return carried_out(self.log, command, [event for event, _ in done])

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Do nothing: a dry run records nothing."""

    def commit(self) -> None:
        """Drop all ledgers but the last, whose owner may have more commands."""
        for owner_id in [*self._ledgers][:-1]:
            self._ledgers.pop(owner_id).dissolve()

    def content(self, text: str) -> Content:
        """A text without a vector: a dry run asks no model."""
        return content_of(text)

    def new_text(self, text: str) -> Content:
        """A text without a vector: a dry run asks no model."""
        return self.content(text)

    def compared(self, update: Update) -> Update:
        """The update unchanged: a dry run asks no model, so it finds no rewordings."""
        return update

    def embed_late(self, owner_id: str, *, long: bool) -> tuple[int, int]:  # noqa: ARG002
        """Raise UsageError: a dry run asks no model."""
        raise UsageError(f"embed requests have no dry run (owner {owner_id})")

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """Raise UsageError: a dry run asks no model, and a check changes nothing anyway."""
        raise UsageError(f"check requests have no dry run ({request.request_id})")

    def set_policy(self, request: PolicyRequest) -> None:
        """Raise UsageError: there is nothing to try."""
        raise UsageError(f"policy requests have no dry run ({request.request_id})")

    def record(self, event: AnyEvent) -> None:
        """Raise UsageError: there is nothing to try."""
        raise UsageError(f"requests of audits have no dry run ({event.subject})")


# -- helpers for requests on any executor --------------------------------------------------------


def owner_of_candidate(executor: Executor, candidate_id: str) -> str:
    """The owner of a candidate; RefusedError if it is unknown.

    The id of a candidate's first decision is derived from the candidate's, if that is a UUID.
    """
    try:
        owner_id = executor.log.owner_of(decision_id_of(candidate_id))
    except ValueError:
        owner_id = None
    if owner_id is None:
        raise RefusedError("unknown_candidate", f"there is no candidate {candidate_id}")
    return owner_id


def owner_of_decision(executor: Executor, decision_id: str) -> str:
    """The owner of a decision; RefusedError if it is unknown."""
    owner_id = executor.log.owner_of(decision_id)
    if not owner_id:
        raise RefusedError("unknown_decision", f"there is no decision {decision_id}")
    return owner_id


def require_owner(owner_id: str, wanted: str | None, what: str) -> None:
    """RefusedError, as for an unknown candidate, if this is not the wanted owner."""
    if wanted not in (None, owner_id):
        raise RefusedError("unknown_candidate", f"there is no candidate {what}")


def carried_out(log: Log, command: Operation, events: list[AnyEvent]) -> list[AnyEvent]:
    """The events of a command; if it was carried out before, with its first event of that time.

    So a repeated request gets the same answer. Raises RefusedError if the command was refused; the
    refusal's event is committed all the same.
    """
    first = event_id(command.command_id, "0")
    before = None if any(event.id == first for event in events) else log.find(first)
    events = events if before is None else [before.event, *events]
    for event in events:
        if isinstance(event, Refused):
            raise RefusedError(event.data.reason, event.data.detail)
    return events


def run_one(
    executor: Executor, command: Operation, target: str
) -> tuple[list[AnyEvent], list[NotDone]]:
    """Run one command of several; returns its events, and any refusal, so that others still run."""
    try:
        return executor.run(command), []
    except RefusedError as error:
        return [], [not_done(target, error)]


def not_done(target: str, error: RefusedError) -> NotDone:
    """The refusal of a command about a decision or candidate, in the form of answers."""
    return {"decision_id": target, "reason": error.reason, "detail": error.detail}


def memories(entries: list[Entry]) -> list[MemoryPicture]:
    """The memories of some candidates, each once, in the form for people."""
    seen: dict[str, Memory] = {entry.memory.id: entry.memory for entry in entries}
    return [picture(memory) for memory in seen.values()]
