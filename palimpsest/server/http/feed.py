"""The feeds of events after a position, with long polling: all changes, or an owner's decisions."""

from __future__ import annotations

import time
from typing import cast

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.shown import Changes
from palimpsest.queries.changes import of_owners, without_positions
from palimpsest.queries.hiding import forgotten_texts, without
from palimpsest.server.bodies import FedDecision, Feed, FeedQuery
from palimpsest.server.callers import Caller
from palimpsest.server.problems import ProblemError

NO_NEXT = "`after` should be the `next` of a page of this owner's decisions, or 0"

_ROWS = """
SELECT position, decision_id, candidate_id, joined_to, memory_id, namespace, decision, similarity,
       standing, strftime(decided_at, '%Y-%m-%dT%H:%M:%S.%fZ') AS decided_at
FROM decisions WHERE owner_id = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?
"""


class Feeds:
    """Answers requests for feeds; `end` answers those that wait for new events at once."""

    def __init__(self, store: AsyncPalimpsest) -> None:
        self._store = store

    def end(self) -> None:
        """End all waiting requests."""
        self._store.watch.end()

    async def after(
        self, owner_id: str, *, after: int | str, limit: int, wait: float, positions: bool
    ) -> Feed:
        """Decisions after a page's `next`; an empty page after `wait` seconds without a decision.

        With `positions`, `next` is a position. Without them it is the id of a decision, because
        positions reveal the number of all owners' events; if the page is empty, it is `after`.
        """
        _require_known(after, positions=positions)
        position = await self._store.call(_position_of, owner_id, after)
        until = time.monotonic() + wait
        while True:
            rows, position = await self._store.call(_page, owner_id, position, limit)
            if rows or not await self._store.watch.past(position, until):
                break
        if positions:
            return Feed(decisions=rows, next=position)
        for row in rows:
            del row["position"]
        return Feed(decisions=rows, next=rows[-1]["decision_id"] if rows else after)

    async def changes(self, caller: Caller, owner_id: str | None, query: FeedQuery) -> Changes:
        """A page of the changes of one owner, or of all owners that the token is for.

        An agent sees no positions and no forgotten texts.
        """
        positions = caller.may_act_as("reviewer")
        _require_known(query.after, positions=positions)
        after, until = query.after, time.monotonic() + query.wait
        while True:
            page = await self._store.call(_changes, caller, owner_id, after, query.limit)
            if page["changes"] or not await self._store.watch.past(int(page["next"]), until):
                break
            after = page["next"]
        return page if positions else without_positions(page, query.after)


def _require_known(after: int | str, *, positions: bool) -> None:
    """Raise a problem for a position other than 0 if the caller may not see positions."""
    if not positions and isinstance(after, int) and after:
        raise ProblemError(422, "invalid", NO_NEXT)


def _changes(
    store: Palimpsest, caller: Caller, owner_id: str | None, after: int | str, limit: int
) -> Changes:
    """A page of changes; an agent gets it without forgotten texts."""
    page = store.feed.page(owner_id, after, limit)
    if owner_id is None:
        return of_owners(page, lambda owner: bool(caller.owners.fullmatch(owner)))
    if caller.may_act_as("reviewer"):
        return page
    return without(page, forgotten_texts(store.reader.ledger(owner_id)))


def _position_of(store: Palimpsest, owner_id: str, after: int | str) -> int:
    """The given position, or that of an owner's decision; a problem for anything else."""
    if isinstance(after, int):
        return store.feed.position(owner_id, after)
    recorded = store.reader.log.find(after)
    if recorded is None or recorded.event.owner_id != owner_id:
        raise ProblemError(422, "invalid", NO_NEXT)
    return recorded.position


def _page(
    store: Palimpsest, owner_id: str, after: int, limit: int
) -> tuple[list[FedDecision], int]:
    """A page, and the position that it reaches.

    A decision of another process that is not projected yet comes in a later page.
    """
    store.reader.refresh()
    upto = max(store.reader.positions()["duckdb"], after)
    rows = cast("list[FedDecision]", store.sql(_ROWS, [owner_id, after, upto, limit]))
    return rows, rows[-1]["position"] if len(rows) == limit else upto
