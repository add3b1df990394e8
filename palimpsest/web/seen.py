"""The owners whose figures a visitor sees."""

from __future__ import annotations

from palimpsest.api.store import Palimpsest
from palimpsest.projections.duckdb.activity import Owners
from palimpsest.server.callers import Caller
from palimpsest.server.endpoint import EVERYBODY


def seen_by(store: Palimpsest, caller: Caller) -> Owners:
    """The owners whose figures a caller sees; None means all owners.

    Unreadable inputs are counted only for all owners, because they have no owner.
    """
    if caller.owners.pattern == EVERYBODY:
        return None
    everybody = store.reader.owners()
    mine = [owner_id for owner_id in everybody if caller.owners.fullmatch(owner_id)]
    return None if len(mine) == len(everybody) else mine
