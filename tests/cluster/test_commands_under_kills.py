"""Requests of operators: unreadable ones, and long ones that are cut short and finished."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import orjson
import pytest
from aiokafka import AIOKafkaProducer

from palimpsest.contracts.events import Invalid, Retracted
from palimpsest.contracts.identity import digest, invalid_id
from palimpsest.contracts.requests import MergeRequest, RetractRequest, Selection
from palimpsest.streams.cluster.topics import LARGEST
from tests.cluster.cluster import Cluster, ended, eventually, is_ready, stderr_of
from tests.cluster.test_ending import end
from tests.cluster.verifier import check_followed, events_of, read_topic
from tests.reliability.rows import rows
from tests.streams.write.runtime import inputs

FEW, MANY = 240, 2_000
PARTS = 20
"""Commits of a bulk request, at least."""
UNREADABLE = b'{"request": "unheard of"}'
LARGE = MergeRequest(request_id=str(uuid4()), a="a" * (LARGEST + 1), b="b")
"""Its refusal quotes what nobody has, and no record can hold that."""


def send_command(cluster: Cluster, value: bytes) -> None:
    async def send() -> None:
        packing = {"compression_type": "gzip", "max_request_size": 2 * LARGEST}
        async with AIOKafkaProducer(**cluster.connection.arguments(), **packing) as producer:
            await producer.send_and_wait(cluster.topics.name("commands"), value, partition=1)

    cluster.run(send())


def test_a_request_that_cannot_be_read_or_answered_does_not_stop_the_next(
    cluster: Cluster,
) -> None:
    worker = cluster.worker()
    cluster.publish(inputs(map(orjson.dumps, rows(12))))
    cluster.decided()
    send_command(cluster, UNREADABLE)
    send_command(cluster, LARGE.model_dump_json().encode())
    answer = cluster.ask(RetractRequest(request_id=str(uuid4()), selection=selection()))
    assert len(answer["done"]["retracted"]) == 12
    read = read_topic(cluster.connection, cluster.topics.name("dead_letters"), 4)
    assert [record.value for record in cluster.run(read)[1]] == [UNREADABLE]
    answered = cluster.run(read_topic(cluster.connection, cluster.topics.name("answers"), 4))[1]
    told = {record.key: orjson.loads(record.value or b"") for record in answered}
    assert told[LARGE.request_id.encode()] == {"failed": "MessageSizeTooLargeError"}
    nobodys = cluster.run(events_of(cluster.connection, cluster.topics))[""]
    assert invalid_id(digest(UNREADABLE)) in {e.id for e in nobodys if isinstance(e, Invalid)}
    assert ended([worker]) == [0], stderr_of(worker)


def selection() -> Selection:
    return Selection(source="made-up")


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.outage)])
def test_a_bulk_request_that_is_killed_half_way_is_finished_and_answered(
    cluster: Cluster, count: int
) -> None:
    """Killed in the middle, told to end in the middle, then finished."""
    worker = cluster.worker()
    cluster.publish(inputs(map(orjson.dumps, rows(count, owners=9))))
    cluster.decided()
    assert ended([worker]) == [0], stderr_of(worker)
    answers: list[Mapping[str, Any]] = []
    request = RetractRequest(request_id=str(uuid4()), selection=selection())
    asking = threading.Thread(target=lambda: answers.append(cluster.ask(request)))
    asking.start()
    for number in (2, 12):  # each of four partitions begins with one, and may wait for another
        worker = cluster.worker(crash=["transaction:sent", number], bulk=count // PARTS)
        assert worker.wait() == -signal.SIGKILL, stderr_of(worker)
    before = cluster.run(cluster.ends())
    assert 0 < len(retracted(cluster)) < count
    worker = cluster.worker(bulk=count // PARTS)
    eventually(lambda: cluster.run(cluster.ends()) != before, "it goes on")
    assert end(worker) == 0, stderr_of(worker)
    worker = cluster.worker()
    projector = cluster.projector()
    eventually(lambda: is_ready(worker), "it can be told to end: all may be done already")
    asking.join(60)
    assert len(answers) == 1, stderr_of(worker)
    assert len(answers[0]["done"]["retracted"]) == count
    found = retracted(cluster)
    assert len(found) == len(set(found)) == count
    cluster.decided()
    cluster.followed()
    assert ended([worker, projector]) == [0, 0], stderr_of(worker)
    check_followed(cluster)


def retracted(cluster: Cluster) -> list[str]:
    found = cluster.run(events_of(cluster.connection, cluster.topics))
    return [e.id for some in found.values() for e in some if isinstance(e, Retracted)]
