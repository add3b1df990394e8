"""What waits in the input topics: asked of the brokers, whatever the group's consumer does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiokafka import TopicPartition

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.following import reader
from palimpsest.streams.cluster.metadata import answering, read_metadata
from palimpsest.streams.cluster.missed import INPUTS, acknowledged
from palimpsest.streams.cluster.topics import Kind, Topics

WATCHED: tuple[Kind, ...] = (*INPUTS, "decisions")
"""The topics that a worker's copies and acknowledgements are bound to."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where each partition of the input topics ends, and how much of it is not acknowledged.

    `identities` are the topics' ids by name, the decisions' too; a topic that is not there has
    none.
    """

    ends: Mapping[TopicPartition, int]
    lag: Mapping[TopicPartition, int]
    identities: Mapping[str, str]


async def ask_waiting(connection: Connection, topics: Topics) -> Waiting:
    """Ask the brokers, with clients that last for this alone.

    TransientError where they do not answer in ten seconds.
    """
    found = (await read_metadata(connection, [topics.name(kind) for kind in WATCHED])).topics
    inputs = [
        topics.at(kind, partition)
        for kind in INPUTS
        if topics.name(kind) in found
        for partition in range(topics.partitions)
    ]
    async with answering(connection), reader(connection) as consumer:
        ends = await consumer.end_offsets(inputs)
        begins = await consumer.beginning_offsets(inputs)
    done = await acknowledged(connection, topics)
    lag = {at: max(end - max(begins[at], done.get(at, 0)), 0) for at, end in ends.items()}
    return Waiting(ends, lag, {name: topic.topic_id for name, topic in found.items()})
