"""Gathered uses: an owner's are recorded once a minute at most; what comes sooner waits.

Several processes tell what they recalled, each in its own rhythm. The owner's writer adds up what
comes within a minute of the last that it recorded, so nothing is lost and the log does not grow
with the number of readers (docs/decisions/0017).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from palimpsest.contracts.commands import Access
from palimpsest.contracts.events import Use
from palimpsest.contracts.identity import event_id
from palimpsest.streams.core.ledger import Ledger

APART: Final = timedelta(minutes=1)
"""How far apart an owner's gathered uses are recorded."""


def is_due(ledger: Ledger, now: datetime) -> bool:
    """Whether the owner's last gathered uses are a minute old; True where there are none."""
    recorded = ledger.uses_recorded
    return recorded is None or now - recorded >= APART


def comes_too_soon(word: object, ledger: Ledger, now: datetime) -> bool:
    """Whether a word tells gathered uses that are to wait; one that is recorded does not."""
    if not isinstance(word, Access) or word.uses is None:
        return False
    return not is_due(ledger, now) and not _is_recorded(word, ledger)


def added_up(words: Iterable[Access], ledger: Ledger) -> Access | None:
    """Several words about one owner's uses as one; each counts once, however often it came.

    None where all of them are recorded.
    """
    new = {one.command_id: one for one in words if not _is_recorded(one, ledger)}
    if not new:
        return None
    first, *others = new.values()
    ids = tuple(one.command_id for one in others)
    return first.model_copy(update={"uses": summed(new.values()), "others": ids or None})


def summed(words: Iterable[Access]) -> tuple[Use, ...]:
    """The uses that several words tell: of each candidate how often, and when last."""
    uses: dict[str, Use] = {}
    for use in (use for word in words for use in word.uses or ()):
        before = uses.get(use.candidate_id)
        if before is not None:
            more = {"count": before.count + use.count, "at": max(before.at, use.at)}
            uses[use.candidate_id] = before.model_copy(update=more)
        else:
            uses[use.candidate_id] = use
    return tuple(uses.values())


def _is_recorded(word: Access, ledger: Ledger) -> bool:
    return event_id(word.command_id, "0") in ledger.events
