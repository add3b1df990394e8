"""Where a request's commands run: on the writer, or on private ledgers for a dry run."""

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
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.picture import picture
from palimpsest.streams.core.text import content_of
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.inputs import Outcome
from palimpsest.streams.write.owners import fold_owner
from palimpsest.streams.write.recompose import recompose


class Executor(Protocol):
    """Where the commands of a request run: a `Writer`, a `DryRun`, or a partition's writer."""

    @property
    def log(self) -> Log:
        """The log, without what is not committed."""

    @property
    def policy(self) -> Policy:
        """The policy in force."""

    @property
    def clock(self) -> Callable[[], datetime]:
        """The clock of the process that executes the request."""

    def ledger(self, owner_id: str) -> Ledger:
        """The owner's ledger as it is now."""

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log."""

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold; returns the events, as `carried_out` says."""

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Record the refusal of a command by a dry run."""

    def commit(self) -> None:
        """Commit what was done so far of a request."""

    def content(self, text: str) -> Content:
        """A composed text with its hash and vector."""

    def new_text(self, text: str) -> Content:
        """A newcomer's text with its hash, and with its vector unless the model is down."""

    def compared(self, update: Update) -> Update:
        """An agent's update with its near texts, in a scope where forgotten ones are guarded."""

    def embed_late(self, owner_id: str, *, long: bool) -> tuple[int, int]:
        """Embed some texts that lack a vector or windows: how many, and how many are left."""

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """The events by which a candidate would be decided on, or its outcome without any."""

    def set_policy(self, request: PolicyRequest) -> None:
        """Put another policy in force."""


class DryRun:
    """Runs commands on private ledgers that are thrown away: nothing is written.

    The ledgers are those of the log as it is, or as it was up to a position.
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
        """The owner as the log has it, plus what was tried."""
        if owner_id not in self._ledgers:
            self._ledgers[owner_id] = fold_owner(self.log, owner_id, self._upto)
        return self._ledgers[owner_id]

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log, up to the position."""
        return [one.event for one in self.log.of_owner(owner_id, upto=self._upto)]

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold, here only."""
        ledger, now = self.ledger(command.owner_id), self.clock()
        done = execute(command, ledger, self.policy, now)
        done += recompose(command, ledger, self.policy, now, self.content)
        return carried_out(self.log, command, [event for event, _ in done])

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Nothing is recorded here."""

    def commit(self) -> None:
        """Drop the ledgers that are done with: all but the last, of whose owner more may come."""
        for owner_id in [*self._ledgers][:-1]:
            self._ledgers.pop(owner_id).dissolve()

    def content(self, text: str) -> Content:
        """No model is asked in a dry run."""
        return content_of(text)

    def new_text(self, text: str) -> Content:
        """No model is asked in a dry run."""
        return self.content(text)

    def compared(self, update: Update) -> Update:
        """No model is asked in a dry run, so rewordings are not found."""
        return update

    def embed_late(self, owner_id: str, *, long: bool) -> tuple[int, int]:  # noqa: ARG002
        """No model is asked in a dry run."""
        raise UsageError(f"embed requests have no dry run (owner {owner_id})")

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """No model is asked in a dry run, and a check changes nothing anyway."""
        raise UsageError(f"check requests have no dry run ({request.request_id})")

    def set_policy(self, request: PolicyRequest) -> None:
        """There is nothing to try."""
        raise UsageError(f"policy requests have no dry run ({request.request_id})")


# -- what requests need of any of them -----------------------------------------------------------


def owner_of_candidate(executor: Executor, candidate_id: str) -> str:
    """The owner of a candidate; RefusedError for an unknown one.

    The id of a candidate's first decision follows from its own, if that is an id.
    """
    try:
        owner_id = executor.log.owner_of(decision_id_of(candidate_id))
    except ValueError:
        owner_id = None
    if owner_id is None:
        raise RefusedError("unknown_candidate", f"there is no candidate {candidate_id}")
    return owner_id


def owner_of_decision(executor: Executor, decision_id: str) -> str:
    """The owner of a decision; RefusedError for an unknown one."""
    owner_id = executor.log.owner_of(decision_id)
    if not owner_id:
        raise RefusedError("unknown_decision", f"there is no decision {decision_id}")
    return owner_id


def require_owner(owner_id: str, wanted: str | None, what: str) -> None:
    """RefusedError, as for an unknown candidate, if it is not of the wanted owner."""
    if wanted not in (None, owner_id):
        raise RefusedError("unknown_candidate", f"there is no candidate {what}")


def carried_out(log: Log, command: Operation, events: list[AnyEvent]) -> list[AnyEvent]:
    """The events of a command; of one that was carried out before, with its first event of then.

    So a request that comes again is answered as it was. RefusedError for a refusal, whose event is
    committed all the same.
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
    """Run one command of several; its events, and why it could not be: the others still run."""
    try:
        return executor.run(command), []
    except RefusedError as error:
        return [], [not_done(target, error)]


def not_done(target: str, error: RefusedError) -> NotDone:
    """Why a command about a decision or candidate could not be, as answers have it."""
    return {"decision_id": target, "reason": error.reason, "detail": error.detail}


def memories(entries: list[Entry]) -> list[MemoryPicture]:
    """The memories of some candidates, each once, as a person sees them."""
    seen: dict[str, Memory] = {entry.memory.id: entry.memory for entry in entries}
    return [picture(memory) for memory in seen.values()]
