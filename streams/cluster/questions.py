"""Questions to the judge in `memory.verifications`: published by workers, taken by verifiers."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    ConsumerRecord,
    TopicPartition,
)
from aiokafka.errors import KafkaError
from pydantic import ValidationError

from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import NewerError, TransientError
from palimpsest.contracts.policy import unhashed
from palimpsest.contracts.questions import QUESTION, AnyQuestion, SettleQuestion
from palimpsest.contracts.wire import NEWER, require_known
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.records import Outgoing
from palimpsest.streams.cluster.topics import LARGEST, Topics, partition_of
from palimpsest.streams.cluster.worker.producer import REQUEST_BYTES
from palimpsest.streams.judge.worker import AnsweredQuestion, PendingQuestion

_log = logging.getLogger(__name__)

MOST_BYTES = LARGEST // 2
"""Maximum size of a question; the rest of a record is for the broker's overhead."""
POLL_SECONDS = 0.1
IDLE_SECONDS = 24 * 60 * 60
"""While a verifier waits for the judge, it reads nothing, and must keep its partitions."""
SESSION_SECONDS = 45
"""After this time, another verifier gets the partitions of one that was killed. One with the lowest
priority may get no processor for many seconds, and must keep its partitions."""
FETCH_BYTES = LARGEST


def question_record(topic: str, question: AnyQuestion) -> Outgoing | None:
    """A question as a record, keyed by owner, with as many neighbours as a record has room for.

    None if it is too large even with the first one alone.
    """
    value = _written(question)
    while len(value) > MOST_BYTES:
        if not isinstance(question, SettleQuestion) or len(question.asked) == 1:
            _log.warning("a question about %s is too large to be asked", question.subject)
            return None
        question = question.model_copy(update={"asked": question.asked[:-1]})
        value = _written(question)
    return Outgoing(topic, value, question.owner_id.encode())


def _written(question: AnyQuestion) -> bytes:
    """A question's bytes, without settings that older verifiers do not know."""
    return question.model_dump_json(exclude={"rules": unhashed(question.rules)}).encode()


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """The origin of a question, in one assignment of its partition."""

    at: TopicPartition
    offset: int


@dataclass(slots=True)
class _Progress:
    """A partition's questions in progress, in order, and which of them are done."""

    places: deque[_Place] = field(default_factory=deque)
    done: set[_Place] = field(default_factory=set)

    def committable(self) -> int | None:
        """Forget the done questions at the front; return the offset after them, or None."""
        last: int | None = None
        while self.places and self.places[0] in self.done:
            place = self.places.popleft()
            self.done.discard(place)
            last = place.offset + 1
        return last


class TopicQuestions(ConsumerRebalanceListener):  # type: ignore[misc]
    """A member of the verifiers' group, and a producer of commands.

    An offset is committed only when the brokers have the requests of all questions before it. After
    a crash, questions in progress are asked again, but their requests have the same ids, so they
    are carried out once.
    """

    def __init__(self, connection: Connection, topics: Topics) -> None:
        self._topics = topics
        self._progress: dict[TopicPartition, _Progress] = {}
        self.unreadable = 0
        self._consumer = AIOKafkaConsumer(
            **connection.arguments(),
            group_id=f"{topics.prefix}palimpsest-verifier",
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES,
            session_timeout_ms=SESSION_SECONDS * 1000,
            heartbeat_interval_ms=SESSION_SECONDS * 1000 // 15,
            max_poll_interval_ms=IDLE_SECONDS * 1000,
        )
        self._producer = AIOKafkaProducer(
            **connection.arguments(),
            acks="all",
            enable_idempotence=True,
            max_request_size=REQUEST_BYTES,
        )

    async def __aenter__(self) -> TopicQuestions:
        await self._producer.start()
        try:
            self._consumer.subscribe([self._topics.name("verifications")], listener=self)
            await self._consumer.start()
        except BaseException:
            await self._producer.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        ending = (self._consumer.stop(), self._producer.stop())
        for ended in await asyncio.gather(*ending, return_exceptions=True):
            if isinstance(ended, Exception):  # unlike the cancellation of aiokafka's own task
                raise ended

    # -- callbacks of aiokafka in a rebalance ------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Forget the questions of these partitions, which another member may have now."""
        for at in revoked:
            self._progress.pop(at, None)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Continue at the offset that was committed last."""
        for at in assigned:
            self._progress[at] = _Progress()

    # -- questions and answers ---------------------------------------------------------------------

    async def take(self, most: int) -> list[PendingQuestion]:
        """Take up to `most` questions. Raises TransientError if the brokers are away.

        Raises NewerError for a question that only a newer version can ask, and leaves it to that.
        """
        if not most:
            return []
        try:
            found = await self._consumer.getmany(
                timeout_ms=int(POLL_SECONDS * 1000), max_records=most
            )
        except KafkaError as error:
            raise _brokers_away(error) from error
        taken = [self._taken(record) for records in found.values() for record in records]
        if None in taken:
            await self._commit()
        return [question for question in taken if question is not None]

    def _taken(self, record: ConsumerRecord[bytes, bytes]) -> PendingQuestion | None:
        place = _Place(TopicPartition(record.topic, record.partition), record.offset)
        progress = self._progress.setdefault(place.at, _Progress())
        progress.places.append(place)
        value, where = record.value or b"", f"{record.topic}/{record.partition}/{record.offset}"
        require_known(value, f"the question at {where}")
        try:
            return PendingQuestion(QUESTION.validate_json(value), place)
        except ValidationError as error:
            if any(error["type"] in NEWER for error in error.errors(include_input=False)):
                raise NewerError(
                    f"the question at {where} was written by a newer version of Palimpsest:"
                    " upgrade this verifier"
                ) from None
            self.unreadable += 1
            _log.warning(
                "the question at %s cannot be read (%s), and is skipped",
                where,
                counted(error.error_count(), "error"),
            )
            progress.done.add(place)
            return None

    async def at_end(self) -> bool:
        """Whether this member has partitions, and has taken all of their questions."""
        at = list(self._consumer.assignment())
        try:
            ends = await self._consumer.end_offsets(at)
            positions = {partition: await self._consumer.position(partition) for partition in at}
        except KafkaError as error:
            raise _brokers_away(error) from error
        return bool(at) and all(positions[partition] >= ends[partition] for partition in at)

    async def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Publish the requests, then commit up to where all questions are answered."""
        try:
            await self._publish(answered)
        except KafkaError as error:
            raise _brokers_away(error) from error
        for answer in answered:
            place: _Place = answer.pending.origin
            progress = self._progress.get(place.at)
            if progress is not None:
                progress.done.add(place)
        await self._commit()
        return Counter(published=sum(answer.request is not None for answer in answered))

    async def _publish(self, answered: Sequence[AnsweredQuestion]) -> None:
        topic = self._topics.name("commands")
        sent = []
        for answer in answered:
            if answer.request is not None:
                body = answer.request.model_dump_json(exclude_none=True).encode()
                key = answer.request.request_id.encode()
                owner = partition_of(answer.pending.question.owner_id, self._topics.partitions)
                sent.append(await self._producer.send(topic, body, key, partition=owner))
        await asyncio.gather(*sent)

    async def _commit(self) -> None:
        moved = {at: progress.committable() for at, progress in self._progress.items()}
        offsets = {at: offset for at, offset in moved.items() if offset is not None}
        if not offsets:
            return
        try:
            await self._consumer.commit(offsets)
        except KafkaError as error:
            # The questions come again, here or to another member, but nothing is done twice.
            _log.warning(
                "the offsets of answered questions were not committed: %s", type(error).__name__
            )


def _brokers_away(error: KafkaError) -> TransientError:
    return TransientError(f"the brokers did not answer ({type(error).__name__})")
