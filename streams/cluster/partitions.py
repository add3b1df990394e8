"""Which partition an owner belongs to: as Kafka's Java producer chooses by key."""

from __future__ import annotations

from aiokafka.partitioner import murmur2


def partition_of(owner_id: str, partitions: int) -> int:
    """The partition of an owner, of so many: murmur2 of the key in UTF-8, its sign bit cleared.

    Source: `BuiltInPartitioner.partitionForKey` of Kafka's clients. Producers on librdkafka do the
    same with `partitioner=murmur2_random`, but not by default.
    """
    hashed: int = murmur2(owner_id.encode())
    return (hashed & 0x7FFFFFFF) % partitions
