"""One partition's writer: records in, decisions published, on the one thread that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from pydantic import ValidationError

from contracts.errors import InvalidInputError, RefusedError, TransientError, UsageError
from contracts.events import AnyEvent, Decided, Invalid, PolicySet, Redecided
from contracts.policy import Policy
from contracts.questions import AnyQuestion
from contracts.requests import REQUEST, AnyRequest, SessionRequest
from contracts.wire import encode
from streams.cluster.copy import PublishedLog
from streams.cluster.partitions import partition_of
from streams.cluster.questions import question_record
from streams.cluster.records import Done, Outgoing, Record, letter_record, read
from streams.cluster.topics import Topics
from streams.core.ledger import Ledger
from streams.core.questions import compose_question, settle_question
from streams.core.touched import Touched
from streams.embedded.desk import Answer, WriterDesk
from streams.embedded.inputs import Input, Outcome
from streams.embedded.operations import carry_out
from streams.embedded.writer import Effect, Window, Writer, no_effect
from streams.embedder import Embedder
from streams.intake import RawRow

SOURCE = "memory.candidates"
"""The `source` of bare rows that name none; the same whatever the topic's prefix."""
POLICY_KEY = b"policy"
"""Of all records of the policies: the last one is left when the topic is compacted."""


def _nobody_is_told(_done: Sequence[tuple[int, AnyEvent, Touched]]) -> None:
    """A worker has no projections: those who follow the topic have."""


class Interrupted(TransientError):
    """A request was left half-way because the partition is given up; it will come again."""


class _Desk(WriterDesk):
    """The writer's desk, which is left between two steps of a long request when told to."""

    def __init__(self, writer: Writer, is_ending: Callable[[], bool]) -> None:
        super().__init__(writer)
        self._is_ending = is_ending

    def ledger(self, owner_id: str) -> Ledger:
        if self._is_ending():
            raise Interrupted("the partition is given up: what is left of a request comes again")
        return super().ledger(owner_id)

    def checkpoint(self) -> None:
        super().checkpoint()
        if self._is_ending():
            raise Interrupted("the partition is given up: what is left of a request comes again")


@dataclass(frozen=True, slots=True)
class Opened:
    """Records whose new texts are being embedded; those decided on before are left out."""

    records: Sequence[Record]
    window: Window


class PartitionWriter:
    """Decides what comes in one partition of the two input topics.

    `log` is caught up with the decisions topic, and publishes what is appended to it. `inputs` are
    the ids of the input topics by their names.
    """

    def __init__(
        self,
        log: PublishedLog,
        partition: int,
        topics: Topics,
        inputs: Mapping[str, str],
        policy: Policy,
        embedder: Callable[[], Embedder],
        clock: Callable[[], datetime],
        effect: Effect = no_effect,
    ) -> None:
        recorded = log.last_policy()
        wanted = policy if recorded is None else Policy.model_validate(recorded.data.policy)
        self.log = log
        self.writer = Writer(log, wanted, embedder, clock, _nobody_is_told, effect)
        self._desk = _Desk(self.writer, lambda: self.ending)
        self.ending = False
        self.partition = partition
        self._topics = topics
        log.publish_beside(self._beside)
        self._inputs = inputs
        self._clock = clock

    def _is_new(self, record: Record) -> bool:
        """Whether no decision that is at the brokers says that it is done with."""
        return not self.log.is_done(self._done(record), self.partition)

    def _done(self, record: Record) -> Done:
        return Done(record.topic, self._inputs[record.topic], record.offset)

    # -- candidates, and whatever else producers say -----------------------------------------------

    def open(self, records: Sequence[Record]) -> Opened:
        """Read records of the candidates topic and have new texts embedded."""
        new = [record for record in records if self._is_new(record)]
        inputs = [read(record, SOURCE, self._topics.partitions) for record in new]
        window = self.writer.open_window(inputs, lambda outcomes: self._finish(new, outcomes))
        return Opened(new, window)

    def close(self, opened: Opened) -> list[Outcome]:
        """Decide, publish and fold; returns when the brokers have it."""
        return self.writer.close_window(opened.window)

    def forget(self, opened: Opened) -> None:
        """They will not be decided on here."""
        self.writer.forget_window(opened.window)

    def _finish(self, records: Sequence[Record], outcomes: Sequence[Outcome]) -> None:
        """What is published with a window's decisions: dead letters, and how far it goes."""
        rejected = {event.id for event in self.log.appended if isinstance(event, Invalid)}
        for record, outcome in zip(records, outcomes, strict=True):
            if outcome.decision_id in rejected:
                letters = self._topics.name("dead_letters")
                letter = letter_record(letters, record, outcome, self._clock())
                self.log.others.append(letter)
                rejected.discard(outcome.decision_id)
        for record in records[-1:]:
            self.log.done.append(self._done(record))

    def _beside(self, events: Sequence[AnyEvent]) -> list[Outgoing]:
        """What other topics than the decisions are told of these."""
        return [*self._questions(events), *self._policies(events)]

    def _policies(self, events: Sequence[AnyEvent]) -> Iterator[Outgoing]:
        """The policy in force, for whoever wants to know it without reading a log."""
        topic = self._topics.name("policies")
        for event in events:
            if isinstance(event, PolicySet):
                yield Outgoing(topic, encode(event), POLICY_KEY, partition=0)

    def _questions(self, events: Sequence[AnyEvent]) -> list[Outgoing]:
        """What the judge is asked: about candidates that became pending, and for lost texts."""
        topic = self._topics.name("verifications")
        asked = [*self._to_settle(events), *self._to_compose()]
        records = (question_record(topic, question) for question in asked if question is not None)
        return [record for record in records if record is not None]

    def _to_settle(self, events: Sequence[AnyEvent]) -> Iterator[AnyQuestion | None]:
        for event in events:
            if isinstance(event, Decided | Redecided) and event.data.decision == "pending":
                ledger = self.writer.owners.get(event.owner_id).ledger
                yield settle_question(ledger, event.subject, self.writer.policy)

    def _to_compose(self) -> Iterator[AnyQuestion | None]:
        for decision_id, owner_id in self.log.lost_texts.items():
            ledger = self.writer.owners.get(owner_id).ledger
            yield compose_question(ledger, decision_id, self.writer.policy)

    # -- what people say ---------------------------------------------------------------------------

    def carry_out(self, record: Record) -> None:
        """Carry a request out, and publish its answer with what it did."""
        if not self._is_new(record):
            return
        try:
            request = REQUEST.validate_json(record.value)
        except ValidationError as error:
            self._reject(record, f"no request: {error.error_count()} errors")
            return
        answer = self._answer(request)
        self.writer.commit(lambda: self._reply(record, request, answer))

    def _answer(self, request: AnyRequest) -> dict[str, Any]:
        try:
            self._check_place(request)
            done: Answer = carry_out(self._desk, request)
        except RefusedError as error:
            return {"refused": {"reason": error.reason, "detail": error.detail}}
        except UsageError as error:
            return {"usage": str(error)}
        except BaseException:
            self.writer.abandon()
            raise
        return {"done": done}

    def _check_place(self, request: AnyRequest) -> None:
        """Only an owner's own partition may say anything about it."""
        if not isinstance(request, SessionRequest):
            return
        if partition_of(request.owner_id, self._topics.partitions) != self.partition:
            raise RefusedError("wrong_partition", "the owner belongs to another partition")

    def _reply(self, record: Record, request: AnyRequest, answer: dict[str, Any]) -> None:
        key = request.request_id.encode()
        body = orjson.dumps(answer)
        self.log.others.append(Outgoing(self._topics.name("answers"), body, key))
        self.log.done.append(self._done(record))

    def _reject(self, record: Record, detail: str) -> None:
        row = RawRow(record.value, "memory.commands")
        unreadable = Input(row, InvalidInputError("field", detail))
        window = self.writer.open_window(
            [unreadable], lambda outcomes: self._finish([record], outcomes)
        )
        self.writer.close_window(window)
