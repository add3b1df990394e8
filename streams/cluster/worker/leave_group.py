"""Lets a worker leave its group at once, if another one stands by for its partitions.

A static member sends nothing when it ends, so that it can return to its partitions, which wait for
it until its session expires. aiokafka has no request that removes a static member (LeaveGroup 3).
"""

from __future__ import annotations

from typing import Any

from aiokafka.errors import for_code
from aiokafka.protocol.admin import DescribeGroupsRequest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Int16, Int32, Schema, String

STANDBY_CLIENT = "palimpsest-standby"
"""The client id of workers that stand by for others' partitions; visible to the group."""
CLIENT = "palimpsest-worker"


async def leave_to_standby(coordinator: Any) -> bool:
    """Leave a coordinator's group if another member stands by; return whether it did.

    Raises KafkaError, or NotImplementedError if the brokers have no LeaveGroup 3 (before Kafka
    2.4). The coordinator must not join again afterwards.
    """
    group, member_id = coordinator.group_id, coordinator.member_id
    client, node = vars(coordinator)["_client"], coordinator.coordinator_id
    described = await client.send(node, DescribeGroupsRequest([group]))
    [(error_code, _, _, _, _, members, *_)] = described.groups
    _raise_error(error_code)
    if not any(other_id != member_id and name == STANDBY_CLIENT for other_id, name, *_ in members):
        return False
    instance = vars(coordinator)["_group_instance_id"]
    left = await client.send(node, _Leave(group, member_id, instance))
    for code in (left.error_code, *(code for _, _, code in left.members)):
        _raise_error(code)
    return True


def _raise_error(code: int) -> None:
    if code:
        raise for_code(code)


class _LeaveAnswer(Response):  # type: ignore[misc]
    API_KEY = 13
    API_VERSION = 3
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        (
            "members",
            Array(
                ("member_id", String("utf-8")),
                ("group_instance_id", String("utf-8")),
                ("error_code", Int16),
            ),
        ),
    )


class _LeaveRequest(RequestStruct):  # type: ignore[misc]
    API_KEY = 13
    API_VERSION = 3
    RESPONSE_TYPE = _LeaveAnswer
    SCHEMA = Schema(
        ("group_id", String("utf-8")),
        (
            "members",
            Array(("member_id", String("utf-8")), ("group_instance_id", String("utf-8"))),
        ),
    )


class _Leave(Request[_LeaveRequest]):  # type: ignore[misc]
    API_KEY = 13

    def __init__(self, group: str, member_id: str, instance: str | None) -> None:
        self._group = group
        self._member = (member_id, instance)

    def build(self, request_struct_class: type[_LeaveRequest]) -> _LeaveRequest:
        return request_struct_class(self._group, [self._member])
