"""How a worker leaves its group: only the brokers' answers say whether it did."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaError, NotCoordinatorForGroupError, UnknownMemberIdError

from palimpsest.streams.cluster.worker.leave_group import (
    CLIENT,
    STANDBY_CLIENT,
    leave_to_standby,
)

NOT_COORDINATOR = NotCoordinatorForGroupError.errno
UNKNOWN_MEMBER = UnknownMemberIdError.errno


def leave(
    *, described: int = 0, left: int = 0, member: int = 0, other: str = STANDBY_CLIENT
) -> Any:
    """What leaving returns if the brokers answer with these error codes."""
    members = [("own", CLIENT, "", b"", b""), ("other", other, "", b"", b"")]
    answers = iter(
        [
            SimpleNamespace(
                groups=[(described, "workers", "Stable", "consumer", "range", members)]
            ),
            SimpleNamespace(error_code=left, members=[("own", "one", member)]),
        ]
    )

    async def send(_node: int, _request: object) -> Any:
        return next(answers)

    coordinator = SimpleNamespace(
        group_id="workers",
        member_id="own",
        coordinator_id=1,
        _client=SimpleNamespace(send=send),
        _group_instance_id="one",
    )
    return asyncio.run(leave_to_standby(coordinator))


def test_it_leaves_if_another_stands_by() -> None:
    assert leave()
    assert not leave(other=CLIENT)


@pytest.mark.parametrize(
    ("codes", "error"),
    [
        ({"described": NOT_COORDINATOR}, NotCoordinatorForGroupError),
        ({"left": NOT_COORDINATOR}, NotCoordinatorForGroupError),
        ({"member": UNKNOWN_MEMBER}, UnknownMemberIdError),
    ],
)
def test_an_error_in_an_answer_is_raised(codes: dict[str, Any], error: type[KafkaError]) -> None:
    with pytest.raises(error):
        leave(**codes)
