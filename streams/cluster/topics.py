"""The topics as data: purpose, retention and name of each (docs/cluster.md)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from aiokafka import TopicPartition
from aiokafka.partitioner import murmur2

from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import StoreError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import ExistingTopic, Metadata, read_metadata

Kind = Literal[
    "candidates", "commands", "decisions", "answers", "dead_letters", "verifications", "policies"
]
Key = Literal["owner", "request", "policy"]
PARTITIONS = 12
FOR_EVER = -1
DAY = 24 * 60 * 60 * 1000
"""A day in milliseconds, the unit of brokers."""
LARGEST = 8 * 1024 * 1024
"""Maximum size of a record that we write: a candidate at the usual limit (1 MiB) with its decision,
or the answer to a request that did a hundred thousand things."""
OTHER_PARTITIONS = (
    "with another number of partitions, owners would move to other partitions: export the log,"
    " create topics with another prefix, and import it there"
)
RECREATE = (
    "stop the workers, delete the topic, and run palimpsest topics create: nothing is lost, because"
    " the decisions have every policy"
)


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic's purpose and retention; `retention` is the minimum in milliseconds."""

    kind: Kind
    purpose: str
    key: Key
    retention: int = FOR_EVER
    compacted: bool = False
    one_partition: bool = False
    ours: bool = False
    """Whether workers write records up to `LARGEST` to it."""

    @property
    def settings(self) -> dict[str, str]:
        """The topic's settings in the brokers' terms.

        Records that expire do so by the time of their arrival: a producer of old conversations may
        set timestamps in the past, by which brokers would delete records unread.
        """
        settings = {"cleanup.policy": "compact" if self.compacted else "delete"}
        settings |= {"retention.ms": str(self.retention), "retention.bytes": "-1"}
        if self.retention != FOR_EVER:
            settings["message.timestamp.type"] = "LogAppendTime"
        if self.ours:
            settings["max.message.bytes"] = str(LARGEST)
        return settings


TOPICS = (
    TopicSpec("candidates", "All input of producers.", "owner", 7 * DAY),
    TopicSpec("commands", "Requests of operators, and verdicts.", "owner", 7 * DAY),
    TopicSpec("decisions", "The log: what everything else is made from.", "owner", ours=True),
    TopicSpec("answers", "Answers to requests.", "request", DAY, ours=True),
    TopicSpec("dead_letters", "Unreadable input, byte for byte.", "owner", ours=True),
    TopicSpec("verifications", "Questions to the judge.", "owner", 7 * DAY, ours=True),
    TopicSpec("policies", "The policy in force.", "policy", compacted=True, one_partition=True),
)


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one installation: their names and number of partitions."""

    prefix: str = ""
    partitions: int = PARTITIONS

    def name(self, kind: Kind) -> str:
        """The name of a topic."""
        return f"{self.prefix}memory.{kind.replace('_', '-')}"

    @property
    def names(self) -> dict[str, TopicSpec]:
        """The spec of each topic, by the topic's name."""
        return {self.name(spec.kind): spec for spec in TOPICS}

    def at(self, kind: Kind, partition: int) -> TopicPartition:
        """One partition of a topic."""
        return TopicPartition(self.name(kind), partition)


async def topic_id(connection: Connection, name: str) -> str:
    """The id that brokers gave a topic at its creation; a recreated topic has another one.

    StoreError if there is no such topic, TransientError if no broker answers.
    """
    found = (await read_metadata(connection, [name])).topics.get(name)
    if found is None:
        raise _missing(name)
    return found.topic_id


async def read_topics(connection: Connection) -> Topics:
    """The topics of an installation, with the number of partitions of its decisions.

    StoreError if there are none, TransientError if no broker answers.
    """
    name = Topics(connection.prefix).name("decisions")
    partitions = count_there(connection, await read_metadata(connection, [name]))
    if partitions is None:
        raise _missing(name)
    return Topics(connection.prefix, partitions)


async def require_counts(
    connection: Connection, topics: Topics, kinds: Collection[Kind] | None = None
) -> None:
    """Check that topics, by default all, have as many partitions as `topics` says.

    Otherwise an owner's records would be in different partitions. StoreError if a topic differs or
    is missing, TransientError if no broker answers.
    """
    names = {n: spec for n, spec in topics.names.items() if kinds is None or spec.kind in kinds}
    found = (await read_metadata(connection, list(names))).topics
    for name, spec in names.items():
        if name not in found:
            raise _missing(name)
        if wrong := wrong_count(spec, topics.partitions, found[name]):
            raise StoreError(f"{name}: {'; '.join(wrong)}")


def wrong_count(spec: TopicSpec, partitions: int, found: ExistingTopic) -> tuple[str, str] | None:
    """What is wrong with a topic's number of partitions, given that of decisions, and advice."""
    wanted = 1 if spec.one_partition else partitions
    if found.partitions == wanted:
        return None
    detail = f"{counted(found.partitions, 'partition')} instead of {wanted}"
    return detail, RECREATE if spec.one_partition else OTHER_PARTITIONS


def count_there(connection: Connection, metadata: Metadata) -> int | None:
    """The number of partitions of decisions, or else of another topic that has as many.

    None if there is none.
    """
    names = Topics(connection.prefix).names
    counts = {
        spec.kind: found.partitions
        for name, spec in names.items()
        if not spec.one_partition and (found := metadata.topics.get(name))
    }
    return counts.get("decisions") or next(iter(counts.values()), None)


def _missing(name: str) -> StoreError:
    return StoreError(f"there is no topic {name}: palimpsest topics create makes it")


def partition_of(owner_id: str, partitions: int) -> int:
    """The partition of an owner: murmur2 of the key in UTF-8, with its sign bit cleared, modulo.

    Source: `BuiltInPartitioner.partitionForKey` of Kafka's clients. Producers on librdkafka do the
    same with `partitioner=murmur2_random`, but not by default.
    """
    hashed: int = murmur2(owner_id.encode())
    return (hashed & 0x7FFFFFFF) % partitions
