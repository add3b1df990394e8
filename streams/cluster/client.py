"""Brings what producers and people say to the topics, and the answers back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

from contracts.candidate import Candidate
from contracts.errors import InvalidInputError, TransientError
from contracts.requests import AnyRequest, SessionRequest
from streams.cluster.connection import Connection
from streams.cluster.following import begin_at, reader
from streams.cluster.partition import SOURCE
from streams.cluster.partitions import partition_of
from streams.cluster.publishing import BATCH_BYTES, REQUEST_BYTES
from streams.cluster.topics import Topics
from streams.embedded.inputs import Input
from streams.intake import Prepared, RawRow, understand

CANDIDATE = "palimpsest.candidate.v1"
POLL_SECONDS = 0.2
ANSWER_SECONDS = 60.0


def as_event(candidate: Candidate) -> bytes:
    """A candidate as a CloudEvent in structured mode, with the id and source that it has."""
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


def as_record(one: Input) -> tuple[bytes | None, bytes]:
    """Key and value for an input: its own bytes where a worker reads the same in them.

    What cannot be read is sent as it is, under no key. A row that has its source or its id from
    where it came, or fields under other names, is sent as the event that it means.
    """
    meaning = one.meaning
    if isinstance(meaning, InvalidInputError):
        return None, one.row.raw
    if not isinstance(meaning, Prepared):
        return meaning.owner_id.encode(), one.row.raw
    said = understand(RawRow(one.row.raw, SOURCE))
    value = one.row.raw if said == meaning else as_event(meaning.candidate)
    return meaning.candidate.owner_id.encode(), value


class Client:
    """A producer of candidates and requests; belongs to the event loop that starts it."""

    def __init__(self, connection: Connection, topics: Topics) -> None:
        self._connection = connection
        self._topics = topics
        self._producer = AIOKafkaProducer(
            **connection.arguments(),
            acks="all",
            enable_idempotence=True,
            max_batch_size=BATCH_BYTES,
            max_request_size=REQUEST_BYTES,
        )

    async def start(self) -> None:
        """Connect. TransientError where no broker answers."""
        await self._producer.start()

    async def stop(self) -> None:
        """Send what waits, and disconnect."""
        await self._producer.stop()

    async def publish(self, inputs: Iterable[Input]) -> int:
        """Publish inputs to the candidates topic in order; returns once the brokers have them."""
        topic = self._topics.name("candidates")
        sent = []
        for one in inputs:
            key, value = as_record(one)
            partition = None if key is None else partition_of(key.decode(), self._topics.partitions)
            sent.append(await self._producer.send(topic, value, key, partition=partition))
        await asyncio.gather(*sent)
        return len(sent)

    async def ask(self, request: AnyRequest, patience: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Publish a request to the partitions that it may concern, and join their answers.

        Only an owner's partition knows its candidates, so a request that names no owner goes to
        all. TransientError where not all have answered in `patience` seconds.
        """
        partitions = self._concerned(request)
        async with reader(self._connection) as consumer:
            await self._listen(consumer, partitions)
            await self._send(request, partitions)
            return merged(await self._answers(consumer, request.request_id, partitions, patience))

    def _concerned(self, request: AnyRequest) -> list[int]:
        selection = getattr(request, "selection", None)
        owner_id = request.owner_id if isinstance(request, SessionRequest) else None
        owner_id = owner_id or (selection and selection.owner_id)
        if owner_id:
            return [partition_of(owner_id, self._topics.partitions)]
        return list(range(self._topics.partitions))

    async def _listen(self, consumer: AIOKafkaConsumer, partitions: Sequence[int]) -> None:
        at = [self._topics.at("answers", partition) for partition in partitions]
        begin_at(consumer, await consumer.end_offsets(at))

    async def _send(self, request: AnyRequest, partitions: Sequence[int]) -> None:
        body = request.model_dump_json(exclude_none=True).encode()
        key, topic = request.request_id.encode(), self._topics.name("commands")
        sent = [await self._producer.send(topic, body, key, partition=p) for p in partitions]
        await asyncio.gather(*sent)

    async def _answers(
        self,
        consumer: AIOKafkaConsumer,
        request_id: str,
        partitions: Sequence[int],
        patience: float,
    ) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        deadline = asyncio.get_running_loop().time() + patience
        while len(found) < len(partitions):
            if asyncio.get_running_loop().time() > deadline:
                waiting = sorted(set(partitions) - set(found))
                raise TransientError(
                    f"no answer from the partitions {waiting} within {patience:.0f} s: are the"
                    " workers running? What was asked is in the topic, and will be carried out"
                )
            some = await consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000))
            for record in (record for records in some.values() for record in records):
                if _is_answer(record, request_id):
                    found[record.partition] = orjson.loads(record.value or b"")
        return [found[partition] for partition in partitions]


def _is_answer(record: ConsumerRecord[bytes, bytes], request_id: str) -> bool:
    return bool(record.key == request_id.encode())


def merged(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the partitions did, together; a refusal only where none did anything.

    Of several refusals the one that is not about an unknown id says most.
    """
    done = [answer["done"] for answer in answers if "done" in answer]
    if done:
        return {"done": _together(done)}
    telling = [a for a in answers if not _is_unknown(a)] or answers
    return dict(telling[0])


def _is_unknown(answer: Mapping[str, Any]) -> bool:
    reason: str = answer.get("refused", {}).get("reason", "")
    return reason.startswith("unknown_") or reason == "wrong_partition"


def _together(done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Lists one after the other, numbers added; all else is the same in each."""
    total = dict(done[0])
    for one in done[1:]:
        for name, value in one.items():
            if isinstance(value, list | int) and not isinstance(value, bool):
                total[name] = total.get(name, type(value)()) + value
    return total
