"""A client that publishes inputs and requests to the topics, and receives the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from palimpsest.contracts.answers import Answer, from_json, merged
from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.errors import InvalidInputError, TransientError
from palimpsest.contracts.requests import Request
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import answering
from palimpsest.streams.cluster.reader import begin_at, reader
from palimpsest.streams.cluster.topics import Kind, Topics, partition_of, require_counts
from palimpsest.streams.cluster.worker.partition_writer import SOURCE
from palimpsest.streams.cluster.worker.producer import BATCH_BYTES, REQUEST_BYTES
from palimpsest.streams.intake import Prepared, RawRow, understand
from palimpsest.streams.write.inputs import Input

CANDIDATE = "palimpsest.candidate.v1"
POLL_SECONDS = 0.2
ANSWER_SECONDS = 60.0
Addressed: TypeAlias = tuple[Request, str | None]
"""A request, and the owner that it concerns, if known."""


def as_event(candidate: Candidate) -> bytes:
    """A candidate as a CloudEvent in structured mode, with its own id and source."""
    data = candidate.model_dump(mode="json", exclude_none=True)
    envelope = {
        "specversion": "1.0",
        "type": CANDIDATE,
        "id": data.pop("id"),
        "source": data.pop("source"),
        "datacontenttype": "application/json",
        "data": data,
    }
    return orjson.dumps(envelope)


def as_record(item: Input) -> tuple[bytes | None, bytes]:
    """Key and value for an input: its own bytes if a worker reads the same from them.

    Unreadable input is sent unchanged, without a key. A row whose source or id comes from its
    place, or that has renamed fields, is sent as the equivalent event.
    """
    meaning = item.meaning
    if isinstance(meaning, InvalidInputError):
        return None, item.row.raw
    if not isinstance(meaning, Prepared):
        return meaning.owner_id.encode(), item.row.raw
    # A worker derives a missing id from the record's offset, which is not known yet.
    understood = understand(RawRow(item.row.raw, SOURCE, reading="an offset"))
    value = item.row.raw if understood == meaning else as_event(meaning.candidate)
    return meaning.candidate.owner_id.encode(), value


class Client:
    """A producer of candidates and requests; belongs to the event loop that starts it."""

    def __init__(self, connection: Connection, topics: Topics) -> None:
        self._connection = connection
        self._topics = topics
        self._compared: set[Kind] = set()
        self._producer = AIOKafkaProducer(
            **connection.arguments(),
            acks="all",
            enable_idempotence=True,
            max_batch_size=BATCH_BYTES,
            max_request_size=REQUEST_BYTES,
        )

    async def start(self) -> None:
        """Connect. KafkaError if no broker answers."""
        await self._producer.start()

    async def stop(self) -> None:
        """Send waiting records, and disconnect."""
        await self._producer.stop()

    async def publish(self, inputs: Iterable[Input]) -> int:
        """Publish inputs to the candidates topic in order; returns once the brokers have them.

        With nothing published, raises StoreError if that topic does not have as many partitions as
        the decisions topic, and TransientError if no broker answers.
        """
        await self._require_counts("candidates")
        topic = self._topics.name("candidates")
        sent = []
        for item in inputs:
            key, value = as_record(item)
            partition = None if key is None else partition_of(key.decode(), self._topics.partitions)
            sent.append(await self._producer.send(topic, value, key, partition=partition))
        await asyncio.gather(*sent)
        return len(sent)

    async def _require_counts(self, *kinds: Kind) -> None:
        """Check the topics' partition counts before publishing: a wrong one hides records."""
        if not self._compared.issuperset(kinds):
            await require_counts(self._connection, self._topics, kinds)
            self._compared.update(kinds)

    async def behind(self, followed: Mapping[tuple[str, int], int]) -> int:
        """The number of records of the decisions topic beyond these offsets.

        `followed` has offsets by topic and partition. Transaction markers are counted, too.
        TransientError if no broker answers.
        """
        at = [self._topics.at("decisions", number) for number in range(self._topics.partitions)]
        async with answering(self._connection), reader(self._connection) as consumer:
            ends = await consumer.end_offsets(at)
        return sum(
            max(ends[partition] - followed.get((partition.topic, partition.partition), 0), 0)
            for partition in at
        )

    async def ask_each(self, asked: Sequence[Addressed]) -> list[Answer]:
        """Publish requests to the partitions that they may concern; returns the merged answers.

        All are published before the first answer is awaited. Only an owner's partition knows its
        candidates, so a request goes to all partitions if its owner is unknown. Raises
        TransientError if the partitions are silent for `ANSWER_SECONDS`, without even a report that
        a request continues; StoreError as `publish` does.
        """
        await self._require_counts("commands", "answers")
        concerned = {
            request.request_id: self._concerned(request, owner_id) for request, owner_id in asked
        }
        async with reader(self._connection) as consumer:
            partitions = {p for some in concerned.values() for p in some}
            at = [self._topics.at("answers", partition) for partition in partitions]
            begin_at(consumer, await consumer.end_offsets(at))
            await self._send([(request, concerned[request.request_id]) for request, _ in asked])
            answers = await self._answers(consumer, concerned)
        return [merged(answers[request.request_id]) for request, _ in asked]

    def _concerned(self, request: Request, owner_id: str | None) -> list[int]:
        selection = getattr(request, "selection", None)
        owner_id = getattr(request, "owner_id", None) or owner_id
        owner_id = owner_id or (selection and selection.owner_id)
        if owner_id:
            return [partition_of(owner_id, self._topics.partitions)]
        return list(range(self._topics.partitions))

    async def _send(self, requests: Sequence[tuple[Request, Sequence[int]]]) -> None:
        topic, sent = self._topics.name("commands"), []
        for request, partitions in requests:
            body = request.model_dump_json(exclude_none=True).encode()
            key = request.request_id.encode()
            sent += [await self._producer.send(topic, body, key, partition=p) for p in partitions]
        await asyncio.gather(*sent)

    async def _answers(
        self, consumer: AIOKafkaConsumer, concerned: Mapping[str, Sequence[int]]
    ) -> dict[str, list[Answer]]:
        """The answers to each request by its id, in the order of its partitions.

        Any answer of a partition, even to other clients, shows that it is working on its requests.
        """
        waiting = {
            (request_id.encode(), p)
            for request_id, partitions in concerned.items()
            for p in partitions
        }
        found: dict[tuple[bytes, int], Answer] = {}
        now = asyncio.get_running_loop().time
        deadline = now() + ANSWER_SECONDS
        while waiting:
            working = {partition for _, partition in waiting}
            if now() > deadline:
                raise _unanswered(working)
            some = await consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000))
            for record in chain.from_iterable(some.values()):
                if record.partition in working:
                    deadline = now() + ANSWER_SECONDS
                at = (record.key or b"", record.partition)
                if at in waiting:
                    waiting.remove(at)
                    found[at] = from_json(orjson.loads(record.value or b""))
        return {
            request_id: [found[request_id.encode(), partition] for partition in partitions]
            for request_id, partitions in concerned.items()
        }


def _unanswered(partitions: Iterable[int]) -> TransientError:
    return TransientError(
        f"no answer from the partitions {sorted(partitions)} within {ANSWER_SECONDS:.0f} s: are the"
        " workers running? The request is in the topic, and will be carried out"
    )
