"""Where a request's commands run: on the writer for good, or on private ledgers for a dry run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from pydantic import ValidationError

from palimpsest.contracts.answers import JsonObject
from palimpsest.contracts.commands import Operation, Update
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import AnyEvent, Content, Refused
from palimpsest.contracts.identity import decision_id_of, event_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AnyRequest, CheckRequest, PolicyRequest
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.picture import picture
from palimpsest.streams.core.text import NORMALISER, text_hash
from palimpsest.streams.intake import RawRow, understand
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import fold_owner
from palimpsest.streams.write.recompose import execute_whole
from palimpsest.streams.write.writer import Writer


class Executor(Protocol):
    """Where the commands of a request run."""

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
        """Record that a command could not be, where a dry run refused it."""

    def now(self) -> datetime:
        """The time, by the clock of the process that carries it out."""

    def checkpoint(self) -> None:
        """Make what was done so far last."""

    def content(self, text: str) -> Content:
        """A composed text with its hash and vector."""

    def new_text(self, text: str) -> Content:
        """A newcomer's text with its hash, and with its vector unless the model is down."""

    def compared(self, update: Update) -> Update:
        """An agent's update with what is near its text, where rewordings of something wait."""

    def embed_late(self, owner_id: str) -> int:
        """Embed some of the texts that have no vector yet; how many."""

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """The events by which a candidate would be decided on, or its outcome without any."""

    def set_policy(self, request: PolicyRequest) -> JsonObject:
        """Put another policy in force."""


class WriterExecutor:
    """Runs commands for good, on the writer's ledgers."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.log = writer.log

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
        """As `run`, of a command that a dry run refused."""
        self.writer.refuse(command, refusal)

    def now(self) -> datetime:
        """The writer's clock."""
        return self.writer.clock()

    def checkpoint(self) -> None:
        """Commit."""
        self.writer.commit()

    def content(self, text: str) -> Content:
        """Embedded with the writer's model."""
        return self.writer.content(text)

    def new_text(self, text: str) -> Content:
        """Embedded with the writer's model, if that is up."""
        return self.writer.new_text(text)

    def compared(self, update: Update) -> Update:
        """By the writer's indexes."""
        return self.writer.compared(update)

    def embed_late(self, owner_id: str) -> int:
        """By the writer's model, which is tried again now if it was down."""
        return self.writer.embed_late(self.ledger(owner_id), try_again=True)

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """As the writer would decide now; nothing is changed."""
        row = RawRow(request.row.encode(), request.source, 1, request.request_id)
        return self.writer.foresee(Input(row, understand(row)))

    def set_policy(self, request: PolicyRequest) -> JsonObject:
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

    def met_a_bug(self, request: AnyRequest, error: Exception) -> None:
        """Called where a request failed; raises the error where it may have been committed."""

    def dry_run(self) -> DryRun:
        """Where a dry run is executed: on what is committed."""
        return DryRun(self.log, self.policy, self.writer.clock)


class DryRun:
    """Runs commands on private ledgers that are thrown away: nothing is written.

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
        """The owner as the log has it, plus what was tried."""
        if owner_id not in self._ledgers:
            self._ledgers[owner_id] = fold_owner(self.log, owner_id, self._upto)
        return self._ledgers[owner_id]

    def recorded(self, owner_id: str) -> list[AnyEvent]:
        """The owner's events in the log, up to where it is looked at."""
        return [one.event for one in self.log.of_owner(owner_id, upto=self._upto)]

    def run(self, command: Operation) -> list[AnyEvent]:
        """Decide and fold, here only."""
        ledger = self.ledger(command.owner_id)
        done = execute_whole(command, ledger, self.policy, self._clock(), self.content)
        return [event for event, _ in done]

    def refuse(self, command: Operation, refusal: RefusedError) -> None:
        """Nothing is recorded here."""

    def now(self) -> datetime:
        """The clock that it was given."""
        return self._clock()

    def checkpoint(self) -> None:
        """Nothing lasts here; what was shown may go, but for the owner of whom more comes."""
        for owner_id in [*self._ledgers][:-1]:
            self._ledgers.pop(owner_id).dissolve()

    def content(self, text: str) -> Content:
        """No model is asked in a dry run."""
        return Content(text=text, hash=text_hash(text), normaliser=NORMALISER)

    def new_text(self, text: str) -> Content:
        """No model is asked in a dry run."""
        return self.content(text)

    def compared(self, update: Update) -> Update:
        """No model is asked in a dry run, so rewordings are not found."""
        return update

    def embed_late(self, owner_id: str) -> int:
        """No model is asked in a dry run."""
        raise UsageError(f"embed requests have no dry run (owner {owner_id})")

    def foresee(self, request: CheckRequest) -> Outcome | list[AnyEvent]:
        """No model is asked in a dry run, and a check changes nothing anyway."""
        raise UsageError(f"check requests have no dry run ({request.request_id})")

    def set_policy(self, request: PolicyRequest) -> JsonObject:
        """There is nothing to try."""
        raise UsageError(f"policy requests have no dry run ({request.request_id})")


# -- what requests need of any of them -----------------------------------------------------------


def command_fields(request: AnyRequest, owner_id: str, target: str) -> dict[str, Any]:
    """What a command about one target says because its request did; the same when asked again."""
    return {
        "command_id": event_id(request.request_id, target),
        "owner_id": owner_id,
        "actor": request.actor,
        "because": request.because,
    }


def owner_of_candidate(executor: Executor, candidate_id: str) -> str:
    """Whose candidate it is; RefusedError for an unknown one.

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
    """Whose decision it is; RefusedError for an unknown one."""
    owner_id = executor.log.owner_of(decision_id)
    if not owner_id:
        raise RefusedError("unknown_decision", f"there is no decision {decision_id}")
    return owner_id


def require_owner(owner_id: str, wanted: str | None, what: str) -> None:
    """RefusedError, as of an unknown candidate, where it is not the owner's who is named."""
    if wanted not in (None, owner_id):
        raise RefusedError("unknown_candidate", f"there is no candidate {what}")


def run_once(executor: Executor, command: Operation) -> list[AnyEvent]:
    """The events of one command, those of old where it was carried out before.

    So a request that is asked again is answered as it was, also where it was refused.
    """
    events = executor.run(command)
    first = event_id(command.command_id, "0")
    before = None if any(event.id == first for event in events) else executor.log.find(first)
    return events if before is None else [before.event, *events]


def run_or_refuse(executor: Executor, command: Operation) -> list[AnyEvent]:
    """As `run_once`; its refusal is raised, and committed by the code that answers."""
    events = run_once(executor, command)
    for event in events:
        if isinstance(event, Refused):
            raise RefusedError(event.data.reason, event.data.detail)
    return events


def memories(entries: list[Entry]) -> list[Any]:
    """The memories of some candidates, each once, as a person sees them."""
    seen: dict[str, Memory] = {entry.memory.id: entry.memory for entry in entries}
    return [picture(memory) for memory in seen.values()]
