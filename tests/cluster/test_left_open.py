"""A transaction that is committed and was ended in none of its partitions.

Kafka's coordinator passes over partitions whose leader it does not know: one that hangs for longer
than its own session comes back to that. What was in them is left open, though the worker was told
that it is committed, and acknowledged what it had decided on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.reader import ends_of, reader
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.manager import PartitionManager
from palimpsest.streams.cluster.worker.producer import PartitionProducer
from tests.cluster.cluster import PARTITIONS
from tests.cluster.load import publish
from tests.cluster.managers import HOME, bring, decided, new_manager, row
from tests.cluster.test_topics import ask_admin

NODE = "1"


@pytest.fixture
def trusting(connection: Connection) -> Iterator[None]:
    """A broker that does not look whether a record's partition was added to its transaction."""
    for settings in ({"transaction.partition.verification.enable": "false"}, {}):
        told = ConfigResource(ConfigResourceType.BROKER, NODE, settings)
        ask_admin(connection, lambda admin: admin.alter_configs([told]))  # noqa: B023
        if settings:
            yield


def leave_open(manager: PartitionManager) -> None:
    """Make the coordinator forget the partitions in which transactions are to be ended."""
    producer: PartitionProducer = vars(manager)["_assigned"][HOME].producer
    transaction = vars(vars(producer)["_producer"])["_txn_manager"]
    vars(transaction)["maybe_add_partition_to_txn"] = vars(transaction)["_txn_partitions"].add


async def committed_end(connection: Connection, at: TopicPartition) -> int:
    async with reader(connection) as consumer:
        return int((await consumer.end_offsets([at]))[at])


@pytest.mark.usefixtures("trusting")
def test_what_a_broker_left_open_is_read_before_anything_else_is_decided(
    tmp_path: Path, connection: Connection, topics: Topics
) -> None:
    publish(connection, topics, [(HOME, b"ann", row(number), []) for number in range(9)])
    at = topics.at("decisions", HOME)

    async def take_turns() -> None:
        one, two = (new_manager(tmp_path / name, connection, topics) for name in ("one", "two"))
        assert await one.assign([HOME])
        await bring(one, connection, topics, range(3))
        end = await committed_end(connection, at)
        leave_open(one)
        assert await bring(one, connection, topics, range(3, 6)) == [3, 4, 5]
        assert await committed_end(connection, at) == end  # nobody sees them
        assert (await ends_of(connection, [at]))[at] > end
        await one.close()
        assert await two.assign(range(PARTITIONS))
        assert await bring(two, connection, topics, range(9)) == [*range(9)]
        await two.close()

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    asyncio.run(take_turns())
    assert decided((connection, topics)) == [str(number) for number in range(9)]
