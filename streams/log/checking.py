"""Checks a whole log, sharing no code with the projections (docs/design.md)."""

from __future__ import annotations

from collections.abc import Callable

from palimpsest.contracts.events import PolicySet
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.log.damage import DamagedEventError, content_fault
from palimpsest.streams.log.database import DamagedError
from palimpsest.streams.log.log import Log

NOBODY = ""
"""The owner of the store's own events."""

_FIRST_MISSING = (
    "SELECT n FROM (SELECT position, row_number() OVER (ORDER BY position) AS n FROM events)"
    " WHERE position <> n LIMIT 1"
)
_FIRST_UNOWNED = (
    "SELECT min(position) FROM events WHERE owner_no NOT IN (SELECT owner_no FROM owners)"
)


def check_log(log: Log, progress: Callable[[str, float], None] | None = None) -> int:
    """Check everything that does not need a fold; returns the number of events.

    Positions must have no gaps. Of each event it checks the checksum, the owner and id against the
    indexed columns, the references to earlier events, and texts and ids against their hashes; last,
    the file's structure. Raises StoreError for the first fault, with its event's position. Events
    appended during the check are left out.
    """
    head = log.head()
    _check_positions(log)
    policies: list[int] = []
    damages: list[DamagedEventError] = []
    owners = [NOBODY, *log.owners()]
    for number, owner_id in enumerate(owners):
        if progress is not None:
            progress("checking the log", number / len(owners))
        try:
            policies += _check_owner(log, owner_id, head)
        except DamagedEventError as damage:
            damages.append(damage)
    if damages:
        raise min(damages, key=lambda damage: damage.position)
    _check_policies(log, policies, head)
    # Indexes against tables, and every page: reading the events does not read all.
    found = log.row("PRAGMA integrity_check(1)")
    if found != ("ok",):
        what = found[0] if found else "nothing"
        raise DamagedError(f"{log.path} is damaged ({what}): restore it from a copy")
    return head


def _check_owner(log: Log, owner_id: str, head: int) -> list[int]:
    """Check the events of one owner; returns the positions that set policies."""
    policies = []
    for recorded in log.of_owner(owner_id, upto=head):
        _check_event(log, recorded)
        if isinstance(recorded.event, PolicySet):
            policies.append(recorded.position)
    return policies


def _check_positions(log: Log) -> None:
    missing = log.number(_FIRST_MISSING)
    if missing:
        raise DamagedEventError(missing, "is missing")
    unowned = log.number(_FIRST_UNOWNED)
    if unowned:
        raise DamagedEventError(unowned, "is filed under no owner")


def _check_event(log: Log, recorded: Recorded) -> None:
    position, event = recorded
    fault = content_fault(event)
    key = bytes.fromhex(event.id.replace("-", ""))
    filed = log.number("SELECT position FROM events WHERE id = ?", (key,))
    if fault is None and filed != position:
        fault = "is filed under another id than its own"
    if fault is not None:
        raise DamagedEventError(position, fault)


def _check_policies(log: Log, found: list[int], head: int) -> None:
    """Check the table that is used to find the policy in force."""
    rows = log.rows("SELECT position FROM policies WHERE position <= ?", (head,))
    filed = {position for (position,) in rows}
    for position in sorted(filed ^ set(found)):
        listed = position in filed
        what = "is listed as a policy but is not one" if listed else "is not listed as a policy"
        raise DamagedEventError(position, what)
