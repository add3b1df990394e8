"""Gathered uses: an owner's uses are recorded at most once a minute; later ones wait.

Several processes report what they recalled, each at its own intervals. The owner's writer adds up
the reports of each minute, so that nothing is lost and the log does not grow with the number of
readers (docs/decisions/0017).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec import structs

from palimpsest.contracts.commands import Access
from palimpsest.contracts.events import Use
from palimpsest.contracts.identity import event_id
from palimpsest.streams.core.ledger import Ledger

APART: Final = timedelta(minutes=1)
"""Minimum interval between recorded uses of an owner."""


def is_due(ledger: Ledger, now: datetime) -> bool:
    """Whether the owner's last gathered uses are a minute old, or there are none.

    `now` is the clock's time. If the clock went back, it may take long until it has caught up with
    the last uses, so they count as old, too.
    """
    recorded = ledger.uses_recorded
    return recorded is None or abs(now - recorded) >= APART


def comes_too_soon(notice: object, ledger: Ledger, now: datetime) -> bool:
    """Whether a notice has gathered uses that must wait; one that is recorded need not."""
    if not isinstance(notice, Access) or notice.uses is None:
        return False
    return not is_due(ledger, now) and not _is_recorded(notice, ledger)


def added_up(notices: Iterable[Access], ledger: Ledger) -> Access | None:
    """Combine several notices of one owner's uses; each counts once, even if repeated.

    None if all of them are recorded.
    """
    new = {notice.command_id: notice for notice in notices if not _is_recorded(notice, ledger)}
    if not new:
        return None
    first, *others = new.values()
    ids = tuple(other.command_id for other in others)
    return first.model_copy(update={"uses": summed(new.values()), "others": ids or None})


def summed(notices: Iterable[Access]) -> tuple[Use, ...]:
    """The uses of several notices: how often each candidate was used, and when last."""
    uses: dict[str, Use] = {}
    for use in (use for notice in notices for use in notice.uses or ()):
        before = uses.get(use.candidate_id)
        if before is not None:
            uses[use.candidate_id] = structs.replace(
                before, count=before.count + use.count, at=max(before.at, use.at)
            )
        else:
            uses[use.candidate_id] = use
    return tuple(uses.values())


def _is_recorded(notice: Access, ledger: Ledger) -> bool:
    return event_id(notice.command_id, "0") in ledger.events
