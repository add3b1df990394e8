"""One partition's writer: records in, decisions published, on the one thread that decides."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from palimpsest.contracts.errors import InvalidInputError, PalimpsestError
from palimpsest.contracts.events import AnyEvent, PolicySet
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.questions import AnyQuestion
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster.answers import answer_record, progress_record
from palimpsest.streams.cluster.copy import PublishedLog
from palimpsest.streams.cluster.desk import PartitionDesk
from palimpsest.streams.cluster.metrics import Metrics
from palimpsest.streams.cluster.partitions import partition_of
from palimpsest.streams.cluster.questions import question_record
from palimpsest.streams.cluster.records import (
    Done,
    Outgoing,
    Record,
    letter_record,
    policy_record,
    read,
)
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.core.questions import compose_question, settle_question
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.intake import RawRow
from palimpsest.streams.write.desk import Answer
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.serving import Asked, serve, understood
from palimpsest.streams.write.writer import Effect, Window, Writer, no_effect

_log = logging.getLogger(__name__)

SOURCE = "memory.candidates"
"""The `source` of bare rows that name none; the same whatever the topic's prefix."""


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
        metrics: Metrics,
        effect: Effect = no_effect,
    ) -> None:
        recorded = log.last_policy()
        wanted = policy if recorded is None else Policy.model_validate(recorded.data.policy)
        self.log = log
        # A worker has no projections, which would be told too: those who follow the topic have.
        self.writer = Writer(log, wanted, embedder, clock, metrics.decided, effect)
        self._metrics = metrics
        self.ending = False
        self.partition = partition
        self._topics = topics
        log.publish_beside(self._beside)
        self._inputs = inputs
        self._clock = clock

    def _is_mine(self, owner_id: str) -> bool:
        return partition_of(owner_id, self._topics.partitions) == self.partition

    def _new(self, records: Sequence[Record]) -> list[Record]:
        """Those that no decision that is at the brokers says are done with."""
        begin = {
            topic: self.log.first_undone(topic, self._inputs[topic], self.partition)
            for topic in {record.topic for record in records}
        }
        return [record for record in records if record.offset >= begin[record.topic]]

    def _done(self, record: Record) -> Done:
        return Done(record.topic, self._inputs[record.topic], record.offset)

    # -- candidates, and whatever else producers say -----------------------------------------------

    def open(self, records: Sequence[Record]) -> Opened:
        """Read records of the candidates topic and have new texts embedded."""
        with self._metrics.stage("read"):
            new = self._new(records)
            inputs = [read(record, SOURCE, self._topics.partitions) for record in new]
            window = self.writer.open_window(inputs, lambda outcomes: self._finish(new, outcomes))
            return Opened(new, window)

    def close(self, opened: Opened) -> list[Outcome]:
        """Decide, publish and fold; returns when the brokers have it."""
        with self._metrics.stage("decide"):
            return self.writer.close_window(opened.window)

    def _finish(self, records: Sequence[Record], outcomes: Sequence[Outcome]) -> None:
        """What is published with a window's decisions: dead letters, and how far it goes.

        Equal bytes are one `invalid` event, and as many letters as records: each has headers and a
        place of its own.
        """
        letters = self._topics.name("dead_letters")
        for record, outcome in zip(records, outcomes, strict=True):
            if outcome.result == "invalid":
                letter = letter_record(letters, record, outcome, self._clock())
                self.log.others.append(letter)
        for record in records[-1:]:
            self.log.done.append(self._done(record))

    def _beside(self, events: Sequence[AnyEvent]) -> list[Outgoing]:
        """What other topics than the decisions are told of these."""
        return [*self._questions(), *self._policies(events)]

    def _policies(self, events: Sequence[AnyEvent]) -> Iterator[Outgoing]:
        """The policy in force, for whoever wants to know it without reading a log."""
        topic = self._topics.name("policies")
        for event in events:
            if isinstance(event, PolicySet):
                yield policy_record(topic, encode(event))

    def _questions(self) -> list[Outgoing]:
        """What the judge is asked: about candidates whose question opened, and for lost texts."""
        topic = self._topics.name("verifications")
        asked = [*self._to_settle(), *self._to_compose()]
        records = (question_record(topic, question) for question in asked if question is not None)
        return [record for record in records if record is not None]

    def _to_settle(self) -> Iterator[AnyQuestion | None]:
        for candidate_id, owner_id in self.log.questions.items():
            ledger = self.writer.owners.get(owner_id).ledger
            yield settle_question(ledger, candidate_id, self.writer.policy)

    def _to_compose(self) -> Iterator[AnyQuestion | None]:
        for decision_id, owner_id in self.log.lost_texts.items():
            ledger = self.writer.owners.get(owner_id).ledger
            yield compose_question(ledger, decision_id, self.writer.policy)

    # -- what people say ---------------------------------------------------------------------------

    def carry_out(self, record: Record) -> None:
        """Carry a request out, and publish its answer with what it did."""
        if not self._new([record]):
            return
        try:
            request = understood(record.value)
        except InvalidInputError as error:
            self._reject(record, error)
            return
        answers = self._topics.name("answers")
        about = answers, request.request_id
        desk = PartitionDesk(
            self.writer,
            self._is_mine,
            lambda: self.ending,
            lambda commands: self.log.others.append(progress_record(*about, commands)),
        )

        def reply(answer: Answer) -> None:
            self.log.others.append(answer_record(*about, answer))
            self.log.done.append(self._done(record))

        with self._metrics.stage("decide"):
            self._serve(desk, Asked(request, reply))

    def _serve(self, desk: PartitionDesk, asked: Asked) -> None:
        """Carry a request out. Who meets a bug is told so: it must not stop all after it."""
        try:
            serve(desk, [asked])
        except (PalimpsestError, OSError):
            raise
        except Exception as error:
            if self.log.in_doubt:
                raise
            _log.exception("a request met a bug: %s", asked.request.request_id)
            answer = {"failed": type(error).__name__}
            self.writer.abandon()
            self.writer.commit(lambda: asked.reply(answer))

    def _reject(self, record: Record, error: InvalidInputError) -> None:
        row = RawRow(record.value, "memory.commands")
        window = self.writer.open_window(
            [Input(row, error)], lambda outcomes: self._finish([record], outcomes)
        )
        self.writer.close_window(window)
