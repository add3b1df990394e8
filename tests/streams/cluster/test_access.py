"""What a coordinator's answer about a group says of our permissions on it."""

from __future__ import annotations

import pytest
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupLoadInProgressError,
    NotCoordinatorError,
)

from palimpsest.streams.cluster.access import CODES, may_read

NOT_TOLD = -(2**31)
"""Kafka's number for operations that an answer does not have."""


@pytest.mark.parametrize(
    ("error", "operations", "may"),
    [
        (0, 1 << CODES["Read"], True),
        (0, 1 << CODES["Write"], False),
        (GroupAuthorizationFailedError.errno, NOT_TOLD, False),
        (GroupLoadInProgressError.errno, NOT_TOLD, True),
        (NotCoordinatorError.errno, NOT_TOLD, True),
    ],
)
def test_only_an_answer_about_permissions_denies_any(
    error: int, operations: int, may: bool
) -> None:
    assert may_read(error, operations) is may
