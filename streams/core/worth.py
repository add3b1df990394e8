"""A memory's confidence and importance at a moment, decayed by the policy.

They are a function of recorded facts, the policy and the moment. Nothing is ever written back, so
reading changes nothing, and the value as of a given time never changes (law L12).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from palimpsest.contracts.policy import Decay, Policy, Worth
from palimpsest.streams.core.ledger import Memory

DECIMALS: Final = 4
"""Like scores, values are rounded before they are compared."""
DAY: Final = timedelta(days=1)
NONE_UNRECORDED: Final[Mapping[str, datetime]] = MappingProxyType({})
"""No uses wait to be recorded."""


def recorded_worth(memory: Memory, field: Worth, policy: Policy) -> float | None:
    """The highest value of its living members; members without one have the policy's default.

    None if no living member has a value or gets one.
    """
    absent: float | None = getattr(policy.absent, field)
    values = (getattr(entry.fields, field) for entry in memory.members if entry.living)
    known = [absent if value is None else value for value in values]
    return max((value for value in known if value is not None), default=None)


def worth(
    memory: Memory,
    field: Worth,
    policy: Policy,
    at: datetime,
    unrecorded: Mapping[str, datetime] = NONE_UNRECORDED,
) -> float | None:
    """The recorded worth, decayed up to the moment `at`, to four decimals.

    `unrecorded` are the latest uses that are not in the log yet, by candidate.
    """
    value, decay = recorded_worth(memory, field, policy), policy.decay
    if value is None or decay is None or decay.field != field:
        return value
    since = (
        last_use(memory, unrecorded) if decay.since == "access" else memory.members[0].decided_at
    )
    return decayed(value, decay, at - since)


def decayed(value: float, decay: Decay, elapsed: timedelta) -> float:
    """A value after some time: never higher than before, and never decayed below the floor."""
    days = elapsed / DAY
    if days < decay.after_days or days <= 0:
        return value
    faded: float = value * (1 - decay.rate) ** (days / decay.days)
    return round(max(faded, min(value, decay.floor)), DECIMALS)


def last_use(memory: Memory, unrecorded: Mapping[str, datetime] = NONE_UNRECORDED) -> datetime:
    """When a memory was last used or joined, else when it began."""
    used = [entry.last_accessed for entry in memory.members if entry.last_accessed is not None]
    used += [unrecorded[entry.id] for entry in memory.members if entry.id in unrecorded]
    joined = [edge.decided_at for edge in memory.edges()]
    return max([memory.members[0].decided_at, *used, *joined])


def uses(memory: Memory) -> int:
    """How often a memory was used or joined, over all its members."""
    return sum(entry.accesses for entry in memory.members) + sum(1 for _ in memory.edges())
