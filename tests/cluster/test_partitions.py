"""An owner's partition is the one that Kafka's Java producer chooses.

murmur2.json was recorded from the broker's own jars (kafka-clients 4.3.1, `Utils.murmur2` and
`Utils.toPositive`).
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics, partition_of
from tests.tables import each

RECORDED = json.loads((Path(__file__).parent / "murmur2.json").read_text())
OWNERS = [row["key"] for row in RECORDED if row["key"]]


@each("row", RECORDED)
def test_it_is_the_partition_of_the_java_producer(row: dict[str, Any]) -> None:
    expected = {4: row["of_4"], 12: row["of_12"], 100: row["of_100"]}
    assert {count: partition_of(row["key"], count) for count in expected} == expected


def test_the_record_has_keys_of_every_length_modulo_four_and_signs() -> None:
    assert {len(row["key"].encode()) % 4 for row in RECORDED} == {0, 1, 2, 3}
    assert {row["murmur2"] < 0 for row in RECORDED} == {True, False}


def test_librdkafka_agrees_with_the_partitioner_that_has_to_be_named(
    connection: Connection, topics: Topics
) -> None:
    landed: dict[bytes | None, int | None] = {}
    producer = Producer(
        {"bootstrap.servers": connection.bootstrap, "partitioner": "murmur2_random"}
    )
    for owner in OWNERS:
        producer.produce(
            topics.name("candidates"),
            b"{}",
            owner.encode(),
            on_delivery=lambda _error, record: landed.update({record.key(): record.partition()}),
        )
    assert producer.flush(20) == 0
    assert landed == {owner.encode(): partition_of(owner, topics.partitions) for owner in OWNERS}


def test_aiokafka_agrees_by_default(connection: Connection, topics: Topics) -> None:
    async def publish() -> dict[str, int]:
        async with AIOKafkaProducer(**connection.arguments()) as producer:
            sent = [
                await producer.send_and_wait(topics.name("candidates"), b"{}", owner.encode())
                for owner in OWNERS
            ]
        return {owner: at.partition for owner, at in zip(OWNERS, sent, strict=True)}

    expected = {owner: partition_of(owner, topics.partitions) for owner in OWNERS}
    assert asyncio.run(publish()) == expected
