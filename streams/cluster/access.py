"""Checks permissions at the brokers before they are needed, and names the missing ones.

Without this check, a consumer without permission to read as its group waits for ever, silently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.errors import CoordinatorNotAvailableError, GroupAuthorizationFailedError
from aiokafka.protocol.admin import DescribeGroupsRequest_v3, DescribeGroupsResponse_v3
from aiokafka.protocol.api import Request

from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.metadata import NotPermittedError, answering, read_metadata
from palimpsest.streams.cluster.topics import Kind, Topics

Operation = Literal["Read", "Write"]
AGAIN_SECONDS = 0.2
GROUPS_SECONDS = 5.0
"""How long a new cluster may take to create the topic of consumer groups."""
CODES: Mapping[Operation, int] = {"Read": 3, "Write": 4}
"""Kafka's operation codes: bit n of our permissions stands for operation n."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The permissions that one kind of process needs, on topics and on its consumer group (Read).

    Each of them includes Describe.
    """

    topics: Mapping[Kind, tuple[Operation, ...]] = field(default_factory=dict)
    group: str | None = None


WORKER = Needs(
    {
        "candidates": ("Read",),
        "commands": ("Read",),
        "decisions": ("Read", "Write"),
        "dead_letters": ("Write",),
        "answers": ("Write",),
        "verifications": ("Write",),
        "policies": ("Write",),
    },
    "palimpsest-worker",
)
PROJECTOR = Needs({"decisions": ("Read",), "dead_letters": ("Read",)})
VERIFIER = Needs({"verifications": ("Read",), "commands": ("Write",)}, "palimpsest-verifier")


async def require_access(connection: Connection, topics: Topics, needs: Needs) -> None:
    """Raise NotPermittedError with the missing permissions, or BrokersAwayError.

    Missing topics are ignored, and so is a group whose coordinator cannot tell yet.
    """
    found = (await read_metadata(connection, [topics.name(kind) for kind in needs.topics])).topics
    missing = [
        f"{operation} on the topic {topics.name(kind)}"
        for kind, operations in needs.topics.items()
        for operation in operations
        if (there := found.get(topics.name(kind))) and not _has(there.operations, operation)
    ]
    if needs.group is not None:
        missing += await _missing_of_group(connection, f"{topics.prefix}{needs.group}")
    if missing:
        raise NotPermittedError(*missing)


def _has(operations: int, operation: Operation) -> bool:
    return bool(operations >> CODES[operation] & 1)


async def _missing_of_group(connection: Connection, group: str) -> list[str]:
    missing = [f"Read on the group {group}"]
    async with answering(connection):
        client = AIOKafkaClient(**connection.arguments())
        try:
            await client.bootstrap()
            async with asyncio.timeout(GROUPS_SECONDS):
                coordinator = await _coordinator(client, group)
            answer: Any = await client.send(coordinator, _AskGroup(group))
        except GroupAuthorizationFailedError:
            return missing
        except TimeoutError:  # unknown so far: a worker finds out when it joins
            return []
        finally:
            await client.close()
    [(error, *_, operations)] = answer.groups
    return [] if may_read(error, operations) else missing


def may_read(error: int, operations: int) -> bool:
    """Whether a coordinator permits reading; while it is loading its groups, it cannot tell."""
    if error:
        return bool(error != GroupAuthorizationFailedError.errno)
    return _has(operations, "Read")


async def _coordinator(client: AIOKafkaClient, group: str) -> int:
    """The group's coordinator. A new cluster has none until it has created the topic of groups."""
    while True:
        try:
            node: int = await client.coordinator_lookup(CoordinationType.GROUP, group)
        except CoordinatorNotAvailableError:
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            return node


class _DescribeGroup(DescribeGroupsRequest_v3):  # type: ignore[misc]
    """aiokafka's own version ignores the last field of the answer, the operations."""

    RESPONSE_TYPE = DescribeGroupsResponse_v3


class _AskGroup(Request[_DescribeGroup]):  # type: ignore[misc]
    API_KEY = DescribeGroupsRequest_v3.API_KEY

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, request_struct_class: type[_DescribeGroup]) -> _DescribeGroup:
        return request_struct_class([self._group], True)
