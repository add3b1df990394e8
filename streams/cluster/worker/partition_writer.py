"""One partition's writer: records in, decisions published, on the deciding thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aiokafka.errors import MessageSizeTooLargeError

from palimpsest.contracts.answers import Misused, SoFar
from palimpsest.contracts.commands import Access
from palimpsest.contracts.errors import (
    InvalidInputError,
    PalimpsestError,
    RefusedError,
    StoreError,
    TransientError,
)
from palimpsest.contracts.events import AnyEvent, PolicySet
from palimpsest.contracts.policy import Policy, recorded_policy
from palimpsest.contracts.questions import AnyQuestion
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster.questions import question_record
from palimpsest.streams.cluster.records import (
    Outgoing,
    Record,
    answer_record,
    dead_letter,
    dead_letter_record,
    policy_record,
    read,
)
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.producer import Publish
from palimpsest.streams.cluster.worker.replica import Followed, PartitionReplica
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.questions import compose_question, settle_question
from palimpsest.streams.core.skips import named_namespaces
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.intake import RawRow
from palimpsest.streams.log.log import Lines
from palimpsest.streams.write.commit import Commit, InputOffset, OpenQuestions, Reply
from palimpsest.streams.write.inputs import Input, Outcome
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import (
    PendingRequest,
    fail,
    parse_request,
    parts,
    serve,
    serve_alone,
)
from palimpsest.streams.write.windows import Window
from palimpsest.streams.write.writer import Effect, Writer, no_effect

_log = logging.getLogger(__name__)

SOURCE = "memory.candidates"
"""The `source` of bare rows without one, whatever the topic's prefix."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Records whose new texts are being embedded, without those decided on before."""

    records: Sequence[Record]
    window: Window


class PartitionWriter:
    """Decides on the input of one partition of both input topics.

    `log` is caught up with the decisions topic up to `decisions`; events are committed to it only
    after `publish` has published them. `inputs` are the ids of the input topics by name, and
    `embedder_of` returns a model's embedder. `in_doubt`: the brokers may have decisions that the
    log lacks, which only another assignment finds out.
    """

    def __init__(
        self,
        log: PartitionReplica,
        publish: Publish,
        decisions: Followed,
        topics: Topics,
        inputs: Mapping[str, str],
        policy: Policy,
        embedder_of: Callable[[str], Embedder],
        clock: Callable[[], datetime],
        metrics: Metrics,
        effect: Effect = no_effect,
    ) -> None:
        recorded = log.last_policy()
        wanted = policy if recorded is None else recorded_policy(recorded.data)
        self.log = log
        self._publish = publish
        self._decisions = decisions
        self.in_doubt = False
        self._metrics = metrics
        self.writer = Writer(
            log,
            Owners(log),
            self._append,
            wanted,
            lambda: embedder_of(self.writer.policy.model),
            clock,
            self._decided,  # no projections: they are in the stores that follow the topic
            effect,
        )
        self.writer.time_checks(metrics.checked)
        self.ending = False
        self._uses: dict[str, list[Access]] = {}
        self.partition = decisions.partition
        self._topics = topics
        self._inputs = inputs
        self._clock = clock

    def _decided(self, done: Sequence[tuple[int, AnyEvent, Touched]]) -> None:
        self._metrics.decided(done, named_namespaces(self.writer.policy))

    def is_mine(self, owner_id: str) -> bool:
        """Whether the owner belongs to this partition."""
        return partition_of(owner_id, self._topics.partitions) == self.partition

    def _new(self, records: Sequence[Record]) -> list[Record]:
        """The records that no published decision marks as decided."""
        begin = {
            topic: self.log.first_undone(topic, self._inputs[topic], self.partition)
            for topic in {record.topic for record in records}
        }
        return [record for record in records if record.offset >= begin[record.topic]]

    def _finished(self, record: Record) -> InputOffset:
        return InputOffset(record.topic, self._inputs[record.topic], record.offset)

    # -- candidates and notices of producers -------------------------------------------------------

    def open(self, records: Sequence[Record]) -> Opened:
        """Read records of the candidates topic and submit new texts to the embedder."""
        with self._metrics.stage("read"):
            new = self._new(records)
            inputs = [read(record, SOURCE, self._topics.partitions) for record in new]
            return Opened(new, self.writer.open_window(inputs))

    def close(self, opened: Opened, answers: Sequence[Reply] = ()) -> list[Outcome]:
        """Decide, fold and publish, with `answers`; returns when the brokers have everything.

        Equal bytes give one `invalid` event, but a dead letter per record, because each has its own
        headers and place.
        """
        with self._metrics.stage("decide"), self.writer.undone_on_failure():
            outcomes = self.writer.decide(opened.window)
            self.writer.pending.dead_letters = [
                dead_letter(record, outcome, self._clock())
                for record, outcome in zip(opened.records, outcomes, strict=True)
                if outcome.result == "invalid"
            ]
            self.writer.pending.answers += answers
            self.writer.pending.offsets += map(self._finished, opened.records[-1:])
            self.writer.commit()
        return outcomes

    @property
    def uses_wait(self) -> bool:
        """Whether gathered uses that came too soon wait to be recorded."""
        return bool(self._uses)

    def record_uses(self) -> None:
        """Record waiting uses of owners whose last recorded uses are a minute old.

        Uses wait in memory, so the partition's next worker does not have them.
        """
        with self.writer.undone_on_failure():
            due = [
                owner_id
                for owner_id, uses in self._uses.items()
                if self.writer.record_uses(owner_id, uses)
            ]
            if due:
                self.writer.commit()
        for owner_id in due:
            del self._uses[owner_id]

    # -- requests ----------------------------------------------------------------------------------

    def carry_out(self, records: Sequence[Record]) -> None:
        """Execute requests in order, and publish their answers with their events.

        Many small ones in a row are published in one transaction. Raises Interrupted if the
        partition is revoked between two transactions.
        """
        asked: list[PendingRequest] = []
        for record in self._new(records):
            try:
                request = parse_request(record.value)
            except InvalidInputError as error:
                self._serve_all(asked)
                asked = []
                self._reject(record, error)
            else:
                asked.append(PendingRequest(request, request.request_id, self._finished(record)))
        self._serve_all(asked)

    def _reject(self, record: Record, error: InvalidInputError) -> None:
        row = RawRow(record.value, "memory.commands")
        opened = Opened([record], self.writer.open_window([Input(row, error)]))
        key = (record.key or b"").decode(errors="replace")
        self.close(opened, [Reply(key, Misused(error.detail))] if key else ())

    def _serve_all(self, asked: Sequence[PendingRequest]) -> None:
        for part in parts(asked):
            oversight = RequestOversight(self, part[0].request.request_id)
            oversight.require()
            self.writer.oversight = oversight
            try:
                with self._metrics.stage("decide"):
                    self._serve(part)
            finally:
                self.writer.oversight = None

    def _serve(self, part: Sequence[PendingRequest]) -> None:
        """Serve requests in one transaction; if it fails, each alone, as `serve_all` does."""
        if len(part) > 1:
            try:
                serve(self.writer, part)
            except (StoreError, TransientError, OSError):
                raise
            except Exception:
                if self.in_doubt:
                    raise
            else:
                return
        for pending in part:
            self._serve_alone(pending)

    def _serve_alone(self, pending: PendingRequest) -> None:
        try:
            serve_alone(self.writer, pending)
        except (PalimpsestError, OSError):
            raise
        except Exception as error:
            if self.in_doubt:
                raise
            _log.exception("a request met a bug: %s", pending.request.request_id)
            fail(self.writer, pending, error)

    # -- commits -----------------------------------------------------------------------------------

    def _append(self, commit: Commit) -> list[int]:
        """Append a commit to the log, in a transaction that commits once the brokers have it."""
        if self.in_doubt:
            raise TransientError("the last commit may be at the brokers: the log lacks it")
        lines = [(event, encode(event)) for event, _ in commit.events]
        last = [*{finished.topic: finished for finished in commit.offsets}.values()]
        with self.log.transaction():
            positions = self.log.append_lines(lines)
            others = [*self._other_records(commit)]
            if lines or others:
                next_offset = self._publish_in_doubt(lines, others, last)
                if next_offset is not None:
                    self.log.follow(replace(self._decisions, next_offset=next_offset))
                for finished in last:
                    self.log.follow_input(finished, self.partition)
        self.in_doubt = False
        for use in commit.uses:
            assert isinstance(use.meaning, Access)
            self._uses.setdefault(use.meaning.owner_id, []).append(use.meaning)
        return positions

    def _publish_in_doubt(
        self, lines: Lines, others: Sequence[Outgoing], offsets: Sequence[InputOffset]
    ) -> int | None:
        self.in_doubt = True
        try:
            return self._publish(lines, others, offsets)
        except MessageSizeTooLargeError:
            self.in_doubt = False
            raise

    def _other_records(self, commit: Commit) -> Iterator[Outgoing]:
        """The records for other topics than the decisions."""
        letters, answers = self._topics.name("dead_letters"), self._topics.name("answers")
        yield from (dead_letter_record(letters, letter) for letter in commit.dead_letters)
        for address, answer in commit.answers:
            assert isinstance(address, str)
            assert not isinstance(answer, list)
            yield answer_record(answers, address, answer)
        yield from self._questions(commit.questions)
        policies = self._topics.name("policies")
        for event, _ in commit.events:
            if isinstance(event, PolicySet):
                yield policy_record(policies, encode(event))

    def _questions(self, opened: OpenQuestions) -> Iterator[Outgoing]:
        """Questions for the judge: those that candidates opened, and texts to be recomposed."""
        topic, policy = self._topics.name("verifications"), self.writer.policy

        def ledger(owner_id: str) -> Ledger:
            return self.writer.owners.get(owner_id).ledger

        asked: list[AnyQuestion | None] = [
            *(
                settle_question(ledger(owner), candidate_id, policy)
                for candidate_id, owner in opened.candidates.items()
            ),
            *(
                compose_question(ledger(owner), text_id, policy)
                for text_id, owner in opened.texts.items()
            ),
        ]
        records = (question_record(topic, question) for question in asked if question is not None)
        return (record for record in records if record is not None)


# -- requests for this partition's owners --------------------------------------------------------


class Interrupted(TransientError):
    """A request was interrupted because the partition is revoked; it will be delivered again."""


class RequestOversight:
    """Interrupts a request between two commands when the partition is revoked.

    Each commit before the last reports the number of commands so far to the caller.
    """

    def __init__(self, partition: PartitionWriter, request_id: str) -> None:
        self._partition = partition
        self._request_id = request_id
        self._steps = 0

    def require(self) -> None:
        """Raise Interrupted if the partition is revoked."""
        if self._partition.ending:
            raise Interrupted("the partition is revoked: its request is delivered again")

    def step(self, owner_id: str) -> None:
        """Count one more command.

        Raises RefusedError for another partition's owner, Interrupted if the partition is revoked.
        """
        if not self._partition.is_mine(owner_id):
            raise RefusedError("wrong_partition", "the owner belongs to another partition")
        self.require()
        self._steps += 1

    def commit_part(self) -> None:
        """Commit, and report to the caller that the request continues.

        Raises Interrupted, after the commit, if the partition is revoked.
        """
        writer = self._partition.writer
        writer.pending.answers.append(Reply(self._request_id, SoFar(self._steps)))
        writer.commit()
        self.require()
